/*
 * pair.c - implements pair.h.
 */
#include "cli/link/pair.h"

#include <stdio.h>
#include <string.h>

#include "cli/tool/paths.h"

const char *const pair_log_levels[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", NULL};

int pair_take_operands(struct pair_values *values, const struct operands *operands) {
    unsigned next = 0;
    if (!values->host && next < operands->n)
        values->host = operands->words[next++];
    if (!values->device && next < operands->n)
        values->device = operands->words[next++];
    if (next < operands->n)
        return message_fail(SUTRA_USAGE, "'%s' is one trace too many", operands->words[next]);
    return SUTRA_OK;
}

int pair_check_named(const struct pair_values *values, const struct command *command) {
    if (!values->host || !values->device)
        return message_fail(SUTRA_USAGE, "the %s trace is missing; see '%s --help'", values->host ? "device" : "host",
                            command->called);
    return SUTRA_OK;
}

int pair_check_flags(struct pair_values *values) {
    int exit_code = job_check_flags(&values->job);
    if (exit_code == SUTRA_OK && values->job.quiet && values->log_level < LOG_WARNING)
        values->log_level = LOG_WARNING;
    return exit_code;
}

int pair_check_files(const struct pair_values *values) {
    const char *output = values->job.output, *const inputs[] = {values->host, values->device};
    if (path_is_stream(values->host) && path_is_stream(values->device))
        return message_fail(SUTRA_USAGE, "only one of the traces can be standard input");
    if (paths_same(output, values->host) || paths_same(output, values->device))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", output);
    return job_check_stats(values->job.stats, output, inputs, 2);
}

struct pair pair_start(const struct pair_values *values, bool notes) {
    return (struct pair){
        .values = values,
        .job = job_start(&values->job, values->log_level <= LOG_INFO, values->log_level <= LOG_WARNING, notes)};
}

/* Behind an error about the host trace, which the device trace may be. */
static void tell_if_swapped(const struct pair *pair, struct sutra_error *error) {
    size_t length = strlen(error->message);
    if (job_is_trace(&pair->job, pair->values->host, SUTRA_TRACE_DEVICE) &&
        job_is_trace(&pair->job, pair->values->device, SUTRA_TRACE_HOST))
        snprintf(error->message + length, sizeof error->message - length, "; swap the two files");
}

enum sutra_status pair_read(struct pair *pair, struct sutra_error *error) {
    const struct pair_values *values = pair->values;
    enum sutra_status status = job_open(&pair->job, values->job.output, error);
    if (!status)
        status = sutra_host_trace_read(pair->job.context, values->host, &pair->host, error);
    if (!status)
        status = sutra_device_trace_read(pair->job.context, values->device, &pair->device, error);
    if (status == SUTRA_DATA && !pair->host)
        tell_if_swapped(pair, error);
    return status;
}

void pair_measure(struct pair *pair) {
    job_measure_inputs(&pair->job, (const char *const[]){pair->values->host, pair->values->device}, 2);
}

void pair_end(struct pair *pair) {
    sutra_device_trace_free(pair->device);
    sutra_host_trace_free(pair->host);
    sutra_context_free(pair->job.context);
}
