/*
 * overview_job.c - see overview_job.h.
 */
#include "cli/analyze/overview_job.h"

#include "cli/analyze/overview_page.h"

/* What lives while traces are analyzed. */
struct overview_job {
    const struct overview_values *values;
    struct job analysis;
    struct trace_list traces;
    struct result_folder results;
    struct sutra_overview *overview;
};

static enum sutra_status job_run(void *arg, struct sutra_error *error) {
    struct overview_job *job = arg;
    struct job *analysis = &job->analysis;
    enum sutra_status status = job_open(analysis, NULL, error);
    if (!status)
        status = sutra_overview_make(analysis->context, (const char *const *)job->traces.paths, job->traces.n,
                                     &job->overview, error);
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
    return analysis_job_close(&job->analysis, values->open, print_stats, job);
}

int overview_run(const struct command *command, int argc, char **argv) {
    struct overview_values values = {.analysis.job.stages = analysis_stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(&values.analysis, &operands, command)) != SUTRA_OK)
        return exit_code;
    struct overview_job job = {.values = &values, .analysis = analysis_job_start(&values.analysis)};
    exit_code = trace_list_make(&job.traces, &operands);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(&values.analysis, &job.traces, &job.results, job_run, &job);
    if (exit_code == SUTRA_OK)
        exit_code = job_tell(&job);
    sutra_overview_free(job.overview);
    sutra_context_free(job.analysis.context);
    trace_list_free(&job.traces);
    return exit_code;
}
