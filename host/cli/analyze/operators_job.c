/*
 * operators_job.c - device traces of one or many ranks in, tables of operators or of kernels and a page about them out.
 *
 * Tables of TraceLens are those of one rank, and are written as soon as the rank is done; ours are of all ranks.
 */
#include "cli/analyze/operators_job.h"

#include <stdio.h>

#include "cli/analyze/operators_page.h"
#include "cli/analyze/shared_analyses.h"
#include "cli/analyze/table_files.h"
#include "cli/tool/trace_list.h"
#include "sutra/report.h"

/* What lives while traces are analyzed. */
struct operators_job {
    const struct operators_values *values;
    bool kernels;
    struct job analysis;
    struct trace_list traces;
    struct sutra_operators_ranks *ranks;
    struct result_folder results;
    struct analysis_share share;
    struct analysis_part part;
};

static enum sutra_status write_table(struct operators_job *job, const struct sutra_table *table, int64_t rank,
                                     struct sutra_error *error) {
    return table_file_write(&job->analysis, job->results.path, table, rank,
                            (enum sutra_table_format)job->values->format, error);
}

/* One rank is done: tables that are not joined. */
static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_operators *operators,
                                 struct sutra_error *error) {
    struct operators_job *job = arg;
    int64_t rank = job->traces.n > 1 ? sutra_operators_rank_of(operators) : RANK_ALL;
    enum sutra_status status = SUTRA_OK;
    (void)context;
    for (int id = 0; id <= SUTRA_TRACELENS_RATES && !status; id++) {
        const struct sutra_table *table = sutra_operators_table(operators, (enum sutra_operators_table)id);
        if (table)
            status = write_table(job, table, rank, error);
    }
    return status;
}

static enum sutra_status write_tables(struct operators_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_operators_ranks_table(job->ranks, (enum sutra_operators_table)id);
        if (table)
            status = write_table(job, table, RANK_ALL, error);
    }
    return status;
}

static enum sutra_status write_report(struct operators_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status =
        sutra_report_write_operators(job->analysis.context, job->ranks, job->results.path, &n_bytes, error);
    job->analysis.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status job_run(void *arg, struct sutra_error *error) {
    struct operators_job *job = arg;
    const struct operators_values *values = job->values;
    const char *output = values->analysis.job.output;
    struct job *analysis = &job->analysis;
    const struct sutra_operators_options of_each = {.size = sizeof of_each,
                                                    .compat = values->compat == COMPAT_TRACELENS,
                                                    .kernels = job->kernels,
                                                    .peaks = values->peaks};
    const struct sutra_operators_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                                .operators = &of_each,
                                                                .visit = output ? on_rank : NULL,
                                                                .arg = job,
                                                                .restriction = &job->part.restriction};
    enum sutra_status status = job_open(analysis, NULL, error);
    if (!status)
        analysis_share_with(&job->share, analysis->context);
    if (!status)
        status = sutra_operators_ranks_make(analysis->context, (const char *const *)job->traces.paths, job->traces.n,
                                            &ranks_options, &job->ranks, error);
    if (!status && output && job->ranks)
        status = write_tables(job, error);
    if (!status && output && job->ranks && !values->analysis.no_report && values->compat == COMPAT_NONE)
        status = write_report(job, error);
    progress_clear(&analysis->watch.progress);
    return status;
}

static void print_stats(FILE *file, const void *result) {
    const struct operators_job *job = result;
    const struct sutra_operators_rank *rank;
    uint64_t n_ranks = 0, n_left_out = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_at(job->ranks, i)); i++) {
        n_ranks += !rank->reason;
        n_left_out += rank->reason != NULL;
    }
    const struct named_count counts[] = {{"n_ranks", n_ranks}, {"n_left_out", n_left_out}};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, &job->analysis.figures);
}

static int job_tell(struct operators_job *job) {
    const struct analysis_values *values = &job->values->analysis;
    job_measure(&job->analysis, job->traces.streams ? 0 : job->traces.n_bytes,
                trace_list_largest(&job->traces, where_threads(&values->job.where)));
    if (!values->job.quiet && job->values->compat == COMPAT_NONE)
        (job->kernels ? kernels_page_print : operators_page_print)(job->ranks, values->job.output);
    return analysis_job_close(&job->analysis, job->kernels ? PAGE_KERNELS : PAGE_OPERATORS, print_stats, job);
}

/* ---- The command ---- */

static int run_job(struct operators_job *job, struct operators_values *values, const struct operands *operands,
                   const struct job_team *processes) {
    int exit_code = trace_list_make(&job->traces, operands);
    exit_code = analysis_share_begin(&job->share, &values->analysis, processes, &job->traces, exit_code);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(&job->values->analysis, &job->traces, &job->results, job_run, job);
    int ended = analysis_share_end(&job->share, &job->traces, exit_code);
    if (exit_code == SUTRA_OK && job->ranks)
        exit_code = job_tell(job);
    return exit_code == SUTRA_OK ? ended : exit_code;
}

int operators_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct operators_values values = {.analysis.job.stages = analysis_stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(&values.analysis, &operands, command)) != SUTRA_OK)
        return exit_code;
    struct operators_job job = {.values = &values,
                                .kernels = command == &analyze_kernels_command,
                                .analysis = analysis_job_start(&values.analysis)};
    exit_code = analysis_part_take(&values.analysis.wanted, &job.part);
    if (exit_code == SUTRA_OK)
        exit_code = run_job(&job, &values, &operands, processes);
    sutra_operators_ranks_free(job.ranks);
    sutra_context_free(job.analysis.context);
    trace_list_free(&job.traces);
    return exit_code;
}
