/*
 * rewrite.c - `sutra cut`: writes a part of a device trace, or of a pair of traces.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "sutra/merge.h"
#include "sutra/rewrite.h"
#include "text/quantities.h"

/*
 * Options that select events of a trace, common to all commands that write traces.
 */

struct selection_values {
    const char *step;
    uint64_t from_us, to_us, min_us;
    int only;
    bool no_python;
};

extern const char *const selection_sides_selection_rows[]; /* in the order of enum sutra_only */

/* Rows of those that make sense for one trace and for many; `selection` is the path to a struct selection_values for
 * the file's AT(field), which gives a field's place. */
#define SELECTION_ROWS(selection)                                                                                      \
    {"step",                                                                                                           \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "N",                                                                                                              \
     AT(selection.step),                                                                                               \
     .help = "keep the events of ProfilerStep#N, or of several steps, such as 3-5; GPU activity is selected by its "   \
             "launch"},                                                                                                \
        {"side",                                                                                                       \
         0,                                                                                                            \
         OPTION_CHOICE,                                                                                                \
         "SIDE",                                                                                                       \
         AT(selection.only),                                                                                           \
         .choices = selection_sides_selection_rows,                                                                    \
         .help = "keep GPU activity and annotations on streams (gpu), all other events (cpu), or communication "       \
                 "kernels and collectives on the CPU (communication) (default: all)"},                                 \
        {"no-python", 0, OPTION_FLAG, AT(selection.no_python), .help = "omit Python functions"}, {                     \
        "min-us", 0, OPTION_NUMBER, "N", AT(selection.min_us), .maximum = UINT32_MAX,                                  \
                                                               .help = "omit events shorter than N microseconds"       \
    }

/* What was asked for. */
struct sutra_selection selection_of(const struct selection_values *values);

/*
 * Converts command-line options to a selection.
 */

const char *const selection_sides_selection_rows[] = {"all", "gpu", "cpu", "communication", NULL};

struct sutra_selection selection_of(const struct selection_values *values) {
    return (struct sutra_selection){.size = sizeof(struct sutra_selection),
                                    .step = values->step,
                                    .from_us = (double)values->from_us,
                                    .to_us = (double)values->to_us,
                                    .min_us = (double)values->min_us,
                                    .only = (enum sutra_only)values->only,
                                    .no_python = values->no_python};
}

/* Whether anything is left out. */
static bool selection_is_asked(const struct selection_values *values) {
    return values->step || values->from_us || values->to_us || values->min_us || values->only || values->no_python;
}

/*
 * `sutra merge`: merges the traces of several ranks into one timeline for a trace viewer.
 */

/* Lines of ranks that the summary has; the rest is in the file. */
#define RANKS_SHOWN 16

struct merge_values {
    struct job_values job;
    struct selection_values selection;
    int clocks;
    bool no_arrows;
    uint64_t memory;
};

static const char *const clocks[] = {"collectives", "none", NULL}; /* in the order of enum sutra_clocks */

static const struct stage_share stages_merge[] = {
    {"read ranks", 40, false}, {"merge ranks", 59, false}, {"write", 1, false}, {0}};

#define AT(field) .offset = offsetof(struct merge_values, field)

static const struct option_row options_merge[] = {
    {"output-file", 'o', OPTION_FILE, "ALL", AT(job.output),
     .help = "write to ALL, compressed if it ends in .gz or .zst; - is standard output"},
    {"clocks", 0, OPTION_CHOICE, "HOW", AT(clocks), .choices = clocks,
     .help = "align clocks that differ clearly by the ends of collectives (collectives), or keep all clocks (none) "
             "(default: collectives)"},
    {"no-arrows", 0, OPTION_FLAG, AT(no_arrows), .help = "draw no arrows between the ranks of a collective"},
    SELECTION_ROWS(selection),
    {"memory", 0, OPTION_NUMBER, "BYTES", AT(memory), .maximum = UINT64_MAX,
     .help = "keep up to BYTES of traces in memory until they are written, and read the other traces again (default: "
             "1G)"},
    {"threads", 'T', OPTION_NUMBER, "N", AT(job.where.n_threads), .maximum = 256,
     .help = "use N threads and read N ranks at a time, 0 for one per available CPU (default: 0)"},
    {"strict", 0, OPTION_FLAG, AT(job.strict), .help = "fail if a trace cannot be read"},
    JOB_ROW_LENIENT(job),
    JOB_ROW_INPUT(job.most_input_bytes),
    JOB_ROW_FORCE(job.force),
    JOB_ROW_STATS(job),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print only warnings and errors"},
    JOB_ROW_VERBOSE(job),
    {0},
};

/* What --stats writes about. */
struct merge_result {
    struct sutra_merge_report report;
    const struct run_figures *figures;
};

static enum sutra_status merge_traces(struct job *job, const struct merge_values *values,
                                      const struct trace_list *traces, struct sutra_merged **merged,
                                      struct sutra_error *error) {
    const struct sutra_selection selection = selection_of(&values->selection);
    const struct sutra_merge_options how = {.size = sizeof how,
                                            .selection = selection_is_asked(&values->selection) ? &selection : NULL,
                                            .clocks = (enum sutra_clocks)values->clocks,
                                            .no_arrows = values->no_arrows,
                                            .memory = values->memory};
    enum sutra_status status = job_open(job, values->job.output, error);
    return status ? status
                  : sutra_merge(job->context, (const char *const *)traces->paths, traces->n, &how, values->job.output,
                                merged, error);
}

static void print_stats_merge(FILE *file, const void *data) {
    const struct merge_result *result = data;
    const struct named_count counts[] = {
        {"n_ranks", result->report.n_ranks},         {"n_skipped", result->report.n_skipped},
        {"n_events", result->report.n_events},       {"n_events_kept", result->report.n_kept},
        {"n_processes", result->report.n_processes}, {"n_collectives", result->report.n_collectives},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
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

static void print_summary_merge(const struct merge_values *values, const struct merge_result *result) {
    const struct sutra_merge_report *report = &result->report;
    const struct summary_row rows[] = {
        {report->n_ranks, "ranks", true},
        {report->n_skipped, "traces skipped", false},
        {report->n_kept, "events kept", true},
        {report->n_events - report->n_kept, "events omitted, and metadata events that are rewritten", true},
        {report->n_processes, "processes in the timeline", true},
        {report->n_collectives, "collectives with arrows", true},
    };
    fprintf(stderr, "sutra: merged into %s\n",
            path_is_stream(values->job.output) ? "standard output" : values->job.output);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (values->clocks == SUTRA_CLOCKS_COLLECTIVES)
        print_ranks(report);
    run_figures_print(result->figures);
}

static int check_files_merge(const struct merge_values *values, const struct trace_list *traces) {
    const char *const *paths = (const char *const *)traces->paths;
    size_t earlier = 0, later = paths_find_twice(paths, traces->n, &earlier);
    if (later == SIZE_MAX)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    if (later < traces->n)
        return message_fail(SUTRA_USAGE, "%s: the same file as %s", paths[later], paths[earlier]);
    for (size_t i = 0; i < traces->n; i++) {
        if (path_is_stream(paths[i]))
            return message_fail(SUTRA_USAGE, "standard input cannot be merged: traces are read twice");
        if (paths_same(values->job.output, paths[i]))
            return message_fail(SUTRA_USAGE, "%s: output and input are the same file", values->job.output);
    }
    return job_check_stats(values->job.stats, values->job.output, paths, traces->n);
}

static int merge_list(struct merge_values *values, const struct trace_list *traces) {
    int exit_code = check_files_merge(values, traces);
    if (exit_code != SUTRA_OK)
        return exit_code;
    values->job.n_inputs = traces->n;
    struct job job = job_start(&values->job, !values->job.quiet, true, values->job.verbose);
    struct sutra_merged *merged = NULL;
    struct merge_result result = {.report.size = sizeof result.report, .figures = &job.figures};
    struct sutra_error error;
    enum sutra_status told = SUTRA_OK, status = merge_traces(&job, values, traces, &merged, &error);
    if (!status) {
        sutra_merged_report(merged, &result.report);
        job_measure(&job, traces->n_bytes, trace_list_largest(traces, where_threads(&values->job.where)));
        job.figures.output_bytes = result.report.n_bytes;
        if (!values->job.quiet)
            print_summary_merge(values, &result);
        told = values->job.stats ? stats_write(values->job.stats, print_stats_merge, &result) : SUTRA_OK;
    }
    sutra_merged_free(merged);
    exit_code = job_end(&job, status, &error);
    return exit_code ? exit_code : (int)told;
}

static int run_merge(const struct command *command, int argc, char **argv) {
    struct merge_values values = {.job.stages = stages_merge, .job.where.device.choice = SUTRA_DEVICE_CPU};
    struct operands operands;
    struct trace_list traces = {0};
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the traces are missing; see '%s --help'", command->called);
    if (!values.job.output)
        return message_fail(SUTRA_USAGE, "the output is missing; see '%s --help'", command->called);
    exit_code = job_check_flags(&values.job);
    if (exit_code == SUTRA_OK)
        exit_code = trace_list_make(&traces, &operands, NAMES_JSON);
    if (exit_code == SUTRA_OK)
        exit_code = merge_list(&values, &traces);
    trace_list_free(&traces);
    return exit_code;
}

static const char *const synopses_merge[] = {"TRACE... -o ALL [OPTIONS]", NULL};
static const char *const description_merge[] = {
    "Writes the device traces of several ranks as one timeline for Perfetto. A TRACE may be a directory of traces. "
    "Each rank has a process for its CPU and one for each GPU stream, named and sorted: \"rank 3: CPU\", \"rank 3: GPU "
    "stream 7\".",
    "Process ids, flow ids and correlations are made unique across ranks. If the ends of collectives show that a clock "
    "is off, it is aligned to the clock of the smallest rank. Arrows lead from the first rank that arrives at a "
    "collective to the last. All other fields of kept events stay byte-identical.",
    "Viewers load a few hundred megabytes: reduce a larger timeline with --side gpu, --min-us and --step.",
    NULL,
};
static const struct example examples_merge[] = {
    {"sutra merge traces/ -o all.json.gz", "merge a directory of traces"},
    {"sutra merge traces/ --side gpu --min-us 10 --step 3 -o step3.json.gz",
     "merge one step of many ranks, small enough for a viewer"},
    {"sutra merge rank0.json rank1.json --clocks none -o both.json", "merge two ranks of one machine"},
    {0},
};

const struct command merge_command = {
    .name = "merge",
    .called = "sutra merge",
    .summary = "merge the traces of several ranks into one timeline",
    .synopses = synopses_merge,
    .description = description_merge,
    .options = options_merge,
    .examples = examples_merge,
    .n_operands_max = OPERANDS_ANY,
    .run = run_merge,
};

struct cut_values {
    struct job_values job;
    const char *trace, *host, *host_output;
    struct selection_values selection;
};

static const struct stage_share stages_cut[] = {
    STAGES_READ("device trace", 70), STAGES_READ("host trace", 40), {"cut", 10, false}, {"write", 20, false}, {0}};

#undef AT
#define AT(field) .offset = offsetof(struct cut_values, field)

static const struct option_row options_cut[] = {
    JOB_ROW_OUTPUT(job),
    SELECTION_ROWS(selection),
    {"from-us", 0, OPTION_NUMBER, "US", AT(selection.from_us), .maximum = UINT32_MAX,
     .help = "keep events from US microseconds after the first event on; GPU activity is selected by its launch"},
    {"to-us", 0, OPTION_NUMBER, "US", AT(selection.to_us), .minimum = 1, .maximum = UINT32_MAX,
     .help = "keep events before US microseconds after the first event; GPU activity is selected by its launch"},
    {"host", 0, OPTION_FILE, "ET", AT(host), .help = "also cut the host trace ET of the same run"},
    {"host-out", 0, OPTION_FILE, "OUT", AT(host_output), .help = "write the cut host trace to OUT"},
    {"threads", 'T', OPTION_NUMBER, "N", AT(job.where.n_threads), .maximum = 256,
     .help = "use N threads, 0 for one per available CPU (default: 0)"},
    JOB_ROW_LENIENT(job),
    JOB_ROW_INPUT(job.most_input_bytes),
    JOB_ROW_STATS(job),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print no progress, no summary and no warnings"},
    JOB_ROW_VERBOSE(job),
    {0},
};

/* What lives while a trace is cut. */
struct cut_job {
    const struct cut_values *values;
    struct job job;
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_cut *cut;
};

static enum sutra_status cut_traces(struct cut_job *cut, struct sutra_error *error) {
    const struct cut_values *values = cut->values;
    const struct sutra_selection selection = selection_of(&values->selection);
    struct sutra_context *context = cut->job.context;
    enum sutra_status status = sutra_device_trace_read(context, values->trace, &cut->device, error);
    if (!status && values->host)
        status = sutra_host_trace_read(context, values->host, &cut->host, error);
    return status ? status : sutra_cut_run(context, cut->device, cut->host, &selection, &cut->cut, error);
}

static enum sutra_status write_traces(struct cut_job *cut, struct sutra_error *error) {
    const struct cut_values *values = cut->values;
    uint64_t n_bytes = 0, n_host_bytes = 0;
    enum sutra_status status = sutra_cut_write(cut->job.context, cut->cut, values->job.output, &n_bytes, error);
    if (!status && values->host)
        status = sutra_cut_write_host(cut->job.context, cut->cut, values->host_output, &n_host_bytes, error);
    cut->job.figures.output_bytes = n_bytes + n_host_bytes;
    return status;
}

static enum sutra_status job_run(struct cut_job *cut, struct sutra_error *error) {
    const struct cut_values *values = cut->values;
    enum sutra_status status = job_open(&cut->job, values->job.output, error);
    if (!status && values->host && !values->job.force)
        status = sutra_output_check(values->host_output, error);
    if (!status)
        status = cut_traces(cut, error);
    return status ? status : write_traces(cut, error);
}

static void print_stats_cut(FILE *file, const void *result) {
    const struct cut_job *cut = result;
    struct sutra_cut_report report = {.size = sizeof report};
    sutra_cut_report(cut->cut, &report);
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
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, &cut->job.figures);
}

static void print_summary_cut(const struct cut_job *cut) {
    struct sutra_cut_report report = {.size = sizeof report};
    sutra_cut_report(cut->cut, &report);
    const struct summary_row rows[] = {
        {report.n_events_kept, "events kept", true},
        {report.n_events - report.n_events_kept, "events omitted", true},
        {report.n_broken_ends, "  flow events whose other end is omitted", false},
        {report.n_nodes_kept, "host trace nodes kept", false},
        {report.n_nodes - report.n_nodes_kept, "host trace nodes omitted", false},
    };
    fprintf(stderr, "sutra: cut to %s\n", cut->values->job.output);
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(&cut->job.figures);
}

/* The closing lines, and the statistics. */
static enum sutra_status job_tell(struct cut_job *cut) {
    const struct cut_values *values = cut->values;
    job_measure_inputs(&cut->job, (const char *const[]){values->trace, values->host}, 2);
    if (!values->job.quiet && !path_is_stream(values->job.output))
        print_summary_cut(cut);
    return values->job.stats ? stats_write(values->job.stats, print_stats_cut, cut) : SUTRA_OK;
}

static int check_files_cut(const struct cut_values *values) {
    const char *const files[] = {values->trace, values->host, values->job.output, values->host_output};
    if (!values->host != !values->host_output)
        return message_fail(SUTRA_USAGE, "--host and --host-out need each other");
    for (size_t output = 2; output < 4; output++)
        for (size_t input = 0; input < output; input++)
            if (files[output] && files[input] && paths_same(files[output], files[input]))
                return message_fail(SUTRA_USAGE, "%s: %s", files[output],
                                    input < 2 ? "output and input are the same file"
                                              : "both outputs are the same file");
    if (values->host && path_is_stream(values->job.output) && path_is_stream(values->host_output))
        return message_fail(SUTRA_USAGE, "only one of the outputs can be standard output");
    if (values->host && paths_same(values->host, values->trace))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", values->trace);
    int wrong = job_check_stats(values->job.stats, values->job.output, files, 2);
    return wrong ? wrong : job_check_stats(values->job.stats, values->host_output, NULL, 0);
}

static int check_values(const struct cut_values *values) {
    if (values->host && (values->selection.only || values->selection.min_us))
        return message_fail(SUTRA_USAGE, "--host and %s exclude each other: linking needs all events of the time range",
                            values->selection.only ? "--side" : "--min-us");
    if (values->selection.to_us && values->selection.to_us <= values->selection.from_us)
        return message_fail(SUTRA_USAGE, "--to-us is not after --from-us");
    return check_files_cut(values);
}

static int run_cut(const struct command *command, int argc, char **argv) {
    struct cut_values values = {.job.stages = stages_cut};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    values.trace = operands.words[0];
    if ((exit_code = job_check_flags(&values.job)) != SUTRA_OK ||
        (exit_code = job_check_terminal(&values.job)) != SUTRA_OK || (exit_code = check_values(&values)) != SUTRA_OK)
        return exit_code;
    bool loud = !values.job.quiet;
    struct cut_job cut = {.values = &values, .job = job_start(&values.job, loud, loud, values.job.verbose)};
    struct sutra_error error;
    enum sutra_status status = job_run(&cut, &error), told = status ? SUTRA_OK : job_tell(&cut);
    sutra_cut_free(cut.cut);
    sutra_host_trace_free(cut.host);
    sutra_device_trace_free(cut.device);
    exit_code = job_end(&cut.job, status, &error);
    return exit_code ? exit_code : (int)told;
}

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
    "With the host trace of the same run, both parts can be linked: nodes of kept operators and annotations are kept, "
    "with their ancestors.",
    NULL,
};
static const struct example examples_cut[] = {
    {"sutra cut device.json --step 3 -o step3.json.gz", "extract one step, for a viewer"},
    {"sutra cut device.json --from-us 2M --to-us 2500k -o part.json",
     "extract half a second, from the third second on"},
    {"sutra cut device.json --no-python --min-us 5 -o small.json.zst", "write a smaller file of the whole run"},
    {"sutra cut device.json --step 3-5 -o d.json --host host.json --host-out h.json",
     "extract three steps of a pair, to link"},
    {0},
};

const struct command cut_command = {
    .name = "cut",
    .called = "sutra cut",
    .summary = "extract steps, a time range, or one side of a trace",
    .synopses = synopses_cut,
    .description = description_cut,
    .options = options_cut,
    .examples = examples_cut,
    .n_operands_max = 1,
    .run = run_cut,
};
