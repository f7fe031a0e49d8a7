/*
 * fuzz_merge.c - fuzzes `merge`: the input is the device trace of one of several ranks. Its events in the merged trace
 * are a trace with the same number of events, in the named processes, and differ only in the fields that merging
 * changes.
 */
#include "context/context.h"
#include "fuzz.h"
#include "fuzz_trace.h"
#include "read/device_trace.h"
#include "rewrite/merge.h"

#define POSITION 3

static struct sutra_device_trace *parse(struct sutra_context *context, const void *bytes, size_t size) {
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error = {0};
    context->keeps_processes = true; /* other pids may make other processes */
    enum sutra_status status = sutra_device_trace_parse(context, "trace", bytes, size, &trace, &error);
    check_outcome(status, &error, trace);
    return trace;
}

/* Whether both events are equal except for the fields that merging changes. */
/* Durations of B events depend on the other events of the trace. */
static bool same_event(const struct sutra_device_trace *a, row_t i, const struct sutra_device_trace *b, row_t j) {
    uint32_t x = a->events.name[i], y = b->events.name[j];
    uint8_t counts = EVENT_NAME_NO_STRING | EVENT_HAS_TS | EVENT_HAS_DUR | EVENT_HAS_TID | EVENT_HAS_NAME;
    if (a->events.begin)
        return a->events.tid[i] == b->events.tid[j] && a->events.external[i] == b->events.external[j];
    return a->events.phase[i] == b->events.phase[j] && ((a->events.flags[i] ^ b->events.flags[j]) & counts) == 0 &&
           a->events.dur.bits[i] == b->events.dur.bits[j] && a->events.tid[i] == b->events.tid[j] &&
           a->events.external[i] == b->events.external[j] &&
           same_bytes(strings_text(&a->strings, x), strings_length(&a->strings, x), strings_text(&b->strings, y),
                      strings_length(&b->strings, y));
}

/* The text of the rank in the merged trace: the kept events after the metadata. Returns their number. */
static row_t write_rank(const struct sutra_device_trace *trace, const struct merge_lanes *lanes, const uint8_t *kept,
                        struct buffer *out) {
    struct merge_changes changes = {.trace = trace, .shift_ns = -1234567, .ids = {POSITION, merge_id_bits(9)}};
    row_t n_metadata = 1;
    buffer_append(out, "{\"traceEvents\":[{\"ph\":\"M\"}", 26);
    for (uint32_t i = 0; i < lanes->n_processes; i++)
        n_metadata += lanes->processes[i].kind == MERGE_GPU ? 3 : 2;
    merge_lanes_write(lanes, trace, "rank 7", POSITION, out);
    for (row_t event = 0; event < trace->events.n; event++)
        if (kept[event]) {
            buffer_append(out, ",\n", 2);
            merge_event_write(&changes, event, merge_process_of(lanes, POSITION, event), out);
        }
    buffer_append(out, "]}", 2);
    event_forms_free(&changes.learned);
    return n_metadata;
}

static void run(struct sutra_context *context, const struct sutra_device_trace *trace) {
    struct arena arena = {0};
    struct buffer out = {0};
    struct merge_lanes lanes;
    struct sutra_error error = {0};
    uint8_t *kept = arena_alloc(&arena, trace->events.n, 1);
    memset(kept, 1, trace->events.n);
    if (!merge_lanes_find(trace, kept, &arena, &lanes, &error)) {
        row_t row = write_rank(trace, &lanes, kept, &out);
        struct sutra_device_trace *again = parse(context, out.bytes, out.length);
        check(again, "what was merged is a trace");
        for (row_t event = 0; event < trace->events.n; event++) {
            if (!kept[event])
                continue;
            check(row < again->events.n && same_event(trace, event, again, row), "an event stays what it was");
            check(again->events.pid[row] == merge_process_of(&lanes, POSITION, event), "it is in its process");
            row++;
        }
        check(row == again->events.n, "no event is new");
        sutra_device_trace_free(again);
    }
    buffer_free(&out);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context_options options = {
        .size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU, .lenient = size % 2};
    struct sutra_context *context = NULL;
    check(sutra_context_create(&options, &context, NULL) == SUTRA_OK, "a context can be made");
    context->keep_offsets = true;
    struct sutra_device_trace *trace = parse(context, data, size);
    if (trace)
        run(context, trace);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return 0;
}
