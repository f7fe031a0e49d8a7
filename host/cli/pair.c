/* pair.c - implements pair.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "cli/pair.h"
#include "cli/paths.h"
#include "sutra/sutra.h"
#include "text/strings.h"

/* ---- Two traces ---- */

const char *const log_level_names[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", NULL};

static void append_word(struct buffer *line, const char *word) {
    buffer_append_text(line, " ");
    shell_append_word(line, word);
}

int pair_check_operands(struct pair_job *pair) {
    const struct operands *operands = &pair->job.operands;
    unsigned next = 0;
    for (int i = 0; i < 2; i++)
        if (!pair->traces[i] && next < operands->n)
            pair->traces[i] = operands->words[next++];
    if (next < operands->n)
        return message_fail(SUTRA_USAGE,
                            "'%s' is one trace too many: pass a host trace, a device trace, and the output with "
                            "'-o OUT'",
                            operands->words[next]);
    return SUTRA_OK;
}

int pair_check_named(const struct pair_job *pair) {
    const char *host = pair->traces[HOST_TRACE];
    if (!host || !pair->traces[DEVICE_TRACE])
        return message_fail(SUTRA_USAGE, "the %s trace is missing; see '%s --help'", host ? "device" : "host",
                            pair->job.command->called);
    return SUTRA_OK;
}

int pair_check_files(struct pair_job *pair) {
    if (path_is_stream(pair->traces[HOST_TRACE]) && path_is_stream(pair->traces[DEVICE_TRACE]))
        return message_fail(SUTRA_USAGE, "only one of the traces can be standard input");
    pair->job.inputs = pair->traces;
    pair->job.n_inputs = 2;
    return SUTRA_OK;
}

enum sutra_status explain_swapped_pair(const struct job *job, const char *host, const char *device,
                                       struct sutra_error *error) {
    if (error->status != SUTRA_DATA || !job_is_trace(job, host, SUTRA_TRACE_DEVICE) ||
        !job_is_trace(job, device, SUTRA_TRACE_HOST))
        return error->status;
    struct buffer line = {0};
    buffer_append_text(&line, "; the traces are swapped");
    if (job->operands.n == 2) {
        buffer_append_text(&line, ": '");
        buffer_append_text(&line, job->command->called);
        append_word(&line, device);
        append_word(&line, host);
        buffer_append_text(&line, job->output ? " ...'" : "'");
    }
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "%.*s", (int)line.length, line.bytes);
    buffer_free(&line);
    return error->status;
}

enum sutra_status pair_read(struct pair_job *pair, struct sutra_error *error) {
    struct job *job = &pair->job;
    const char *host = pair->traces[HOST_TRACE], *device = pair->traces[DEVICE_TRACE];
    TRY(job_open(job, job->output, error));
    if (sutra_host_trace_read(job->context, host, &pair->host, error))
        return explain_swapped_pair(job, host, device, error);
    TRY(sutra_device_trace_read(job->context, device, &pair->device, error));
    pair->validity = *pair->host->validity;
    validity_add(&pair->validity, pair->device->validity);
    job->validity = &pair->validity;
    return SUTRA_OK;
}

void pair_release(struct pair_job *pair) {
    sutra_device_trace_free(pair->device);
    sutra_host_trace_free(pair->host);
}

bool advice_command(const struct sutra_advice *advice, const char *host, const char *device, const char *output,
                    char *text, size_t size) {
    struct buffer line = {0};
    if (advice->linker == SUTRA_LINKER_NONE)
        return false;
    buffer_append_text(&line, "sutra");
    append_word(&line, "link");
    append_word(&line, host);
    append_word(&line, device);
    append_word(&line, "-o");
    append_word(&line, output ? output : "OUT");
    bool fits = !line.failed && line.length < size;
    size_t length = MIN(line.length, size - 1);
    if (length)
        memcpy(text, line.bytes, length);
    text[length] = 0;
    buffer_free(&line);
    return fits;
}

/* ---- The result in one line ---- */

static double share_of(uint64_t n, uint64_t all) {
    return all ? (double)n / (double)all : 1;
}

void coverage_classify(struct link_coverage *coverage, const struct link_cause *causes, size_t n) {
    double cpu = share_of(coverage->n_cpu_linked, coverage->n_cpu);
    double gpu = share_of(coverage->n_gpu_linked, coverage->n_gpu);
    coverage->share = MIN(cpu, gpu);
    coverage->cause = (struct link_cause){0};
    for (size_t i = 0; i < n; i++)
        if (causes[i].is_gpu == (gpu <= cpu) && causes[i].n > coverage->cause.n)
            coverage->cause = causes[i];
    coverage->result = coverage->n_cpu_linked == 0                ? LINK_NOTHING
                       : 100 * coverage->share < COMPLETE_PERCENT ? LINK_PARTLY
                                                                  : LINK_COMPLETE;
}

struct link_coverage coverage_of_link(const struct sutra_link_report *report, const struct sutra_link_match *match,
                                      const struct trace_validity *validity) {
    const bool is_truncated = validity && validity->defects[DEFECT_TRUNCATED].count;
    /* Only operators have ids: the process, threads and steps of a host trace do not count. But if most ids are 0, they
     * are unset. */
    uint64_t n_zero = report->n_host_rf_zero > report->n_host_linked ? report->n_host_rf_zero : 0;
    struct link_coverage coverage = {
        .n_cpu = match->by_names ? match->n_host_ops
                                 : report->n_host_ops - report->n_host_steps - (n_zero ? 0 : report->n_host_rf_zero),
        .n_cpu_linked = report->n_host_linked,
        .n_gpu = report->n_gpu_ops - report->n_gpu_memory_sets,
        .n_gpu_linked = report->n_gpu_with_parent - report->n_gpu_host_unmatched,
    };
    const bool has_unreached = report->n_host_ops < report->n_host_nodes;
    const struct link_cause causes[] = {
        {false, n_zero, "without an id (rf_id is 0): record both traces with PyTorch 2.4.1 or later"},
        {false, report->n_host_without_rf, "without an id (rf_id): record both traces with PyTorch 2.4.1 or later"},
        {false, report->n_host_rf_unmatched - report->n_host_steps,
         is_truncated ? "after the complete part of the truncated device trace: record again, or copy the file again"
                      : "not in the device trace: record both traces in one window, with "
                        "_ExperimentalConfig(profile_all_threads=True) if the script starts threads"},
        {false, match->host.n_before + match->host.n_after,
         "before or after the part that the device trace covers: record both traces in one window"},
        {false, match->host.n_of_threads,
         "of threads that the device trace lacks: record with _ExperimentalConfig(profile_all_threads=True)"},
        {false, match->host.n_between, "without an operator of their name at their position in the device trace"},
        {true, report->n_gpu_host_unmatched,
         has_unreached ? "below CPU operators that are not below the root of the host trace, or not in it: see the "
                         "warning about its nodes"
                       : "below CPU operators that are not in the host trace: record both traces in one window"},
        {true, report->n_gpu_without_launch - report->n_gpu_unknown_launch,
         "without a launch in the device trace: call torch.cuda.synchronize() before the profiler starts"},
        {true, report->n_gpu_unknown_launch,
         "launched by calls that chakra_trace_link does not know: .et files with measured times contain them"},
        {true, report->n_gpu_without_parent,
         "launched by threads without CPU operators: record with _ExperimentalConfig(profile_all_threads=True)"},
    };
    coverage_classify(&coverage, causes, COUNT_OF(causes));
    return coverage;
}

struct figure coverage_text(const struct link_coverage *coverage) {
    struct figure text;
    int length = snprintf(text.text, sizeof text.text, "%s of %s CPU operators",
                          count_text(coverage->n_cpu_linked).text, count_text(coverage->n_cpu).text);
    if (coverage->n_gpu)
        snprintf(text.text + length, sizeof text.text - (size_t)length, " and %s of %s GPU activities",
                 count_text(coverage->n_gpu_linked).text, count_text(coverage->n_gpu).text);
    return text;
}

void coverage_print(const struct link_coverage *coverage, const char *output) {
    const struct figure counts = coverage_text(coverage);
    const struct link_cause *cause = &coverage->cause;
    if (coverage->result == LINK_NOTHING)
        fprintf(stderr, "nothing is linked: do not use %s; -v prints all counts", output);
    else if (coverage->result == LINK_COMPLETE)
        fprintf(stderr, "complete: %s are linked%s", counts.text,
                coverage->n_gpu ? "" : "; the device trace has no GPU activities (ProfilerActivity.CUDA records them)");
    else
        fprintf(stderr, "partly linked: %s", counts.text);
    if (coverage->result == LINK_PARTLY && cause->n)
        fprintf(stderr, "; %s %s",
                cause->is_gpu ? counted_text(cause->n, "GPU activity is", "GPU activities are").text
                              : counted_text(cause->n, "CPU operator is", "CPU operators are").text,
                cause->text);
    fputc('\n', stderr);
}

/* ---- Measured times of .et files ---- */

const char *const faithful_gpus[] = {"one", "streams", NULL};

bool faithful_is_requested(const struct faithful_values *values) {
    return values->gpu == GPU_STREAMS || values->min_idle_us;
}

int faithful_check(struct faithful_values *values) {
    struct sutra_faithful_options *options = &values->options;
    options->gpu_streams = values->gpu == GPU_STREAMS;
    if (!values->min_idle_us)
        return SUTRA_OK;
    char *end;
    options->min_gap_us = strtod(values->min_idle_us, &end);
    if (options->min_gap_us == 0) /* 0 would select the default */
        options->min_gap_us = 1e-9;
    if (end == values->min_idle_us || *end)
        return message_fail(SUTRA_USAGE, "--min-idle-us: '%s' is not a number of microseconds", values->min_idle_us);
    return SUTRA_OK;
}

void faithful_summary_print(const struct sutra_faithful_report *report) {
    const struct summary_row rows[] = {
        {report->n_nodes, "nodes in the file", true},
        {report->n_gaps, "  gaps without recorded work", false},
        {report->n_launch_cuts, "  second parts of operators split at a launch", false},
        {report->n_parts, "  parts of kernels that shared the GPU", false},
        {report->n_waits, "synchronizing calls with kernels to wait for", true},
        {report->n_calls_without_kernel, "synchronizing calls without kernels to wait for", false},
        {report->n_blocking_copies, "blocking memcpy calls", false},
        {report->n_pageable_copies, "blocking memcpy calls with pageable memory", false},
        {report->n_orders, "kernels that wait for another stream's event", false},
        {report->n_inferred, "kernels inferred to wait for a kernel of another stream that ended just before", false},
        {report->n_clocked, "kernels started by CPU time, because the cause of their wait is unknown", false},
        {report->n_works, "kernels with known operations and bytes", false},
        {report->n_late, "kernels that start late for an unknown reason", false},
    };
    fprintf(stderr, "sutra: %s simulated,", time_text(report->simulated_us).text);
    fprintf(stderr, " %s measured\n", time_text(report->measured_us).text);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (report->n_late)
        fprintf(stderr, "                  late by %s in total\n", time_text(report->late_us).text);
}

void faithful_warn(const struct sutra_faithful_report *report) {
    if (report->n_never_ran)
        message_warn("%s of the file can never run: internal error, please report it",
                     counted_text(report->n_never_ran, "node", "nodes").text);
    if (!report->departs)
        return;
    struct figure simulated = time_text(report->simulated_us), measured = time_text(report->measured_us);
    message_warn("simulated time %s differs from measured time %s: first at node %" PRIu64 ", which starts %s off",
                 simulated.text, measured.text, report->departs_id, time_text(report->departs_us).text);
}
