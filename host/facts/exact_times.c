/*
 * exact_times.c - nanoseconds from doubles, or from text.
 */
#include "facts/exact_times.h"

#include "text/counted.h"
#include "text/decimal_ns.h"
#include "text/number_text.h"

/* From here on the steps of doubles are more than a nanosecond. */
#define US_COARSE 0x1p43

static bool is_coarse(const struct device_events *events, row_t event) {
    struct number ts = number_at(events->ts, event);
    return number_is_double(ts) && fabs(number_as_double(ts)) >= US_COARSE;
}

enum sutra_status exact_times_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const struct string_roles *roles, struct arena *scratch, struct exact_times *times,
                                   struct sutra_error *error) {
    static const struct asked_field field = {"ts", ASK_PLACE, true};
    const struct device_events *events = &trace->events;
    struct arena_mark mark = arena_mark(scratch);
    row_t *coarse = arena_take(scratch, events->n, sizeof *coarse), n = 0;
    struct asked_column column = {0};
    enum sutra_status status = arena_status(scratch, error);
    for (row_t event = 0; event < events->n && !status; event++)
        if (is_coarse(events, event) && (!roles || category_roles(events, roles, event)))
            coarse[n++] = event;
    if (!status && n)
        status = event_columns_ask(context, trace, &field, 1, coarse, n, &column, error);
    if (!status)
        times->text = n ? column.place : NULL;
    arena_release(scratch, mark);
    return status;
}

void untimed_warn(struct sutra_context *context, uint64_t n, const char *one, const char *several) {
    if (n)
        context_warn(context, "%s no valid start time and duration: skipped", counted_text(n, one, several).text);
}

int64_t exact_start_of_text(const struct sutra_device_trace *trace, const struct exact_times *times, row_t event) {
    int64_t ns;
    size_t length;
    if (is_coarse(&trace->events, event)) {
        const char *text = trace->document.source.bytes + times->text[event].at;
        if (number_scan(text, &length) != NUMBER_FORM_BAD && decimal_ns(text, length, &ns))
            return ns;
    }
    return ns_of_us(number_at(trace->events.ts, event));
}
