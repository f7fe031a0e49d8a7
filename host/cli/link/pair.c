/*
 * pair.c - the common part of `sutra link` and `sutra link-legacy`.
 */
#include "cli/link/pair.h"

#include "cli/tool/message.h"
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
    if (watch_check(values->quiet, values->verbose) != SUTRA_OK)
        return SUTRA_USAGE;
    if (values->strict && values->lenient)
        return message_fail(SUTRA_USAGE, "--strict and --lenient exclude each other");
    if (values->quiet && values->log_level < LOG_WARNING)
        values->log_level = LOG_WARNING;
    return SUTRA_OK;
}

int pair_check_files(const struct pair_values *values) {
    const char *stats = values->stats;
    if (path_is_stream(values->host) && path_is_stream(values->device))
        return message_fail(SUTRA_USAGE, "only one of the traces can be standard input");
    if (paths_same(values->output, values->host) || paths_same(values->output, values->device))
        return message_fail(SUTRA_USAGE, "%s: the output is one of the inputs", values->output);
    if (stats && (paths_same(stats, values->host) || paths_same(stats, values->device)))
        return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", stats);
    if (stats && (paths_same(stats, values->output) || (path_is_stream(stats) && path_is_stream(values->output))))
        return message_fail(SUTRA_USAGE, "%s: the output and the statistics are the same file", stats);
    return SUTRA_OK;
}

struct pair pair_start(const struct pair_values *values, bool notes) {
    struct pair pair = {.values = values, .begin = clock_seconds()};
    pair.watch = watch_start(values->log_level <= LOG_INFO, values->log_level <= LOG_WARNING, notes);
    return pair;
}

static enum sutra_status make_context(struct pair *pair, struct sutra_error *error) {
    struct sutra_context_options options = {
        .size = sizeof options,
        .strict = pair->values->strict,
        .lenient = pair->values->lenient,
    };
    where_set(&pair->values->where, &options);
    watch_attach(&pair->watch, &options);
    return sutra_context_create(&options, &pair->context, error);
}

enum sutra_status pair_read(struct pair *pair, struct sutra_error *error) {
    const struct pair_values *values = pair->values;
    enum sutra_status status = sutra_output_check(values->output, error);
    if (!status && values->stats)
        status = sutra_output_check(values->stats, error);
    if (!status)
        status = make_context(pair, error);
    if (!status)
        status = sutra_host_trace_read(pair->context, values->host, &pair->host, error);
    if (!status)
        status = sutra_device_trace_read(pair->context, values->device, &pair->device, error);
    return status;
}

void pair_measure(struct pair *pair, struct run_figures *figures) {
    const struct pair_values *values = pair->values;
    uint64_t n_host_bytes = path_size(values->host), n_device_bytes = path_size(values->device);
    run_figures_take(figures, &pair->watch, pair->begin, pair->context, n_host_bytes + n_device_bytes);
    figures->input_bytes = n_host_bytes && n_device_bytes ? n_host_bytes + n_device_bytes : 0;
    figures->n_threads = where_threads(&values->where);
    figures->output = values->output;
}

void pair_end(struct pair *pair) {
    sutra_device_trace_free(pair->device);
    sutra_host_trace_free(pair->host);
    sutra_context_free(pair->context);
}
