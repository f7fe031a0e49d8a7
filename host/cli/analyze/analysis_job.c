/*
 * analysis_job.c - from the options of a command to a context, and its closing lines.
 */
#include "cli/analyze/analysis_job.h"

#include <errno.h>
#include <string.h>

#include "cli/tool/figures.h"
#include "cli/tool/paths.h"
#include "cli/tool/report_place.h"

int analysis_values_check(const struct analysis_values *values, const struct operands *operands,
                          const struct command *command) {
    if (operands->n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    if (watch_check(values->quiet, values->verbose) != SUTRA_OK)
        return SUTRA_USAGE;
    if (values->strict && values->lenient)
        return message_fail(SUTRA_USAGE, "--strict and --lenient exclude each other");
    if (values->open && (!values->output || values->no_report))
        return message_fail(SUTRA_USAGE, "--open needs --output, and a report");
    return SUTRA_OK;
}

int analysis_values_place(const struct analysis_values *values, const char *const *inputs, size_t n_inputs) {
    struct sutra_error error;
    for (size_t i = 0; values->stats && i < n_inputs; i++)
        if (paths_same(values->stats, inputs[i]))
            return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", values->stats);
    if (values->stats && sutra_output_check(values->stats, &error))
        return message_error(&error);
    if (values->output && !path_make_folder(values->output))
        return message_fail(SUTRA_NO_OUTPUT, "%s: %s", values->output, strerror(errno));
    return SUTRA_OK;
}

struct analysis_job analysis_job_start(const struct analysis_values *values) {
    return (struct analysis_job){
        .values = values, .begin = clock_seconds(), .watch = watch_start(!values->quiet, true, values->verbose)};
}

enum sutra_status analysis_job_open(struct analysis_job *job, struct sutra_error *error) {
    struct sutra_context_options options = {
        .size = sizeof options, .strict = job->values->strict, .lenient = job->values->lenient};
    where_set(&job->values->where, &options);
    watch_attach(&job->watch, &options);
    return sutra_context_create(&options, &job->context, error);
}

void analysis_job_measure(struct analysis_job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes) {
    run_figures_take(&job->figures, &job->watch, job->begin, job->context, n_mapped_bytes);
    job->figures.input_bytes = n_input_bytes;
    job->figures.n_threads = where_threads(&job->values->where);
}

int analysis_job_close(const struct analysis_job *job, void (*print)(FILE *file, const void *result),
                       const void *result) {
    const struct analysis_values *values = job->values;
    if (!values->quiet)
        fprintf(stderr, "%.3f s, %s of memory at the peak\n", job->figures.seconds,
                bytes_text(job->figures.peak_memory).text);
    if (values->open)
        report_place_print(values->output);
    return values->stats ? (int)stats_write(values->stats, print, result) : SUTRA_OK;
}
