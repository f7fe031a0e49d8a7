/*
 * analysis_run.c - implements analysis_run.h.
 */
#include "cli/analyze/analysis_run.h"

#include "cli/tool/run_figures.h"

/* A run of a kind, for those who know neither. */
struct running {
    const struct analysis_kind *kind;
    struct analysis_run *run;
};

static enum sutra_status do_work(void *arg, struct sutra_error *error) {
    const struct running *running = arg;
    struct analysis_run *run = running->run;
    enum sutra_status status = job_open(&run->job, NULL, error);
    if (!status) {
        run->job.context->own_names = true;
        analysis_share_with(&run->share, run->job.context);
        status = running->kind->work(run, error);
    }
    progress_clear(&run->job.watch.progress);
    return status;
}

static void print_stats(FILE *file, const void *result) {
    const struct running *running = result;
    running->kind->print_counts(file, running->run);
    run_figures_print_json(file, &running->run->job.figures);
}

static int tell(const struct running *running) {
    struct analysis_run *run = running->run;
    job_measure(&run->job, run->traces.streams ? 0 : run->traces.n_bytes,
                trace_list_largest(&run->traces, where_threads(&run->values->job.where)));
    running->kind->print(run);
    return analysis_job_close(&run->job, running->kind->page, print_stats, running);
}

/* What is analyzed, and whether it may be. */
static int list_traces(const struct running *running, const struct operands *operands, bool is_shared) {
    struct analysis_run *run = running->run;
    int exit_code = analysis_part_take(&run->values->wanted, &run->part);
    if (exit_code == SUTRA_OK)
        exit_code = trace_list_make(&run->traces, operands, NAMES_JSON);
    if (exit_code == SUTRA_OK && running->kind->check)
        exit_code = running->kind->check(run, is_shared);
    return exit_code;
}

static int run_listed(struct running *running, const struct operands *operands, const struct job_team *processes) {
    struct analysis_run *run = running->run;
    int exit_code = list_traces(running, operands, analysis_is_shared(run->values, processes));
    exit_code = analysis_share_begin(&run->share, run->values, processes, &run->traces, exit_code);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(run->values, &run->traces, &run->results, do_work, running);
    int ended = analysis_share_end(&run->share, &run->traces, exit_code);
    if (exit_code == SUTRA_OK && analysis_share_has_results(&run->share))
        exit_code = tell(running);
    return exit_code == SUTRA_OK ? ended : exit_code;
}

int analysis_run(const struct analysis_kind *kind, struct analysis_run *run, struct analysis_values *values,
                 const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(values, &operands, command)) != SUTRA_OK)
        return exit_code;
    run->values = values;
    run->job = analysis_job_start(values);
    return run_listed(&(struct running){kind, run}, &operands, processes);
}

void analysis_run_free(struct analysis_run *run) {
    sutra_context_free(run->job.context);
    trace_list_free(&run->traces);
}

enum sutra_status analysis_write_table(struct analysis_run *run, const struct sutra_table *table, int64_t rank,
                                       struct sutra_error *error) {
    return table_file_write(&run->job, run->results.path, table, rank, (enum sutra_table_format)run->values->tables,
                            error);
}
