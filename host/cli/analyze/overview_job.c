/*
 * overview_job.c - see overview_job.h.
 */
#include "cli/analyze/overview_job.h"

#include "cli/analyze/analysis_share.h"
#include "cli/analyze/overview_page.h"
#include "cli/analyze/shared_analyses.h"
#include "cli/analyze/table_files.h"
#include "sutra/report.h"

/* What lives while traces are analyzed. */
struct overview_job {
    const struct overview_values *values;
    struct job analysis;
    struct trace_list traces;
    struct result_folder results;
    struct sutra_overview *overview;
    struct sutra_report *report; /* NULL: none is written */
    struct analysis_share share;
    struct analysis_part part;
};

static enum sutra_status write_table(struct overview_job *job, const struct sutra_table *table,
                                     struct sutra_error *error) {
    return table_file_write(&job->analysis, job->results.path, table, RANK_ALL,
                            (enum sutra_table_format)job->values->tables, error);
}

/* All that has a row for less than a launch or kernel. */
static enum sutra_status write_tables(struct overview_job *job, struct sutra_error *error) {
    const struct sutra_table *table;
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES && !status; id++)
        status = write_table(job, sutra_overview_table(job->overview, (enum sutra_overview_table)id), error);
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        if ((table =
                 sutra_operators_ranks_table(sutra_overview_operators(job->overview), (enum sutra_operators_table)id)))
            status = write_table(job, table, error);
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        if ((table = sutra_hta_ranks_table(sutra_overview_hta(job->overview), (enum sutra_hta_table)id, NULL)))
            status = write_table(job, table, error);
    return status;
}

static enum sutra_status write_results(struct overview_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status = write_tables(job, error);
    if (!status && job->report)
        status = sutra_report_write_overview(job->analysis.context, job->report, job->overview, job->results.path,
                                             &n_bytes, error);
    job->analysis.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status job_run(void *arg, struct sutra_error *error) {
    struct overview_job *job = arg;
    struct job *analysis = &job->analysis;
    const struct overview_values *values = job->values;
    const char *output = values->analysis.job.output;
    enum sutra_status status = job_open(analysis, NULL, error);
    if (!status && output && !values->analysis.no_report)
        status = sutra_report_create(&job->report, error);
    const struct sutra_overview_options options = {.size = sizeof options,
                                                   .annotation = values->annotation,
                                                   .tables = output || job->share.is_on,
                                                   .peaks = values->peaks,
                                                   .visit = job->report ? sutra_report_visit : NULL,
                                                   .arg = job->report,
                                                   .restriction = &job->part.restriction};
    if (!status)
        analysis_share_with(&job->share, analysis->context);
    if (!status)
        status = sutra_overview_make(analysis->context, (const char *const *)job->traces.paths, job->traces.n, &options,
                                     &job->overview, error);
    if (!status && output && job->overview)
        status = write_results(job, error);
    progress_clear(&analysis->watch.progress);
    return status;
}

static void print_stats(FILE *file, const void *result) {
    const struct overview_job *job = result;
    struct sutra_finding finding;
    uint64_t n = 0;
    while (sutra_overview_finding(job->overview, n, &finding))
        n++;
    const struct named_count counts[] = {
        {"n_ranks", sutra_table_rows(sutra_overview_table(job->overview, SUTRA_OVERVIEW_RANKS))}, {"n_findings", n}};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, &job->analysis.figures);
}

static int job_tell(struct overview_job *job) {
    const struct analysis_values *values = &job->values->analysis;
    job_measure(&job->analysis, job->traces.streams ? 0 : job->traces.n_bytes,
                trace_list_largest(&job->traces, where_threads(&values->job.where)));
    if (job->values->format == OVERVIEW_JSON)
        overview_json_print(job->overview);
    else if (!values->job.quiet)
        overview_page_print(job->overview, job->traces.paths[0]);
    return analysis_job_close(&job->analysis, PAGE_FIRST, print_stats, job);
}

static int run_job(struct overview_job *job, struct overview_values *values, const struct operands *operands,
                   const struct job_team *processes) {
    int exit_code = trace_list_make(&job->traces, operands);
    exit_code = analysis_share_begin(&job->share, &values->analysis, processes, &job->traces, exit_code);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(&values->analysis, &job->traces, &job->results, job_run, job);
    int ended = analysis_share_end(&job->share, &job->traces, exit_code);
    if (exit_code == SUTRA_OK && job->overview)
        exit_code = job_tell(job);
    return exit_code == SUTRA_OK ? ended : exit_code;
}

int overview_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct overview_values values = {.analysis.job.stages = analysis_stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(&values.analysis, &operands, command)) != SUTRA_OK)
        return exit_code;
    struct overview_job job = {.values = &values, .analysis = analysis_job_start(&values.analysis)};
    exit_code = analysis_part_take(&values.analysis.wanted, &job.part);
    if (exit_code == SUTRA_OK)
        exit_code = run_job(&job, &values, &operands, processes);
    sutra_report_free(job.report);
    sutra_overview_free(job.overview);
    sutra_context_free(job.analysis.context);
    trace_list_free(&job.traces);
    return exit_code;
}
