/*
 * operators_job.c - device traces of one or many ranks in, tables of operators or of kernels and a page about them out.
 *
 * Tables of TraceLens are those of one rank, and are written as soon as the rank is done; ours are of all ranks.
 */
#include "cli/analyze/operators_job.h"

#include <stdio.h>

#include "cli/analyze/analysis_run.h"
#include "cli/analyze/operators_page.h"
#include "cli/analyze/shared_analyses.h"
#include "sutra/report.h"

/* What lives while traces are analyzed. */
struct operators_job {
    struct analysis_run run;
    struct operators_values values;
    bool kernels;
    struct sutra_operators_ranks *ranks;
};

/* One rank is done: tables that are not joined. */
static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_operators *operators,
                                 struct sutra_error *error) {
    struct operators_job *job = arg;
    int64_t rank = job->run.traces.n > 1 ? sutra_operators_rank_of(operators) : RANK_ALL;
    enum sutra_status status = SUTRA_OK;
    (void)context;
    for (int id = 0; id <= SUTRA_TRACELENS_RATES && !status; id++) {
        const struct sutra_table *table = sutra_operators_table(operators, (enum sutra_operators_table)id);
        if (table)
            status = analysis_write_table(&job->run, table, rank, error);
    }
    return status;
}

static enum sutra_status write_tables(struct operators_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_operators_ranks_table(job->ranks, (enum sutra_operators_table)id);
        if (table)
            status = analysis_write_table(&job->run, table, RANK_ALL, error);
    }
    return status;
}

static enum sutra_status write_report(struct operators_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status =
        sutra_report_write_operators(job->run.job.context, job->ranks, job->run.results.path, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status work(struct analysis_run *run, struct sutra_error *error) {
    struct operators_job *job = (struct operators_job *)run;
    const struct operators_values *values = &job->values;
    const char *output = values->analysis.job.output;
    const struct sutra_operators_options of_each = {.size = sizeof of_each,
                                                    .compat = values->compat == COMPAT_TRACELENS,
                                                    .kernels = job->kernels,
                                                    .peaks = values->peaks};
    const struct sutra_operators_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                                .operators = &of_each,
                                                                .visit = output ? on_rank : NULL,
                                                                .arg = job,
                                                                .restriction = &run->part.restriction};
    enum sutra_status status = sutra_operators_ranks_make(run->job.context, (const char *const *)run->traces.paths,
                                                          run->traces.n, &ranks_options, &job->ranks, error);
    if (!status && output && job->ranks)
        status = write_tables(job, error);
    if (!status && output && job->ranks && !values->analysis.no_report && values->compat == COMPAT_NONE)
        status = write_report(job, error);
    return status;
}

static bool has_results(const struct analysis_run *run) {
    return ((const struct operators_job *)run)->ranks;
}

static void print(const struct analysis_run *run) {
    const struct operators_job *job = (const struct operators_job *)run;
    if (!run->values->job.quiet && job->values.compat == COMPAT_NONE)
        (job->kernels ? kernels_page_print : operators_page_print)(job->ranks, run->values->job.output);
}

static void print_counts(FILE *file, const struct analysis_run *run) {
    const struct sutra_operators_rank *rank;
    uint64_t n_ranks = 0, n_left_out = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_at(((const struct operators_job *)run)->ranks, i)); i++) {
        n_ranks += !rank->reason;
        n_left_out += rank->reason != NULL;
    }
    const struct named_count counts[] = {{"n_ranks", n_ranks}, {"n_left_out", n_left_out}};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
}

int operators_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    bool kernels = command == &analyze_kernels_command;
    const struct analysis_kind kind = {.page = kernels ? PAGE_KERNELS : PAGE_OPERATORS,
                                       .work = work,
                                       .has_results = has_results,
                                       .print = print,
                                       .print_counts = print_counts};
    struct operators_job job = {.values.analysis.job.stages = analysis_stages, .kernels = kernels};
    int exit_code = analysis_run(&kind, &job.run, &job.values.analysis, command, argc, argv, processes);
    sutra_operators_ranks_free(job.ranks);
    analysis_run_free(&job.run);
    return exit_code;
}
