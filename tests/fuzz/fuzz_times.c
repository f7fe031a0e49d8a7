/*
 * fuzz_times.c - fuzzes analyses with impossible times: each byte of the input is the time of one kernel of a sound pair
 * of traces. Whatever the times, each analysis gives a result, no time range is longer than the run, and all nodes of
 * the .et file run.
 *
 *     byte % 8     0-1: as recorded    2: starts or ends days later
 *                  3: at 0, before 0, or without a start    4: without a duration, or a negative one
 *                  5: before its launch    6: runs over the next kernel of its stream    7: twice
 *     byte / 8     by how much
 */
#include <math.h>
#include <stdarg.h>

#include "analyze/overview/overview.h"
#include "base/memory.h"
#include "base/shared.h"
#include "facts/validity.h"
#include "fuzz.h"
#include "fuzz_trace.h"

#define BEGIN_US    5000000
#define INTERVAL_US 100
#define DAY_US      86400e6
#define KERNELS_MAX 64
#define STREAMS     2
#define TOLERANCE   2000 /* microseconds: an activity may precede its launch by 1000, and overlap the next one by 20 % */

enum change { AS_RECORDED = 1, DAYS_LATE, NO_START, NO_DURATION, EARLY, LONG, TWICE, N_CHANGES };

static const char attributes[] =
    "\"inputs\":{\"values\":[],\"shapes\":[],\"types\":[]},\"outputs\":{\"values\":[],\"shapes\":[],\"types\":[]},"
    "\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":%d},{\"name\":\"fw_parent\",\"type\":\"uint64\","
    "\"value\":0},{\"name\":\"seq_id\",\"type\":\"int64\",\"value\":-1},{\"name\":\"scope\",\"type\":\"uint64\","
    "\"value\":0},{\"name\":\"tid\",\"type\":\"uint64\",\"value\":1},{\"name\":\"fw_tid\",\"type\":\"uint64\","
    "\"value\":0},{\"name\":\"op_schema\",\"type\":\"string\",\"value\":\"\"}]}";

__attribute__((format(printf, 2, 3))) static void append(struct buffer *text, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    check(length >= 0 && (size_t)length < sizeof line, "a line has a limit");
    buffer_append(text, line, (size_t)length);
}

static void append_node(struct buffer *text, int id, int parent, const char *name, int rf) {
    append(text, "%s{\"id\":%d,\"name\":\"%s\",\"ctrl_deps\":%d,", id > 1 ? ",\n" : "", id, name, parent);
    append(text, attributes, rf);
}

/* The counts that the check must find. */
struct expected {
    uint64_t n_untimed, n_twice;
};

/* The change of kernel i of n. The first two of eight kernels are as recorded: if nearly all were early or late, the
 * clock would be another one. The last kernel of each stream is as recorded or days late, and if it is late, no kernel
 * of the stream is long: without a successor, a kernel may take hours. */
static enum change change_of(const uint8_t *data, int i, int n) {
    const int last = n - 1 - (n - 1 - i) % STREAMS;
    const enum change change = data[i] % N_CHANGES;
    const bool is_fixed =
        i % 8 < 2 || (i == last && change != DAYS_LATE) || (change == LONG && change_of(data, last, n) == DAYS_LATE);
    return is_fixed ? AS_RECORDED : change;
}

static void append_kernel(struct buffer *text, const uint8_t *data, int i, int n, struct expected *expected) {
    const enum change change = change_of(data, i, n);
    const unsigned amount = data[i] / N_CHANGES + 1u;
    double start = BEGIN_US + i * INTERVAL_US + 20, dur = 40;
    char ts[64] = "", length[64] = "";
    const bool has_sign = amount & 1;
    if (change == DAYS_LATE)
        *(has_sign ? &start : &dur) += DAY_US * 2 * amount;
    if (change == EARLY)
        start -= pow(2, MIN(amount, 22)); /* still after 0 */
    if (change == LONG)
        dur += pow(2, amount);
    snprintf(ts, sizeof ts, "\"ts\":%.3f,", start);
    snprintf(length, sizeof length, "\"dur\":%.3f,", dur);
    if (change == NO_START)
        snprintf(ts, sizeof ts, "%s", amount % 3 == 0 ? "" : has_sign ? "\"ts\":0," : "\"ts\":-7.5,");
    if (change == NO_DURATION)
        snprintf(length, sizeof length, "%s", has_sign ? "" : "\"dur\":-3,");
    expected->n_untimed += change == NO_START || change == NO_DURATION || change == DAYS_LATE;
    expected->n_twice += change == TWICE;
    for (int k = 0; k < (change == TWICE ? 2 : 1); k++)
        append(
            text,
            ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":%d,%s%s\"args\":{\"External id\":%d,"
            "\"device\":0,\"stream\":%d,\"correlation\":%d}}",
            7 + i % STREAMS, ts, length, i + 3, 7 + i % STREAMS, i + 1);
}

static void make_traces(const uint8_t *data, int n, struct buffer *host, struct buffer *device,
                        struct expected *expected) {
    append(host,
           "{\"schema\":\"1.1.1-chakra.0.0.4\",\"pid\":1,\"time\":\"2026-01-01 00:00:00\",\"start_ts\":1,\"nodes\":[");
    append_node(host, 1, 1, "[pytorch|profiler|execution_trace|process]", 0);
    append_node(host, 2, 1, "[pytorch|profiler|execution_trace|thread]", 0);
    append(device, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}}");
    for (int i = 0; i < n; i++) {
        append_node(host, i + 3, 2, "aten::mm", i + 1);
        append(device,
               ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":80,"
               "\"args\":{\"External id\":%d,\"Record function id\":%d}}",
               BEGIN_US + i * INTERVAL_US, i + 3, i + 1);
        append(device,
               ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,"
               "\"dur\":5,\"args\":{\"External id\":%d,\"correlation\":%d}}",
               BEGIN_US + i * INTERVAL_US + 10, i + 3, i + 1);
    }
    for (int i = 0; i < n; i++)
        append_kernel(device, data, i, n, expected);
    append(host, "]}");
    append(device, "]}");
    check(!host->failed && !device->failed, "memory");
}

static void check_overview(struct sutra_context *context, const struct sutra_device_trace *trace, double limit_us) {
    struct arena arena = {0}, scratch = {0};
    struct launch_model model;
    struct overview overview;
    struct sutra_error error;
    check(!launch_model_build(context, trace, 0, &arena, &scratch, &model, &error), "a launch model");
    check(!overview_make(context, &model, &arena, &scratch, &overview, &error), "an overview");
    check((double)overview_length(&overview) / 1000 <= limit_us, "a window that is no longer than the run");
    check(overview_busy(&overview) <= overview_length(&overview), "of which the GPU is busy at most all");
    arena_free(&arena);
    arena_free(&scratch);
}

static void check_path(struct sutra_context *context, const struct sutra_device_trace *trace, double limit_us) {
    const struct sutra_critical_path_options options = {.size = sizeof options};
    struct sutra_full_report report = {.size = sizeof report};
    struct sutra_full_path *path = NULL;
    struct sutra_error error;
    check(!sutra_full_path_find(context, trace, &options, &path, &error), "a critical path");
    sutra_full_path_report(path, &report);
    check(report.us <= limit_us && report.measured_us <= limit_us, "that is no longer than the run");
    sutra_full_path_free(path);
}

static void check_diff(struct sutra_context *context, const struct sutra_device_trace *trace, double limit_us) {
    const struct sutra_diff_options options = {.size = sizeof options};
    struct sutra_diff_summary summary = {.size = sizeof summary};
    struct sutra_diff *diff = NULL;
    struct sutra_error error;
    check(!sutra_diff_run_of(context, trace, trace, &options, &diff, &error), "a difference");
    sutra_diff_summary(diff, &summary);
    check(summary.step_us[0] <= limit_us && summary.step_us[0] == summary.step_us[1], "of equal sides");
    sutra_diff_free(diff);
}

/* Links, and simulates the .et file with measured times. */
static void check_et(struct sutra_context *context, const struct sutra_host_trace *host,
                     const struct sutra_device_trace *device, double limit_us) {
    const struct sutra_convert_options keep = {.size = sizeof keep, .keep_times = true};
    struct sutra_faithful_report report = {.size = sizeof report};
    struct sutra_linked *linked = NULL;
    struct sutra_converted *converted = NULL;
    struct sutra_error error;
    enum sutra_status status = sutra_link(context, host, device, NULL, &linked, &error);
    check_outcome(status, &error, linked);
    check(status == SUTRA_OK, "linked traces");
    check(!sutra_linked_convert(context, linked, &keep, &converted, &error), "nodes");
    check(!sutra_converted_run_faithful(context, converted, linked, NULL, &report, &error), "with measured times");
    check(report.n_never_ran == 0, "all of which run");
    check(report.simulated_us <= limit_us && report.measured_us <= limit_us, "no longer than the run");
    sutra_converted_free(converted);
    sutra_linked_free(linked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int n = size > KERNELS_MAX ? KERNELS_MAX : (int)size;
    const double limit_us = n * INTERVAL_US + TOLERANCE;
    struct buffer host_text = {0}, device_text = {0};
    struct expected expected = {0};
    struct sutra_context *context = new_context(1);
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_error error;
    if (n <= STREAMS) {
        sutra_context_free(context);
        return 0;
    }
    make_traces(data, n, &host_text, &device_text, &expected);
    check(!sutra_host_trace_parse(context, "host", host_text.bytes, host_text.length, &host, &error), "a host trace");
    check(!sutra_device_trace_parse(context, "device", device_text.bytes, device_text.length, &device, &error),
          "a device trace");
    check(device->validity->defects[DEFECT_NO_TIME].count == expected.n_untimed,
          "all kernels without a time are found");
    check(device->validity->defects[DEFECT_DUPLICATE].count == expected.n_twice, "all duplicates are found");
    check(device->validity->defects[DEFECT_DEVICE_CLOCK].count == 0, "the clocks are equal");
    check_overview(context, device, limit_us);
    check_path(context, device, limit_us);
    check_diff(context, device, limit_us);
    check_et(context, host, device, limit_us);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    sutra_context_free(context);
    buffer_free(&host_text);
    buffer_free(&device_text);
    return 0;
}
