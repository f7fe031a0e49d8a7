/*
 * profile_job.c - creates a profile from a command's options, and prints the closing lines.
 *
 *     device trace [, host trace], or a file of events --> profile --> the command --> summary, statistics
 */
#include "cli/tree/profile_job.h"

#include <stdio.h>

#include "cli/tool/figures.h"
#include "cli/tool/paths.h"

const char *const torch_versions[] = {"2", "1.13", NULL};

int profile_values_check(struct profile_values *values, const char *input, bool there, const struct command *command) {
    const char *output = values->job.output;
    if (!there)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    if (job_check_flags(&values->job) != SUTRA_OK)
        return SUTRA_USAGE;
    values->trace = input;
    if (paths_same(output, input) || (values->host && paths_same(output, values->host)))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", output);
    if (values->host && paths_same(values->host, input))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", input);
    return job_check_stats(values->job.stats, output, (const char *const[]){input, values->host}, 2);
}

struct profile_job profile_job_start(const struct profile_values *values) {
    bool loud = !values->job.quiet;
    return (struct profile_job){.values = values, .job = job_start(&values->job, loud, loud, values->job.verbose)};
}

static enum sutra_status read_traces(struct profile_job *job, bool inputs, struct sutra_error *error) {
    const struct profile_values *values = job->values;
    struct sutra_context *context = job->job.context;
    const struct sutra_profile_options options = {.size = sizeof options, .rocm = values->rocm, .inputs = inputs};
    enum sutra_status status = sutra_device_trace_read(context, values->trace, &job->device, error);
    if (!status && values->host)
        status = sutra_host_trace_read(context, values->host, &job->host, error);
    return status ? status : sutra_profile_from_trace(context, job->device, job->host, &options, &job->profile, error);
}

enum sutra_status profile_job_read(struct profile_job *job, const char *events, bool inputs,
                                   struct sutra_error *error) {
    enum sutra_status status = job_open(&job->job, job->values->job.output, error);
    if (status)
        return status;
    return events ? sutra_profile_read(job->job.context, events, &job->profile, error)
                  : read_traces(job, inputs, error);
}

bool profile_job_finish(struct profile_job *job) {
    const struct profile_values *values = job->values;
    job_measure_inputs(&job->job, (const char *const[]){values->trace, values->host}, 2);
    return !values->job.quiet && !path_is_stream(values->job.output);
}

void profile_job_print(const struct profile_job *job, const char *done) {
    static const char *const sources[] = {
        [SUTRA_THREADS_HOST] = "the host trace",
        [SUTRA_THREADS_FLOWS] = "the forward-to-backward flows of the trace",
        [SUTRA_THREADS_SEQUENCES] = "sequence numbers and names of forward and backward operators",
    };
    struct sutra_profile_report report = {.size = sizeof report};
    sutra_profile_report(job->profile, &report);
    const struct summary_row rows[] = {
        {report.n_events, "events", true},
        {report.n_operators, "  operators and annotations", false},
        {report.n_python, "  Python functions", false},
        {report.n_memory, "  memory events", false},
        {report.n_kineto, "  runtime calls and GPU activities", false},
        {report.n_launched, "    with their launch as parent", false},
        {report.n_linked, "    with the operator of their external id as parent", false},
        {report.n_other, "skipped: other types of events", false},
    };
    fprintf(stderr, "sutra: %s %s\n", done, job->values->job.output);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (report.threads != SUTRA_THREADS_GIVEN)
        fprintf(stderr, "%16s  threads matched to autograd's numbers by %s\n", count_text(report.n_threads).text,
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
    run_figures_print_json(file, &stats->job->job.figures);
}

void profile_job_write_stats(struct profile_job *job, const struct named_count *counts, size_t n) {
    const struct profile_stats stats = {job, counts, n};
    if (job->values->job.stats)
        job->stats_status = stats_write(job->values->job.stats, print_stats, &stats);
}

int profile_job_end(struct profile_job *job, enum sutra_status status, const struct sutra_error *error) {
    sutra_profile_free(job->profile);
    sutra_host_trace_free(job->host);
    sutra_device_trace_free(job->device);
    int exit_code = job_end(&job->job, status, error);
    return exit_code ? exit_code : (int)job->stats_status;
}
