/*
 * times.c - implements times.h.
 */
#include <math.h>

#include "facts/times.h"
#include "text/numbers.h"

/* Microseconds from which the spacing of doubles exceeds a nanosecond. */
#define US_COARSE 0x1p43

static bool is_coarse(const struct device_events *events, row_t event) {
    struct number ts = number_at(events->ts, event);
    return number_is_double(ts) && fabs(number_as_double(ts)) >= US_COARSE;
}

enum sutra_status exact_times_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const struct string_roles *roles, struct arena *scratch, struct exact_times *times,
                                   struct sutra_error *error) {
    static const struct requested_field field = {"ts", ASK_PLACE, true};
    const struct device_events *events = &trace->events;
    struct arena_mark mark = arena_mark(scratch);
    row_t *coarse = arena_alloc(scratch, events->n, sizeof *coarse), n = 0;
    struct requested_column column = {0};
    TRY(arena_status(scratch, error));
    for (row_t event = 0; event < events->n; event++)
        if (is_coarse(events, event) && (!roles || category_roles(events, roles, event)))
            coarse[n++] = event;
    if (n)
        TRY(event_columns_request(context, trace, &field, 1, coarse, n, &column, error));
    times->text = n ? column.place : NULL;
    arena_release(scratch, mark);
    return SUTRA_OK;
}

int64_t exact_start_of_text(const struct sutra_device_trace *trace, const struct exact_times *times, row_t event) {
    int64_t ns;
    size_t length;
    if (is_coarse(&trace->events, event)) {
        const char *text = trace->document.source.bytes + times->text[event].at;
        text += *text == '"';
        if (number_scan(text, &length) != NUMBER_FORM_BAD && decimal_ns(text, length, &ns))
            return ns;
    }
    return ns_of_us(number_at(trace->events.ts, event));
}

enum sutra_status threads_number(const struct device_events *events, const row_t *rows, row_t n,
                                 const struct engine *engine, struct arena *scratch, struct key_index *first,
                                 uint32_t *numbers, uint32_t *n_threads, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    value_key *tids = arena_alloc(scratch, n, sizeof *tids);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        tids[i] = events->tid[rows[i]];
    TRY(key_index_build(first, engine, tids, n, KEY_FIRST, NULL, error));
    *n_threads = key_index_number(first, tids, n, numbers);
    arena_release(scratch, mark);
    return SUTRA_OK;
}

struct time_column_properties times_inspect(const struct device_events *events) {
    struct time_column_properties forms = {0};
    for (row_t event = 0; event < events->n; event++) {
        forms.start_missing |= !(events->flags[event] & EVENT_HAS_TS);
        forms.dur_missing |= !(events->flags[event] & EVENT_HAS_DUR);
        forms.start_real |= events->ts.kind[event] == NUMBER_DOUBLE;
        forms.dur_real |= events->dur.kind[event] == NUMBER_DOUBLE;
    }
    return forms;
}

/* False for infinities and NaN. */
static bool is_within(double value, double limit) {
    return fabs(value) <= limit;
}

enum time_state time_read(const struct device_events *events, row_t event, const struct time_rules *rules,
                          struct event_time *time) {
    if (!(events->flags[event] & EVENT_HAS_DUR) || (rules->skips_unusable && events->flags[event] & EVENT_UNUSABLE))
        return TIME_NO_DURATION;
    if (!(events->flags[event] & EVENT_HAS_TS))
        return TIME_NO_START;
    struct number ts = number_at(events->ts, event);
    struct number dur = number_at(rules->skips_unusable ? events->usable_dur : events->dur, event);
    double start = number_as_double(ts), length = number_as_double(dur);
    if (!is_within(start, rules->max_start) || !is_within(length, rules->max_dur))
        return TIME_TOO_LARGE;
    *time = (struct event_time){ts, dur};
    if (rules->whole) {
        time->start = number_is_double(ts) ? number_integer((int64_t)ceil(start)) : ts;
        time->dur = number_double(floor(start + length) - ceil(start));
    }
    return TIME_KNOWN;
}

int64_t times_shift(int64_t *start, const row_t *rows, row_t n) {
    int64_t first = n ? start[rows[0]] : 0;
    for (row_t i = 0; i < n; i++)
        if (start[rows[i]] < first)
            first = start[rows[i]];
    for (row_t i = 0; i < n; i++)
        start[rows[i]] -= first;
    return first;
}
