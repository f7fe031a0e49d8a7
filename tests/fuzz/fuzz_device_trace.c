/*
 * fuzz_device_trace.c - fuzzes the reader of device traces: the input is read and summarized, or rejected with an
 * error; the critical path by full rules has no gaps.
 */
#include "../plain_events.h"
#include "fuzz.h"
#include "fuzz_trace.h"

static void check_summary(const struct sutra_device_summary *summary) {
    uint64_t n = summary->n_cpu_ops + summary->n_launches + summary->n_gpu_ops + summary->n_arrows + summary->n_others;
    check(n == summary->n_events, "each event is of one class");
    n = 0;
    for (uint64_t i = 0; i < summary->n_categories; i++) {
        check(summary->categories[i].name, "a category has a name");
        check(i == 0 || summary->categories[i].count <= summary->categories[i - 1].count, "the most frequent first");
        n += summary->categories[i].count;
    }
    check(n <= summary->n_events, "an event has one category at most");
}

static void check_full_path(struct sutra_context *context, const struct sutra_device_trace *trace) {
    struct sutra_full_report report = {.size = sizeof report};
    struct sutra_full_path *path = NULL;
    struct sutra_error error = {0};
    double sum = 0;
    enum sutra_status status = sutra_full_path_find(context, trace, NULL, &path, &error);
    check_outcome(status, &error, path);
    if (!path)
        return;
    sutra_full_path_report(path, &report);
    for (uint64_t i = 0; i < report.n_shares; i++)
        sum += report.shares[i].us;
    check(sum >= report.us * 0.999999 && sum <= report.us * 1.000001, "each moment is of one kind");
    sutra_full_path_free(path);
}

/* The rows equal a plain walk's, also for one part, or the error is the same. */
static void check_rows(struct sutra_context *context, const struct sutra_device_trace *trace, enum sutra_status status,
                       const struct sutra_error *error, const uint8_t *data, size_t size) {
    struct sutra_context *alone = new_context(1);
    struct sutra_device_trace *whole = NULL;
    struct sutra_error why = {0};
    check(sutra_device_trace_parse(alone, "device", data, size, &whole, &why) == status, "parts change no outcome");
    check(!status || (strcmp(why.message, error->message) == 0 && why.offset == error->offset), "nor what is told");
    for (row_t row = 0; trace && row < trace->events.n; row++) {
        const char *what = plain_difference(context, trace, row);
        check(!what, what);
    }
    if (trace) {
        check(plain_ahead(context, trace), "what is read ahead is what a walk finds");
        check(whole->events.n == trace->events.n && whole->strings.n == trace->strings.n, "nor how many there are");
        check(whole->n_fields_dropped == trace->n_fields_dropped, "nor what is dropped");
    }
    sutra_device_trace_free(whole);
    sutra_context_free(alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(2);
    context->part_bytes = 40;
    context->keep_offsets = true;
    context->prefetch_columns = PREFETCH_ALL;
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_device_trace_parse(context, "device", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    check_rows(context, trace, status, &error, data, size);
    if (trace) {
        struct sutra_device_summary summary = {.size = sizeof summary};
        status = sutra_device_trace_summary(context, trace, &summary, &error);
        check_outcome(status, &error, status ? NULL : trace);
        if (status == SUTRA_OK)
            check_summary(&summary);
        check_full_path(context, trace);
        sutra_device_trace_free(trace);
    }
    sutra_context_free(context);
    return 0;
}
