/*
 * fuzz_columns.c - fuzzes Arrow columns: the input is a device trace and a host trace. Columns, including members of
 * args, must match their schema and stay valid after the trace and its context are freed.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

#include "../arrow_check.h"

static const char *const device_args[] = {"a", "b", "device", "kind"};
static const char *const device_names[] = {"tid_text", "ts", "external_id_text", "name"};
static const char *const host_args[] = {"rf_id", "a", "tid"};
static const char *const host_names[] = {"parent_text", "id", "id_text"};

#define LIST(list) list, sizeof list / sizeof *list

static void check_stream(struct ArrowArrayStream *stream) {
    struct arrow_table table;
    const char *wrong = arrow_take(stream, &table);
    check(!wrong, wrong ? wrong : "");
    wrong = arrow_wrong(&table);
    check(!wrong, wrong ? wrong : "");
    arrow_free(&table);
}

static void try_device(const uint8_t *data, size_t size, const struct sutra_columns_options *options) {
    struct sutra_context *context = new_context(2);
    struct sutra_device_trace *trace = NULL;
    struct ArrowArrayStream stream = {0};
    struct sutra_error error;
    enum sutra_status status = sutra_device_trace_parse(context, "device", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    if (trace) {
        status = sutra_device_trace_arrow(context, trace, options, &stream, &error);
        check_outcome(status, &error, stream.private_data);
    }
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    if (stream.release)
        check_stream(&stream);
}

static void try_host(const uint8_t *data, size_t size, const struct sutra_columns_options *options) {
    struct sutra_context *context = new_context(2);
    struct sutra_host_trace *trace = NULL;
    struct ArrowArrayStream stream = {0};
    struct sutra_error error;
    enum sutra_status status = sutra_host_trace_parse(context, "host", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    if (trace) {
        status = sutra_host_trace_arrow(context, trace, options, &stream, &error);
        check_outcome(status, &error, stream.private_data);
    }
    sutra_host_trace_free(trace);
    sutra_context_free(context);
    if (stream.release)
        check_stream(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct sutra_columns_options device = {sizeof device, NULL, 0, LIST(device_args)};
    const struct sutra_columns_options device_some = {sizeof device, LIST(device_names), NULL, 0};
    const struct sutra_columns_options host = {sizeof host, NULL, 0, LIST(host_args)};
    const struct sutra_columns_options host_some = {sizeof host, LIST(host_names), NULL, 0};
    try_device(data, size, &device);
    try_device(data, size, &device_some);
    try_host(data, size, &host);
    try_host(data, size, &host_some);
    return 0;
}
