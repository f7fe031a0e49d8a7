/*
 * fuzz_host_trace.c - fuzzes the reader of host traces: the input is read, or rejected with an error.
 */
#include "../plain_nodes.h"
#include "fuzz.h"
#include "fuzz_trace.h"

/* The rows equal the rows of nodes parsed alone, also for one part, or the error is the same. */
static void check_rows(struct sutra_context *context, const struct sutra_host_trace *trace, enum sutra_status status,
                       const struct sutra_error *error, const uint8_t *data, size_t size) {
    struct sutra_context *alone = new_context(1);
    struct sutra_host_trace *whole = NULL;
    struct sutra_error why = {0};
    check(sutra_host_trace_parse(alone, "host", data, size, &whole, &why) == status, "parts change no outcome");
    check(!status || (strcmp(why.message, error->message) == 0 && why.offset == error->offset), "nor what is told");
    check(!trace || whole->nodes.n == trace->nodes.n, "nor how many there are");
    for (row_t row = 0; trace && row < trace->nodes.n; row++) {
        const char *what = node_difference(context, trace, row);
        check(!what, what);
    }
    sutra_host_trace_free(whole);
    sutra_context_free(alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(2);
    context->part_bytes = 40;
    struct sutra_host_trace *trace = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_host_trace_parse(context, "host", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    check_rows(context, trace, status, &error, data, size);
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
