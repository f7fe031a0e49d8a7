/*
 * profile_job.c - from the options of a command to a profile, and its closing lines.
 */
#include "cli/tree/profile_job.h"

#include <stdio.h>

#include "cli/tool/figures.h"
#include "cli/tool/paths.h"

const char *const profile_editions[] = {"2", "1.13", NULL};

static int check_stats(const struct profile_values *values) {
    const char *stats = values->stats;
    if (stats && (paths_same(stats, values->trace) || (values->host && paths_same(stats, values->host))))
        return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", stats);
    if (stats && (paths_same(stats, values->output) || (path_is_stream(stats) && path_is_stream(values->output))))
        return message_fail(SUTRA_USAGE, "%s: the output and the statistics are the same file", stats);
    return SUTRA_OK;
}

int profile_values_check(struct profile_values *values, const char *input, bool there, const struct command *command) {
    if (!there)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    if (watch_check(values->quiet, values->verbose) != SUTRA_OK)
        return SUTRA_USAGE;
    values->trace = input;
    if (paths_same(values->output, input) || (values->host && paths_same(values->output, values->host)))
        return message_fail(SUTRA_USAGE, "%s: the output is the input", values->output);
    if (values->host && paths_same(values->host, input))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", input);
    return check_stats(values);
}

struct profile_job profile_job_start(const struct profile_values *values) {
    return (struct profile_job){.values = values,
                                .watch = watch_start(!values->quiet, !values->quiet, values->verbose),
                                .begin = clock_seconds()};
}

static enum sutra_status read_traces(struct profile_job *job, bool inputs, struct sutra_error *error) {
    const struct profile_values *values = job->values;
    const struct sutra_profile_options options = {.size = sizeof options, .rocm = values->rocm, .inputs = inputs};
    enum sutra_status status = sutra_device_trace_read(job->context, values->trace, &job->device, error);
    if (!status && values->host)
        status = sutra_host_trace_read(job->context, values->host, &job->host, error);
    return status ? status : sutra_profile_take(job->context, job->device, job->host, &options, &job->profile, error);
}

enum sutra_status profile_job_read(struct profile_job *job, const char *events, bool inputs,
                                   struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .lenient = job->values->lenient};
    where_set(&job->values->where, &options);
    watch_attach(&job->watch, &options);
    enum sutra_status status = sutra_output_check(job->values->output, error);
    if (!status && job->values->stats)
        status = sutra_output_check(job->values->stats, error);
    if (!status)
        status = sutra_context_create(&options, &job->context, error);
    if (status)
        return status;
    return events ? sutra_profile_read(job->context, events, &job->profile, error) : read_traces(job, inputs, error);
}

bool profile_job_finish(struct profile_job *job) {
    const struct profile_values *values = job->values;
    progress_clear(&job->watch.progress);
    uint64_t n_bytes = path_size(values->trace), n_host_bytes = values->host ? path_size(values->host) : 0;
    run_figures_take(&job->figures, &job->watch, job->begin, job->context, n_bytes + n_host_bytes);
    job->figures.input_bytes = n_bytes == 0 || (values->host && n_host_bytes == 0) ? 0 : n_bytes + n_host_bytes;
    job->figures.n_threads = where_threads(&values->where);
    return !values->quiet && !path_is_stream(values->output);
}

void profile_job_print(const struct profile_job *job, const char *done) {
    static const char *const sources[] = {
        [SUTRA_THREADS_HOST] = "the host trace",
        [SUTRA_THREADS_FLOWS] = "the trace's own flows from forward to backward",
        [SUTRA_THREADS_SEQUENCES] = "sequence numbers and names of forward and backward operators",
    };
    struct sutra_profile_report report = {.size = sizeof report};
    sutra_profile_report(job->profile, &report);
    const struct {
        const char *words;
        uint64_t count;
    } rows[] = {
        {"operators and annotations", report.n_operators},
        {"Python functions", report.n_python},
        {"memory events", report.n_memory},
        {"calls of the runtime and work on the GPU", report.n_kineto},
        {"  below their launch", report.n_launched},
        {"  below the operator of their external id", report.n_linked},
    };
    fprintf(stderr, "sutra: %s %s\n", done, job->values->output);
    fprintf(stderr, "%16s  events\n", count_text(report.n_events).text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].count)
            fprintf(stderr, "%16s    %s\n", count_text(rows[i].count).text, rows[i].words);
    if (report.n_other)
        fprintf(stderr, "%16s  left out: of other kinds\n", count_text(report.n_other).text);
    if (report.threads != SUTRA_THREADS_GIVEN)
        fprintf(stderr, "%16s  threads, matched with autograd's numbers by %s\n", count_text(report.n_threads).text,
                sources[report.threads]);
}

struct profile_stats {
    const struct profile_job *job;
    const struct named_count *counts;
    size_t n;
};

static void print_stats(FILE *file, const void *result) {
    const struct profile_stats *stats = result;
    struct sutra_profile_report report = {.size = sizeof report};
    sutra_profile_report(stats->job->profile, &report);
    const struct named_count counts[] = {
        {"n_events", report.n_events}, {"n_operators", report.n_operators}, {"n_python", report.n_python},
        {"n_memory", report.n_memory}, {"n_kineto", report.n_kineto},       {"n_launched", report.n_launched},
        {"n_linked", report.n_linked}, {"n_other", report.n_other},         {"n_threads", report.n_threads},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, stats->counts, stats->n);
    run_figures_print_json(file, &stats->job->figures);
}

void profile_job_write_stats(struct profile_job *job, const struct named_count *counts, size_t n) {
    const struct profile_stats stats = {job, counts, n};
    if (job->values->stats)
        job->stats_status = stats_write(job->values->stats, print_stats, &stats);
}

int profile_job_end(struct profile_job *job, enum sutra_status status, const struct sutra_error *error) {
    progress_clear(&job->watch.progress);
    if (status)
        message_error(error);
    sutra_profile_free(job->profile);
    sutra_host_trace_free(job->host);
    sutra_device_trace_free(job->device);
    sutra_context_free(job->context);
    return (int)(status ? status : job->stats_status);
}
