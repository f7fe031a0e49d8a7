/*
 * fuzz_host_trace.c - the input as a host trace: it is read or refused with a reason.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(2);
    struct sutra_host_trace *trace = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_host_trace_parse(context, "host", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    if (trace) {
        struct sutra_host_summary summary = {.size = sizeof summary};
        sutra_host_trace_summary(trace, &summary);
        check(summary.n_rf_ids <= summary.n_nodes && summary.n_roots <= summary.n_nodes,
              "no more of a kind than nodes");
        check(summary.schema, "a schema is a string");
        sutra_host_trace_free(trace);
    }
    sutra_context_free(context);
    return 0;
}
