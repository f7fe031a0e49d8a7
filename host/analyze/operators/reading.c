/*
 * reading.c - the parts of a reading, one after the other; rows of the device, and by our rules the events of their
 * calls, beside those of the host.
 */
#include "analyze/operators/reading.h"

#include "base/aside.h"
#include "base/error.h"

/* Rows of the device, which have their columns. */
struct device_making {
    struct sutra_context *context;
    struct op_reading *reading;
    const struct exact_times *times;
    struct event_lists *lists;
    struct arena scratch;
    enum sutra_status status;
    struct sutra_error error;
};

static void make_devices(void *arg) {
    struct device_making *making = arg;
    event_lists_device(making->reading, making->lists);
    making->status = device_rows_fill(making->reading, making->times, making->lists, &making->scratch, &making->error);
    if (!making->status && !(making->reading->rules & READING_REFERENCE))
        making->status = call_events_find(making->context, making->reading, making->times, making->lists,
                                          &making->scratch, &making->error);
    arena_free(&making->scratch);
}

/* Those of the host and those of the device, beside each other where the engine is the processor. */
static enum sutra_status make_rows(struct sutra_context *context, struct op_reading *reading,
                                   const struct exact_times *times, struct event_lists *lists, struct arena *arena,
                                   struct arena *scratch, struct sutra_error *error) {
    struct device_making making = {.context = context, .reading = reading, .times = times, .lists = lists};
    struct aside devices;
    enum sutra_status status = device_rows_take(reading, arena, error);
    if (status)
        return status;
    aside_begin(&devices, context->engine.concurrent && pool_threads(context->pool) > 1, make_devices, &making);
    event_lists_host(reading, lists);
    status = host_rows_make(context, reading, times, lists, arena, scratch, error);
    aside_end(&devices);
    return status ? status : error_hand_on(error, making.status, &making.error);
}

enum sutra_status op_reading_make(struct sutra_context *context, const struct sutra_device_trace *trace, unsigned rules,
                                  struct arena *arena, struct arena *scratch, struct op_reading *reading,
                                  struct sutra_error *error) {
    struct exact_times times;
    struct event_lists lists;
    struct arena_mark mark = arena_mark(scratch);
    enum reader reader = rules & READING_REFERENCE ? READER_OPERATORS : READER_TREE;
    *reading = (struct op_reading){.trace = trace,
                                   .events = &trace->events,
                                   .strings = &trace->strings,
                                   .rules = rules,
                                   .from = INT64_MIN,
                                   .to = INT64_MAX,
                                   .roles = names_find(&trace->strings, reader, arena)};
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = op_times_prepare(context, reading, scratch, &times, error);
    if (!status)
        status = event_lists_take(reading, scratch, &lists, error);
    if (!status)
        status = make_rows(context, reading, &times, &lists, arena, scratch, error);
    if (!status)
        status = rules & READING_REFERENCE ? tracelens_links_find(context, reading, &lists, arena, scratch, error)
                                           : call_links_find(reading, arena, scratch, error);
    if (!status)
        reading->n_untimed = (uint64_t)lists.n_host_endless + (lists.n_host - reading->hosts.n) +
                             lists.n_device_endless + (lists.n_device - reading->devices.n);
    arena_release(scratch, mark);
    return status ? status : op_charges_make(reading, arena, scratch, error);
}

void op_reading_warn(struct sutra_context *context, const struct op_reading *reading) {
    untimed_warn(context, reading->n_untimed, "event has", "events have");
}
