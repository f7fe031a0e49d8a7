/*
 * times.c - looking at the times of a trace, and rounding one of them.
 */
#include "facts/times.h"

#include <math.h>

struct time_forms times_look(const struct device_events *events) {
    struct time_forms forms = {0};
    for (row_t event = 0; event < events->n; event++) {
        forms.start_missing |= !(events->flags[event] & EVENT_HAS_TS);
        forms.dur_missing |= !(events->flags[event] & EVENT_HAS_DUR);
        forms.start_real |= events->ts.kind[event] == NUMBER_DOUBLE;
        forms.dur_real |= events->dur.kind[event] == NUMBER_DOUBLE;
    }
    return forms;
}

/* Not so for infinities and NaN. */
static bool is_within(double value, double most) {
    return fabs(value) <= most;
}

enum time_state time_read(const struct device_events *events, row_t event, const struct time_rules *rules,
                          struct event_time *time) {
    if (!(events->flags[event] & EVENT_HAS_DUR))
        return TIME_NO_DURATION;
    if (!(events->flags[event] & EVENT_HAS_TS))
        return TIME_NO_START;
    struct number ts = number_at(events->ts, event), dur = number_at(events->dur, event);
    double start = number_as_double(ts), length = number_as_double(dur);
    if (!is_within(start, rules->start_most) || !is_within(length, rules->dur_most))
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
