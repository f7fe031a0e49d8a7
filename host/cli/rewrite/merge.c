/*
 * merge.c - `sutra merge`: merges the traces of several ranks into one timeline for a trace viewer.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/rewrite/selection_rows.h"
#include "cli/tool/figures.h"
#include "cli/tool/job.h"
#include "cli/tool/paths.h"
#include "cli/tool/trace_list.h"
#include "sutra/merge.h"

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

static const struct stage_share stages[] = {
    {"read ranks", 40, false}, {"merge ranks", 59, false}, {"write", 1, false}, {0}};

#define AT(field) .offset = offsetof(struct merge_values, field)

static const struct option_row options[] = {
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

static void print_stats(FILE *file, const void *data) {
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

static void print_summary(const struct merge_values *values, const struct merge_result *result) {
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

static int check_files(const struct merge_values *values, const struct trace_list *traces) {
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
    int exit_code = check_files(values, traces);
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
            print_summary(values, &result);
        told = values->job.stats ? stats_write(values->job.stats, print_stats, &result) : SUTRA_OK;
    }
    sutra_merged_free(merged);
    exit_code = job_end(&job, status, &error);
    return exit_code ? exit_code : (int)told;
}

static int run(const struct command *command, int argc, char **argv) {
    struct merge_values values = {.job.stages = stages, .job.where.device.choice = SUTRA_DEVICE_CPU};
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

static const char *const synopses[] = {"TRACE... -o ALL [OPTIONS]", NULL};
static const char *const description[] = {
    "Writes the device traces of several ranks as one timeline for Perfetto. A TRACE may be a directory of traces. "
    "Each rank has a process for its CPU and one for each GPU stream, named and sorted: \"rank 3: CPU\", \"rank 3: GPU "
    "stream 7\".",
    "Process ids, flow ids and correlations are made unique across ranks. If the ends of collectives show that a clock "
    "is off, it is aligned to the clock of the smallest rank. Arrows lead from the first rank that arrives at a "
    "collective to the last. All other fields of kept events stay byte-identical.",
    "Viewers load a few hundred megabytes: reduce a larger timeline with --side gpu, --min-us and --step.",
    NULL,
};
static const struct example examples[] = {
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
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
