/*
 * rewrite.c - `sutra cut`: writes a part of a device trace, or of a pair of traces; and `sutra merge`: merges the
 * device traces of several ranks into one timeline for a trace viewer.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "read/device_trace.h"
#include "sutra/merge.h"
#include "sutra/rewrite.h"

/* First member of both commands. */
struct rewrite_job {
    struct job job;
    struct sutra_selection selection;
};

static const char *const sides[] = {"all", "gpu", "cpu", "communication", NULL}; /* in the order of enum sutra_only */

#define SELECTION_ROWS                                                                                                 \
    {"step",                                                                                                           \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "N",                                                                                                              \
     AT(rewrite_job, selection.step),                                                                                  \
     .help = "keep the events of ProfilerStep#N, or of several steps, such as 3-5; GPU activity is selected by its "   \
             "launch"},                                                                                                \
        {"side",                                                                                                       \
         0,                                                                                                            \
         OPTION_CHOICE,                                                                                                \
         "SIDE",                                                                                                       \
         AT(rewrite_job, selection.only),                                                                              \
         .choices = sides,                                                                                             \
         .help = "keep GPU activity and annotations on streams (gpu), all other events (cpu), or communication "       \
                 "kernels and collectives on the CPU (communication) (default: all)"},                                 \
        {"no-python", 0, OPTION_FLAG, AT(rewrite_job, selection.no_python), .help = "omit Python functions"}, {        \
        "min-us", 0, OPTION_REAL, "N", AT(rewrite_job, selection.min_us),                                              \
            .maximum = UINT32_MAX, .help = "omit events shorter than N microseconds"                                   \
    }

/* ---- sutra merge ---- */

#define RANKS_SHOWN 16 /* in the summary */

struct merge_job {
    struct rewrite_job rewrite;
    struct sutra_merge_options options;
    struct sutra_merged *merged;
};

static const char *const clocks[] = {"collectives", "none", NULL}; /* in the order of enum sutra_clocks */

static const struct stage_share stages_merge[] = {
    {"read ranks", 40, false}, {"merge ranks", 59, false}, {"write", 1, false}, {0}};

static const struct option_row options_merge[] = {
    JOB_ROWS_RUN,
    {"output-file", 'o', OPTION_FILE, "ALL", AT(job, output),
     .help = "write to ALL, in Perfetto's format if it ends in .pftrace, compressed if it ends in .gz or .zst; - is "
             "standard output"},
    {"clocks", 0, OPTION_CHOICE, "HOW", AT(merge_job, options.clocks), .choices = clocks,
     .help = "align clocks that differ clearly by the ends of collectives (collectives), or keep all clocks (none) "
             "(default: collectives)"},
    {"no-arrows", 0, OPTION_FLAG, AT(merge_job, options.no_arrows),
     .help = "draw no arrows between the ranks of a collective"},
    SELECTION_ROWS,
    {"memory", 0, OPTION_NUMBER, "BYTES", AT(merge_job, options.memory), .maximum = UINT64_MAX,
     .help = "keep up to BYTES of traces in memory until they are written, and read the other traces again (default: "
             "1G)"},
    {"threads", 'T', OPTION_NUMBER, "N", AT(job, options.n_threads), .maximum = 256,
     .help = "use N threads and read N ranks at a time, 0 for one per available CPU (default: 0)",
     .group = group_common},
    {"strict", 0, OPTION_FLAG, AT(job, options.strict), .help = "fail if a trace cannot be read", .group = group_more},
    JOB_ROW_LENIENT,
    JOB_ROW_INPUT,
    JOB_ROW_FORCE,
    JOB_ROW_STATS,
    JOB_ROW_QUIET,
    JOB_ROW_VERBOSE,
    {0},
};

/* Joins the windows of all roles: their ranks get different numbers. */
static int join_roles(struct job *job) {
    const struct run_inputs *run = &job->run;
    int64_t first_rank = 0;
    for (size_t i = 0; i < run->n; i++) {
        struct chosen_window *window = &run->windows[i];
        window->other = i + 1 < run->n ? window + 1 : NULL;
        window->first_rank = first_rank;
        first_rank += window->ranks[window->n - 1] + 1; /* ascending */
    }
    return run_inputs_are_plain(run) ? SUTRA_OK : job_use_windows(job, run->windows, run->n);
}

static int check_merge(struct job *job) {
    if (!job->output)
        return message_fail(SUTRA_USAGE, "the output is missing; see '%s --help'", job->command->called);
    if (window_is_all(job->selection.window))
        return message_fail(SUTRA_USAGE, "--window all: a timeline is of one window of the run");
    TRY_CODE(job_list_inputs(job, NAMES_JSON));
    TRY_CODE(join_roles(job));
    TRY_CODE(run_check_output(&job->operands, job->output));
    TRY_CODE(run_check_output(&job->operands, job->stats));
    size_t earlier = 0, later = paths_find_duplicate(job->inputs, job->n_inputs, &earlier);
    if (later == SIZE_MAX)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    if (later < job->n_inputs)
        return message_fail(SUTRA_USAGE, "%s: the same file as %s", job->inputs[later], job->inputs[earlier]);
    for (size_t i = 0; i < job->n_inputs; i++)
        if (path_is_stream(job->inputs[i]))
            return message_fail(SUTRA_USAGE, "standard input cannot be merged: traces are read twice");
    return SUTRA_OK;
}

static void print_ranks(const struct sutra_merge_report *report) {
    fputs("\n   rank      added us  residual us  collectives\n", stderr);
    for (uint64_t i = 0; i < report->n_ranks && i < RANKS_SHOWN; i++) {
        const struct sutra_merged_rank *rank = &report->ranks[i];
        fprintf(stderr, "%7lld  %12.3f", (long long)rank->rank, (double)rank->offset_ns / 1e3);
        if (rank->n_aligned)
            fprintf(stderr, "  %11.3f  %11llu\n", (double)rank->residual_ns / 1e3, (unsigned long long)rank->n_aligned);
        else
            fputs("            -            -\n", stderr);
    }
    if (report->n_ranks > RANKS_SHOWN)
        fprintf(stderr, "%7s  %llu more, listed in \"mergedRanks\" of the file\n", "...",
                (unsigned long long)report->n_ranks - RANKS_SHOWN);
    fputc('\n', stderr);
}

static int merge(struct job *job) {
    struct merge_job *merge = (struct merge_job *)job;
    const struct sutra_selection *selection = &merge->rewrite.selection;
    struct sutra_merge_report report = {.size = sizeof report};
    struct sutra_error error;
    if (selection->step || selection->min_us > 0 || selection->only || selection->no_python)
        merge->options.selection = selection;
    if (job_open(job, job->output, &error) ||
        sutra_merge(job->context, job->inputs, job->n_inputs, &merge->options, job->output, &merge->merged, &error))
        return job_fail(job, &error);
    sutra_merged_report(merge->merged, &report);
    job_measure(job, job->traces.n_bytes, trace_list_largest(&job->traces, job->options.n_threads));
    job->figures.output_bytes = report.n_bytes;
    if (!job->quiet) {
        const struct summary_row rows[] = {
            {report.n_ranks, "ranks", true},
            {report.n_skipped, "traces skipped", false},
            {report.n_kept, "events kept", true},
            {report.n_events - report.n_kept, "events omitted, and metadata events that are rewritten", true},
            {report.n_processes, "processes in the timeline", true},
            {report.n_collectives, "collectives with arrows", true},
        };
        fprintf(stderr, "sutra: merged into %s\n", output_name(job->output));
        summary_print(rows, COUNT_OF(rows));
        if (merge->options.clocks == SUTRA_CLOCKS_COLLECTIVES)
            print_ranks(&report);
        run_figures_print(&job->figures);
    }
    const struct named_count counts[] = {
        {"n_ranks", report.n_ranks},      {"n_skipped", report.n_skipped},     {"n_events", report.n_events},
        {"n_events_kept", report.n_kept}, {"n_processes", report.n_processes}, {"n_collectives", report.n_collectives},
    };
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), NULL, 0);
}

static void release_merge(struct job *job) {
    sutra_merged_free(((struct merge_job *)job)->merged);
}

static const struct merge_job merge_defaults = {
    .rewrite = {.job = {.device.choice = SUTRA_DEVICE_CPU, .stages = stages_merge},
                .selection.size = sizeof(struct sutra_selection)},
    .options.size = sizeof(struct sutra_merge_options),
};

static const char *const synopses_merge[] = {"TRACE... -o ALL [OPTIONS]", NULL};
static const char *const description_merge[] = {
    "Writes the device traces of several ranks as one timeline for Perfetto. A TRACE may be a directory of traces. "
    "Each rank has a process for its CPU and one for each GPU stream, named and sorted: \"rank 3: CPU\", \"rank 3: GPU "
    "stream 7\".",
    "Process ids, flow ids and correlations are made unique across ranks. If the ends of collectives show that a clock "
    "is off, it is aligned to the clock of the smallest rank. Arrows lead from the first rank that arrives at a "
    "collective to the last. All other fields of kept events stay byte-identical.",
    "Viewers load a few hundred megabytes: write a .pftrace file, which has a fifth of the size, or reduce the timeline "
    "with --side gpu, --min-us and --step.",
    NULL,
};
static const struct example examples_merge[] = {
    {"sutra merge traces/ -o all.json.gz", "merge a directory of traces"},
    {"sutra merge traces/ -o all.pftrace", "the same in Perfetto's format, a fifth of the size"},
    {"sutra merge traces/ --side gpu --min-us 10 --step 3 -o step3.json.gz",
     "merge one step of many ranks, small enough for a viewer"},
    {"sutra merge rank0.json rank1.json --clocks none -o both.json", "merge two ranks of one machine"},
    {0},
};

const struct command merge_command = {
    .name = "merge",
    .called = "sutra merge",
    .writes = ".json or .pftrace",
    .summary = "merge the traces of several ranks into one timeline",
    .synopses = synopses_merge,
    .description = description_merge,
    .options = options_merge,
    .examples = examples_merge,
    .n_operands_min = 1,
    .n_operands_max = OPERANDS_ANY,
    .missing = "the traces are missing",
    .size = sizeof(struct merge_job),
    .defaults = &merge_defaults,
    .check = check_merge,
    .work = merge,
    .release = release_merge,
};

/* ---- sutra cut ---- */

enum { DEVICE, HOST };

struct cut_job {
    struct rewrite_job rewrite;
    const char *traces[2]; /* by DEVICE, HOST */
    const char *host_output;
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_cut *cut;
};

static const struct stage_share stages_cut[] = {
    STAGES_READ("device trace", 70), STAGES_READ("host trace", 40), {"cut", 10, false}, {"write", 20, false}, {0}};

static const struct option_row options_cut[] = {
    JOB_ROW_OUTPUT,
    SELECTION_ROWS,
    {"from-us", 0, OPTION_REAL, "US", AT(rewrite_job, selection.from_us), .maximum = UINT32_MAX,
     .help = "keep events from US microseconds after the first event on; GPU activity is selected by its launch"},
    {"to-us", 0, OPTION_REAL, "US", AT(rewrite_job, selection.to_us), .minimum = 1, .maximum = UINT32_MAX,
     .help = "keep events before US microseconds after the first event; GPU activity is selected by its launch"},
    {"overlap", 0, OPTION_FLAG, AT(rewrite_job, selection.overlap),
     .help = "keep each event that overlaps the range, and the launches of kept GPU activity"},
    {"host", 0, OPTION_FILE, "ET", AT(cut_job, traces[HOST]), .help = "also cut the host trace ET of the same run"},
    {"host-out", 0, OPTION_FILE, "OUT", AT(cut_job, host_output), .help = "write the cut host trace to OUT"},
    JOB_ROW_THREADS,
    JOB_ROW_LENIENT,
    JOB_ROW_INPUT,
    JOB_ROW_STATS,
    JOB_ROW_QUIET,
    JOB_ROW_VERBOSE,
    {0},
};

static int check_cut(struct job *job) {
    struct cut_job *cut = (struct cut_job *)job;
    const struct sutra_selection *selection = &cut->rewrite.selection;
    TRY_CODE(job_check_terminal(job));
    const char *trace = job->operands.words[0], *host = cut->traces[HOST];
    if (host && (selection->only || selection->min_us > 0))
        return message_fail(SUTRA_USAGE, "--host and %s exclude each other: linking needs all events of the time range",
                            selection->only ? "--side" : "--min-us");
    if (selection->to_us > 0 && selection->to_us <= selection->from_us)
        return message_fail(SUTRA_USAGE, "--to-us is not after --from-us");
    if (selection->overlap && !selection->step && selection->from_us <= 0 && selection->to_us <= 0)
        return message_fail(SUTRA_USAGE, "--overlap needs a range: --step, --from-us or --to-us");

    const char *const files[] = {trace, host, job->output, cut->host_output};
    if (!host != !cut->host_output)
        return message_fail(SUTRA_USAGE, "--host and --host-out need each other");
    for (size_t output = 2; output < 4; output++)
        for (size_t input = 0; input < output; input++)
            if (files[output] && files[input] && paths_same(files[output], files[input]))
                return message_fail(SUTRA_USAGE, "%s: %s", files[output],
                                    input < 2 ? "output and input are the same file"
                                              : "both outputs are the same file");
    if (host && path_is_stream(job->output) && path_is_stream(cut->host_output))
        return message_fail(SUTRA_USAGE, "only one of the outputs can be standard output");
    if (host && paths_same(host, trace))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", trace);
    if (host)
        TRY_CODE(path_check_format(cut->host_output, ".json"));
    cut->traces[DEVICE] = trace;
    job->inputs = cut->traces;
    job->n_inputs = 2;
    return job_check_stats(job->stats, cut->host_output, NULL, 0);
}

static int cut(struct job *job) {
    struct cut_job *cut = (struct cut_job *)job;
    const char *host = cut->traces[HOST];
    struct sutra_cut_report report = {.size = sizeof report};
    struct sutra_error error;
    uint64_t n_bytes = 0, n_host_bytes = 0;
    if (job_open(job, job->output, &error) ||
        (host && !job->options.force && sutra_output_check(cut->host_output, &error)) ||
        sutra_device_trace_read(job->context, cut->traces[DEVICE], &cut->device, &error) ||
        (device_trace_is_empty(cut->device) && device_trace_check_events(cut->device, &error)) ||
        (host && sutra_host_trace_read(job->context, host, &cut->host, &error)) ||
        sutra_cut_run(job->context, cut->device, cut->host, &cut->rewrite.selection, &cut->cut, &error) ||
        sutra_cut_write(job->context, cut->cut, job->output, &n_bytes, &error) ||
        (host && sutra_cut_write_host(job->context, cut->cut, cut->host_output, &n_host_bytes, &error)))
        return job_fail(job, &error);
    job->figures.output_bytes = n_bytes + n_host_bytes;
    job_measure_inputs(job);
    sutra_cut_report(cut->cut, &report);
    if (!job->quiet && !path_is_stream(job->output)) {
        const struct summary_row rows[] = {
            {report.n_events_kept, "events kept", true},
            {report.n_events - report.n_events_kept, "events omitted", true},
            {report.n_broken_ends, "  flow events whose other end is omitted", false},
            {report.n_nodes_kept, "host trace nodes kept", false},
            {report.n_nodes - report.n_nodes_kept, "host trace nodes omitted", false},
        };
        fprintf(stderr, "sutra: cut to %s\n", job->output);
        summary_print(rows, COUNT_OF(rows));
        run_figures_print(&job->figures);
    }
    const struct named_count counts[] = {
        {"n_events", report.n_events},
        {"n_events_kept", report.n_events_kept},
        {"n_operators", report.n_operators},
        {"n_operators_kept", report.n_operators_kept},
        {"n_work", report.n_work},
        {"n_work_kept", report.n_work_kept},
        {"n_arrow_ends", report.n_arrow_ends},
        {"n_arrow_ends_kept", report.n_arrow_ends_kept},
        {"n_broken_ends", report.n_broken_ends},
        {"n_nodes", report.n_nodes},
        {"n_nodes_kept", report.n_nodes_kept},
    };
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), NULL, 0);
}

static void release_cut(struct job *job) {
    struct cut_job *cut = (struct cut_job *)job;
    sutra_cut_free(cut->cut);
    sutra_host_trace_free(cut->host);
    sutra_device_trace_free(cut->device);
}

static const struct cut_job cut_defaults = {
    .rewrite = {.job.stages = stages_cut, .selection.size = sizeof(struct sutra_selection)}};

static const char *const synopses_cut[] = {
    "TRACE -o SMALL [OPTIONS]",
    "TRACE -o SMALL --host ET --host-out SMALL_ET [OPTIONS]",
    NULL,
};
static const char *const description_cut[] = {
    "Writes a part of the device trace TRACE as a trace: some steps, a time range, one side, without Python functions, "
    "without short events. Kept events and the fields outside the list of events stay byte-identical.",
    "GPU activity is selected by the start of its launch, an annotation on a stream by the start of its CPU "
    "annotation, all "
    "other events by their own start. Operators, annotations and Python functions that run at the start of the range "
    "are also kept, so that GPU activity keeps its operator and module. Metadata is always kept. A flow is kept only "
    "if both of its ends are kept.",
    "With --overlap, every event that runs in the range is kept, also GPU activity that was launched before, together "
    "with its launch. Use it to see a part of the timeline in Perfetto.",
    "If the name of the output ends in .pftrace, .pftrace.gz or .pftrace.zst, the trace is written in Perfetto's own "
    "format, which has about a fifth of the size and only Perfetto reads.",
    "With the host trace of the same run, both parts can be linked: nodes of kept operators and annotations are kept, "
    "with their ancestors.",
    NULL,
};
static const struct example examples_cut[] = {
    {"sutra cut device.json --step 3 -o step3.json.gz", "extract one step, for a viewer"},
    {"sutra cut device.json --from-us 2M --to-us 2500k -o part.json",
     "extract half a second, from the third second on"},
    {"sutra cut device.json --overlap --from-us 2M --to-us 2010k -o gap.json.gz",
     "extract ten milliseconds of the timeline, to open in Perfetto"},
    {"sutra cut device.json --overlap --from-us 2M --to-us 2010k -o gap.pftrace", "the same in Perfetto's format"},
    {"sutra cut device.json --no-python --min-us 5 -o small.json.zst", "write a smaller file of the whole run"},
    {"sutra cut device.json --step 3-5 -o d.json --host host.json --host-out h.json",
     "extract three steps of a pair, to link"},
    {0},
};

const struct command cut_command = {
    .name = "cut",
    .called = "sutra cut",
    .writes = ".json or .pftrace",
    .summary = "extract steps, a time range, or one side of a trace",
    .synopses = synopses_cut,
    .description = description_cut,
    .options = options_cut,
    .examples = examples_cut,
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "the trace is missing",
    .size = sizeof(struct cut_job),
    .defaults = &cut_defaults,
    .check = check_cut,
    .work = cut,
    .release = release_cut,
};
