/*
 * overview_job.c - implements overview_job.h.
 */
#include "cli/analyze/overview_job.h"

#include "cli/analyze/analysis_run.h"
#include "cli/analyze/overview_page.h"
#include "cli/analyze/shared_analyses.h"
#include "sutra/report.h"

/* What lives while traces are analyzed. */
struct overview_job {
    struct analysis_run run;
    struct overview_values values;
    struct sutra_overview *overview;
};

/* All that has a row for less than a launch or kernel. */
static enum sutra_status write_tables(struct overview_job *job, struct sutra_error *error) {
    const struct sutra_operators_ranks *operators = sutra_overview_operators(job->overview);
    const struct sutra_hta_ranks *hta = sutra_overview_hta(job->overview);
    const struct sutra_table *table;
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES && !status; id++) {
        table = sutra_overview_table(job->overview, (enum sutra_overview_table)id);
        status = analysis_write_table(&job->run, table, RANK_ALL, error);
    }
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        if ((table = sutra_operators_ranks_table(operators, (enum sutra_operators_table)id)))
            status = analysis_write_table(&job->run, table, RANK_ALL, error);
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        if ((table = sutra_hta_ranks_table(hta, (enum sutra_hta_table)id, NULL)))
            status = analysis_write_table(&job->run, table, RANK_ALL, error);
    return status;
}

static enum sutra_status write_results(struct overview_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status = write_tables(job, error);
    if (!status && !job->run.values->no_report)
        status =
            sutra_report_write_overview(job->run.job.context, job->overview, job->run.results.path, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status work(struct analysis_run *run, struct sutra_error *error) {
    struct overview_job *job = (struct overview_job *)run;
    const char *output = run->values->job.output;
    const struct sutra_overview_options options = {.size = sizeof options,
                                                   .annotation = job->values.annotation,
                                                   .tables = output || run->share.is_on,
                                                   .peaks = job->values.peaks,
                                                   .restriction = &run->part.restriction};
    enum sutra_status status = sutra_overview_run(run->job.context, (const char *const *)run->traces.paths,
                                                  run->traces.n, &options, &job->overview, error);
    if (!status && output)
        status = write_results(job, error);
    return status;
}

static void print(const struct analysis_run *run) {
    const struct overview_job *job = (const struct overview_job *)run;
    if (job->values.format == OVERVIEW_JSON)
        overview_json_print(job->overview);
    else if (!run->values->job.quiet)
        overview_page_print(job->overview, run->traces.paths[0]);
}

static void print_counts(FILE *file, const struct analysis_run *run) {
    const struct sutra_overview *overview = ((const struct overview_job *)run)->overview;
    struct sutra_finding finding;
    uint64_t n = 0;
    while (sutra_overview_finding(overview, n, &finding))
        n++;
    const struct named_count counts[] = {
        {"n_ranks", sutra_table_rows(sutra_overview_table(overview, SUTRA_OVERVIEW_RANKS))}, {"n_findings", n}};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
}

static const struct analysis_kind kind = {
    .page = PAGE_FIRST, .work = work, .print = print, .print_counts = print_counts};

int overview_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct overview_job job = {.values.analysis.job.stages = analysis_stages};
    int exit_code = analysis_run(&kind, &job.run, &job.values.analysis, command, argc, argv, processes);
    sutra_overview_free(job.overview);
    analysis_run_free(&job.run);
    return exit_code;
}
