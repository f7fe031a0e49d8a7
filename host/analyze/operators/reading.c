/*
 * reading.c - the parts of a reading, one after the other.
 */
#include "analyze/operators/reading.h"
#include "text/counted.h"

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
        status = event_lists_make(reading, scratch, &lists, error);
    if (!status)
        status = host_rows_make(context, reading, &times, &lists, arena, scratch, error);
    if (!status)
        status = device_rows_make(reading, &times, &lists, arena, scratch, error);
    if (!status)
        status = call_links_find(context, reading, &lists, arena, scratch, error);
    if (!status)
        reading->n_untimed =
            (uint64_t)lists.n_endless + (lists.n_host - reading->hosts.n) + (lists.n_device - reading->devices.n);
    arena_release(scratch, mark);
    return status ? status : op_charges_make(reading, arena, scratch, error);
}

void op_reading_warn(struct sutra_context *context, const struct op_reading *reading) {
    if (reading->n_untimed)
        context_warn(context, "%s no start, no duration or one below 0, or times that are too large: left out",
                     counted_text(reading->n_untimed, "event has", "events have").text);
}
