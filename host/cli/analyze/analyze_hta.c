/*
 * analyze_hta.c - `sutra analyze hta`: reads device traces of one or many ranks; writes the tables of Holistic Trace
 * Analysis and an HTML page.
 *
 * Tables of a single rank (launches, changes of queue lengths) are written as soon as the rank is analyzed, to save
 * memory; all other tables at the end.
 */
#include <stddef.h>
#include <stdio.h>

#include "analyze/restriction.h"
#include "cli/analyze/analysis_run.h"
#include "cli/analyze/hta_page.h"
#include "cli/analyze/shared_analyses.h"

struct hta_values {
    struct analysis_values analysis;
    uint64_t n_kernels, kernel_delay, full_queue, sequence_kernels;
    const char *sequences_of;
    int hta_version, counters;
    bool last_step, all_launches, nanoseconds, no_series, compat;
};

static const char *const hta_versions[] = {"0.5", "0.6", NULL}; /* in the order of enum sutra_hta_version */

/* Endings of traces with counters. */
static const char *const endings[] = {"json", "json.gz", "json.zst", NULL};

#define AT(field) .offset = offsetof(struct hta_values, field)

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_HTA),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(analysis.tables), .choices = table_formats,
     .help =
         "write tables as csv with the columns of Holistic Trace Analysis, or as json arrays of rows (default: csv)"},
    {"kernels", 'n', OPTION_NUMBER, "N", AT(n_kernels), .minimum = 1, .maximum = UINT32_MAX,
     .help = "list at most N kernels of each type, and sum the rest as 'others' (default: 10)"},
    {"kernel-gap-us", 0, OPTION_NUMBER, "US", AT(kernel_delay), .minimum = 1, .maximum = UINT32_MAX,
     .help = "count gaps below US microseconds as kernel wait (default: 30)"},
    {"last-step", 0, OPTION_FLAG, AT(last_step),
     .help = "keep the last ProfilerStep (default: skip it if there are several)"},
    {"all-launches", 0, OPTION_FLAG, AT(all_launches),
     .help =
         "also count launches by cuLaunchKernelEx, cudaGraphLaunch and HIP calls in the tables of launches and queues "
         "(launch_calls always counts them)"},
    {"nanoseconds", 0, OPTION_FLAG, AT(nanoseconds),
     .help = "keep fractions of microseconds, as HTA with HTA_DISABLE_NS_ROUNDING=1"},
    {"hta-version", 0, OPTION_CHOICE, "VERSION", AT(hta_version), .choices = hta_versions,
     .help = "use the rules of HTA 0.5 or 0.6; 0.6 classifies more kernels (default: 0.5)"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "compute all tables exactly as HTA, including its bugs, for comparison"},
    {"full-queue", 0, OPTION_NUMBER, "N", AT(full_queue), .minimum = 1, .maximum = UINT32_MAX,
     .help = "set the queue capacity to N kernels, for time_spent_blocked_on_full_queue (default: 1024)"},
    {"sequences", 0, OPTION_TEXT, "NAME", AT(sequences_of),
     .help = "list the kernel sequences of operators whose name contains NAME (default: aten::)"},
    {"sequence-kernels", 0, OPTION_NUMBER, "N", AT(sequence_kernels), .minimum = 1, .maximum = UINT32_MAX,
     .help = "list only sequences of at least N kernels (default: 3)"},
    {"write-counters", 0, OPTION_CHOICE, "ENDING", AT(counters), .choices = endings,
     .help =
         "also write trace_with_counters.rankN.ENDING for Perfetto, with counters of queue length, memory bandwidth "
         "and GPU busy share"},
    {"no-series", 0, OPTION_FLAG, AT(no_series), .help = "skip the tables with one row per launch or kernel"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};

/* What lives while traces are analyzed. */
struct hta_job {
    struct analysis_run run;
    struct hta_values values;
    struct sutra_hta_ranks *ranks;
};

/* By which rules the tables were made; and what HTA gives as lists, for who compares with it. */
static enum sutra_status write_lists(struct hta_job *job, struct sutra_error *error) {
    static const struct {
        const char *name;
        enum sutra_hta_list list;
    } lists[] = {{"rules", SUTRA_HTA_LIST_RULES},
                 {"profiler_steps", SUTRA_HTA_LIST_STEPS},
                 {"potential_stragglers", SUTRA_HTA_LIST_STRAGGLERS}};
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < (job->values.compat ? sizeof lists / sizeof *lists : 1) && !status; i++) {
        struct result_path path;
        uint64_t n_bytes = 0;
        status = result_place(job->run.results.path, lists[i].name, RANK_ALL, "json", &path, error);
        if (!status)
            status =
                sutra_hta_ranks_write_list(job->run.job.context, job->ranks, lists[i].list, path.text, &n_bytes, error);
        job->run.job.figures.output_bytes += n_bytes;
    }
    return status;
}

/* One rank is done. */
static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                 struct sutra_error *error) {
    static const struct {
        enum sutra_hta_table id;
        bool series; /* a row for each launch or kernel */
    } tables[] = {{SUTRA_HTA_LAUNCHES, true},         {SUTRA_HTA_QUEUE, true},      {SUTRA_HTA_ANNOTATED, true},
                  {SUTRA_HTA_BANDWIDTH_SERIES, true}, {SUTRA_HTA_OPERATORS, false}, {SUTRA_HTA_SEQUENCES, false},
                  {SUTRA_HTA_BUSY_SERIES, true}};
    struct hta_job *job = arg;
    enum sutra_status status = SUTRA_OK;
    (void)context;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !status; i++) {
        const struct sutra_table *table = sutra_hta_table(hta, tables[i].id, NULL);
        if (table && !(tables[i].series && job->values.no_series))
            status = analysis_write_table(&job->run, table, sutra_hta_rank_of(hta), error);
    }
    return status;
}

/* Its trace is still there. */
static enum sutra_status on_trace(void *arg, struct sutra_context *context, const struct sutra_device_trace *trace,
                                  const struct sutra_hta *hta, struct sutra_error *error) {
    struct hta_job *job = arg;
    struct result_path path;
    uint64_t n_bytes = 0;
    enum sutra_status status = result_place(job->run.results.path, "trace_with_counters", sutra_hta_rank_of(hta),
                                            endings[job->values.counters], &path, error);
    if (!status)
        status = sutra_hta_write_counters(context, trace, hta, SUTRA_HTA_COUNTERS_ALL, path.text, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status write_tables(struct hta_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_hta_ranks_table(job->ranks, (enum sutra_hta_table)id, NULL);
        if (table)
            status = analysis_write_table(&job->run, table, RANK_ALL, error);
    }
    return status;
}

static enum sutra_status write_report(struct hta_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status =
        sutra_report_write_hta(job->run.job.context, job->ranks, job->run.results.path, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status work(struct analysis_run *run, struct sutra_error *error) {
    struct hta_job *job = (struct hta_job *)run;
    const struct hta_values *values = &job->values;
    const char *output = values->analysis.job.output;
    const struct sutra_hta_options hta_options = {.size = sizeof hta_options,
                                                  .n_kernels = values->n_kernels,
                                                  .kernel_delay_us = values->kernel_delay,
                                                  .last_step = values->last_step,
                                                  .all_launches = values->all_launches,
                                                  .nanoseconds = values->nanoseconds,
                                                  .compat = values->compat,
                                                  .hta_version = (enum sutra_hta_version)values->hta_version,
                                                  .full_queue = values->full_queue,
                                                  .sequences_of = values->sequences_of,
                                                  .sequence_kernels = values->sequence_kernels};
    const struct sutra_hta_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                          .hta = &hta_options,
                                                          .visit = output ? on_rank : NULL,
                                                          .arg = job,
                                                          .visit_trace =
                                                              output && values->counters >= 0 ? on_trace : NULL,
                                                          .restriction = &run->part.restriction};
    enum sutra_status status = sutra_hta_ranks_run(run->job.context, (const char *const *)run->traces.paths,
                                                   run->traces.n, &ranks_options, &job->ranks, error);
    if (!status && output)
        status = write_tables(job, error);
    if (!status && output)
        status = write_lists(job, error);
    if (!status && output && !values->analysis.no_report)
        status = write_report(job, error);
    return status;
}

static void print(const struct analysis_run *run) {
    if (!run->values->job.quiet)
        hta_page_print(((const struct hta_job *)run)->ranks, run->values->job.output);
}

static void print_counts(FILE *file, const struct analysis_run *run) {
    const struct sutra_hta_rank *rank;
    uint64_t n_ranks = 0, n_skipped = 0, n_events = 0, n_kernels = 0, n_launches = 0, n_bad_times = 0;
    for (size_t i = 0; (rank = sutra_hta_ranks_get(((const struct hta_job *)run)->ranks, i)); i++) {
        n_ranks += !rank->reason;
        n_skipped += rank->reason != NULL;
        n_events += rank->summary->n_events;
        n_kernels += rank->summary->n_kernels;
        n_launches += rank->summary->n_launches;
        n_bad_times += rank->summary->n_bad_times;
    }
    const struct named_count counts[] = {
        {"n_ranks", n_ranks},     {"n_skipped", n_skipped},   {"n_events", n_events},
        {"n_kernels", n_kernels}, {"n_launches", n_launches}, {"n_bad_times", n_bad_times},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
}

/* ---- The command ---- */

/* Traces with counters are whole ones, and those that were read here. */
static int check(struct analysis_run *run, bool is_shared) {
    if (((const struct hta_job *)run)->values.counters < 0)
        return SUTRA_OK;
    if (!run->values->job.output)
        return message_fail(SUTRA_USAGE, "--write-counters needs --output");
    if (is_shared)
        return message_fail(
            SUTRA_USAGE,
            "--write-counters needs the traces: run it in a single process, without --shard and --combine");
    if (restriction_is_part(&run->part.restriction))
        return message_fail(SUTRA_USAGE, "--write-counters writes full traces; extract a part first with 'sutra cut'");
    return SUTRA_OK;
}

static const struct analysis_kind kind = {
    .page = PAGE_HTA, .check = check, .work = work, .print = print, .print_counts = print_counts};

int hta_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct hta_job job = {.values = {.analysis.job.stages = analysis_stages, .counters = -1}};
    int exit_code = analysis_run(&kind, &job.run, &job.values.analysis, command, argc, argv, processes);
    sutra_hta_ranks_free(job.ranks);
    analysis_run_free(&job.run);
    return exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    return hta_run_shared(command, argc, argv, NULL);
}

static const char *const synopses[] = {"TRACE... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Computes the tables of Holistic Trace Analysis (HTA) from the device traces of one or many ranks (plain or "
    "compressed files, or directories), and prints a summary. The tables are: temporal and kernel breakdown, idle time, "
    "overlap of communication and compute, launches, queues, memory bandwidth, annotations, operators with their "
    "kernels, kernel sequences, steps and stragglers. rules.json records the rules. Events with equal times keep the "
    "order of the file.",
    "The rank of a trace comes from distributedInfo, else from the number after the last 'rank' in the file name, else "
    "from the order of the arguments. A trace that cannot be read is skipped with a warning. A table that cannot be "
    "computed is reported with the reason.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze hta device.json.gz", "print the summary"},
    {"sutra analyze hta traces/ -o results --open", "write a report and CSV tables of all ranks of a job"},
    {"sutra analyze hta device.json -o results --write-counters json.gz",
     "also write the trace with counters for Perfetto"},
    {"sutra analyze hta rank*.json.zst -o tables --format json --no-report -q", "write JSON tables only"},
    {0},
};

const struct command analyze_hta_command = {
    .name = "hta",
    .called = "sutra analyze hta",
    .summary = "compute the tables of Holistic Trace Analysis (HTA)",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
