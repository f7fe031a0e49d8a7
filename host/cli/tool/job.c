/*
 * job.c - creates a context from a command's options, and ends the command.
 */
#include "cli/tool/job.h"

#include <unistd.h>

#include "cli/tool/paths.h"

int job_check_flags(const struct job_values *values) {
    if (values->quiet && values->verbose)
        return message_fail(SUTRA_USAGE, "--quiet and --verbose exclude each other");
    if (values->strict && values->lenient)
        return message_fail(SUTRA_USAGE, "--strict and --lenient exclude each other");
    return SUTRA_OK;
}

int job_check_stats(const char *stats, const char *output, const char *const *inputs, size_t n_inputs) {
    for (size_t i = 0; stats && i < n_inputs; i++)
        if (inputs[i] && paths_same(stats, inputs[i]))
            return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", stats);
    if (stats && output && (paths_same(stats, output) || (path_is_stream(stats) && path_is_stream(output))))
        return message_fail(SUTRA_USAGE, "%s: the output and the statistics are the same file", stats);
    return SUTRA_OK;
}

int job_check_terminal(struct job_values *values) {
    if (!values->output && isatty(STDOUT_FILENO))
        return message_fail(SUTRA_USAGE,
                            "standard output is a terminal: write to a file with -o OUT (-o - writes to the "
                            "terminal)");
    if (!values->output)
        values->output = "-";
    return SUTRA_OK;
}

struct job job_start(const struct job_values *values, bool progress, bool warnings, bool notes) {
    return (struct job){.values = values,
                        .watch = watch_start(progress, warnings, notes, values->stages, values->n_inputs),
                        .begin = clock_seconds()};
}

enum sutra_status job_open(struct job *job, const char *output, struct sutra_error *error) {
    const struct job_values *values = job->values;
    struct sutra_context_options options = {.size = sizeof options,
                                            .strict = values->strict,
                                            .lenient = values->lenient,
                                            .force = values->force,
                                            .most_input_bytes = values->most_input_bytes};
    where_set(&values->where, &options);
    watch_attach(&job->watch, &options);
    enum sutra_status status = output && !values->force ? sutra_output_check(output, error) : SUTRA_OK;
    if (!status && values->stats && !values->force)
        status = sutra_output_check(values->stats, error);
    return status ? status : sutra_context_create(&options, &job->context, error);
}

bool job_is_trace(const struct job *job, const char *path, enum sutra_trace_kind wanted) {
    enum sutra_trace_kind kind;
    return job->context && !path_is_stream(path) && sutra_trace_kind_of(job->context, path, &kind, NULL) == SUTRA_OK &&
           kind == wanted;
}

void job_measure(struct job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes) {
    progress_clear(&job->watch.progress);
    run_figures_take(&job->figures, &job->watch, job->begin, job->context, n_mapped_bytes);
    job->figures.input_bytes = n_input_bytes;
    job->figures.n_threads = where_threads(&job->values->where);
    job->figures.output = job->values->output;
}

void job_measure_inputs(struct job *job, const char *const *inputs, size_t n_inputs) {
    uint64_t n_bytes = 0;
    bool pipes = false;
    for (size_t i = 0; i < n_inputs; i++) {
        uint64_t n = inputs[i] ? path_size(inputs[i]) : 0;
        n_bytes += n;
        job->figures.compressed |= n && path_is_compressed(inputs[i]);
        pipes |= inputs[i] && n == 0;
    }
    job_measure(job, pipes ? 0 : n_bytes, n_bytes);
}

int job_end(struct job *job, enum sutra_status status, const struct sutra_error *error) {
    progress_clear(&job->watch.progress);
    if (status)
        message_error(error);
    sutra_context_free(job->context);
    return (int)status;
}
