/*
 * analyze_collectives.c - `sutra analyze collectives`: reads device traces of many ranks; writes tables of their
 * collectives and an HTML page.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/analyze/analysis_run.h"
#include "cli/analyze/collectives_page.h"
#include "cli/analyze/shared_analyses.h"
#include "sutra/report.h"

struct collectives_values {
    struct analysis_values analysis;
    uint64_t ranks_per_host, link_peak;
    int compat;
    bool arrivals;
};

enum collectives_compat { COLLECTIVES_OURS, COLLECTIVES_TRACELENS };
static const char *const compats[] = {"none", "tracelens", NULL}; /* in this order */

#define AT(field) .offset = offsetof(struct collectives_values, field)

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_COLLECTIVES),
    ANALYSIS_ROW_FORMAT,
    {"arrivals", 0, OPTION_FLAG, AT(arrivals),
     .help = "also write collective_arrivals: one row per rank of each collective"},
    {"ranks-per-host", 0, OPTION_NUMBER, "N", AT(ranks_per_host), .minimum = 1, .maximum = INT32_MAX,
     .help = "assume N ranks per host, with a common clock (default: the recorded number of GPUs per host)"},
    {"link-peak-gbps", 0, OPTION_NUMBER, "GB", AT(link_peak), .minimum = 1, .maximum = UINT32_MAX,
     .help = "set the peak link bandwidth of a GPU in one direction, in GB/s (default: NVLink or Infinity Fabric data "
             "sheet, inside hosts)"},
    {"compat", 0, OPTION_CHOICE, "TOOL", AT(compat), .choices = compats,
     .help = "tracelens: compute the tables of TraceLens with its rules and columns: ranks by file order, collectives "
             "matched by order, GB as GiB (default: none)"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};

/* What lives while traces are analyzed. */
struct collectives_job {
    struct analysis_run run;
    struct collectives_values values;
    struct sutra_collectives *collectives;
};

static enum sutra_status write_tables(struct collectives_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_collectives_table(job->collectives, (enum sutra_collectives_table)id);
        if (table)
            status = analysis_write_table(&job->run, table, RANK_ALL, error);
    }
    return status;
}

static enum sutra_status write_report(struct collectives_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status =
        sutra_report_write_collectives(job->run.job.context, job->collectives, job->run.results.path, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status work(struct analysis_run *run, struct sutra_error *error) {
    struct collectives_job *job = (struct collectives_job *)run;
    const struct collectives_values *values = &job->values;
    const struct sutra_collectives_options made = {.size = sizeof made,
                                                   .compat = values->compat == COLLECTIVES_TRACELENS,
                                                   .arrivals = values->arrivals,
                                                   .ranks_per_host = values->ranks_per_host,
                                                   .link_gb_per_s = (double)values->link_peak,
                                                   .restriction = &run->part.restriction};
    enum sutra_status status = sutra_collectives_run(run->job.context, (const char *const *)run->traces.paths,
                                                     run->traces.n, &made, &job->collectives, error);
    const char *output = values->analysis.job.output;
    if (!status && output)
        status = write_tables(job, error);
    if (!status && output && !values->analysis.no_report && !made.compat)
        status = write_report(job, error);
    return status;
}

static void print(const struct analysis_run *run) {
    const struct collectives_job *job = (const struct collectives_job *)run;
    if (!run->values->job.quiet && job->values.compat == COLLECTIVES_OURS)
        collectives_page_print(job->collectives, run->values->job.output);
}

static void print_counts(FILE *file, const struct analysis_run *run) {
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    sutra_collectives_summary(((const struct collectives_job *)run)->collectives, &summary);
    const struct named_count counts[] = {{"n_ranks", summary.n_ranks},
                                         {"n_skipped", summary.n_skipped},
                                         {"n_collectives", summary.n_collectives},
                                         {"n_messages", summary.n_messages},
                                         {"n_faults", summary.n_faults}};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
}

/* ---- The command ---- */

static const struct analysis_kind kind = {
    .page = PAGE_COLLECTIVES, .work = work, .print = print, .print_counts = print_counts};

int collectives_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct collectives_job job = {.values.analysis.job.stages = analysis_stages};
    int exit_code = analysis_run(&kind, &job.run, &job.values.analysis, command, argc, argv, processes);
    sutra_collectives_free(job.collectives);
    analysis_run_free(&job.run);
    return exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    return collectives_run_shared(command, argc, argv, NULL);
}

static const char *const synopses[] = {"TRACE... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports the straggler and its cause, the bus bandwidth of collectives against the peak of the links, the clock "
    "offsets of ranks, and errors in the collectives of a job. A TRACE is the device trace of a rank, or a directory of "
    "device traces.",
    "Collectives are matched across ranks by group and sequence number (Seq). Without recorded numbers they are matched "
    "by order, and realigned where a rank lost collectives. Clocks that are clearly off are aligned by the end times of "
    "collectives; the summary reports the alignment.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze collectives traces/ -o results", "write tables and a report of a job"},
    {"sutra analyze collectives rank*.json.gz", "print the summary: is there a straggler?"},
    {0},
};

const struct command analyze_collectives_command = {
    .name = "collectives",
    .called = "sutra analyze collectives",
    .summary = "find stragglers, bus bandwidth and clock offsets across ranks",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
