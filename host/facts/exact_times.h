/*
 * exact_times.h - when events began and ended, in nanoseconds, also where microseconds as doubles are too coarse for
 * them: there the text of the file is read again.
 */
#ifndef FACTS_EXACT_TIMES_H
#define FACTS_EXACT_TIMES_H

#include <math.h>

#include "facts/names.h"
#include "read/device_trace.h"
#include "text/decimal_ns.h"

/* Doubles from here on are whole: what is added to it is rounded as llrint() does. */
#define ROUNDS_DOUBLE 0x1p52

/* Times of a larger magnitude (some 95 years from 1970) are of no use: all sums of two fit 64 bits as nanoseconds. Not
 * so for NaN. */
static inline bool us_are_sound(double us) {
    return fabs(us) <= 3e15;
}

struct exact_times {
    const struct json_place *text; /* by event: where the start stands; NULL: doubles will do */
};

/* Asks for what reading the starts of events needs, of those whose category has a role; `roles` NULL: of all. O(n), and
 * the length of events with a start that is coarse. */
enum sutra_status exact_times_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const struct string_roles *roles, struct arena *scratch, struct exact_times *times,
                                   struct sutra_error *error);

/* Whether an event has a start, a duration (0 where there is none) that is not negative, and neither is too large. */
static inline bool exact_time_is_known(const struct device_events *events, row_t event) {
    double dur = number_as_double(number_at(events->dur, event));
    return events->flags[event] & EVENT_HAS_TS && us_are_sound(number_as_double(number_at(events->ts, event))) &&
           us_are_sound(dur) && dur >= 0;
}

/* Warns of those without, if there are some: `one` or `several` of what "has" or "have" none. */
void untimed_warn(struct sutra_context *context, uint64_t n, const char *one, const char *several);

/* Microseconds that are sound as nanoseconds, of which those that lie between two are rounded to the even one. */
static inline int64_t ns_of_us(struct number us) {
    if (!number_is_double(us))
        return (int64_t)us.bits * NS_PER_US;
    double value = number_as_double(us);
    int64_t whole = (int64_t)value;
    whole -= (double)whole > value;
    return whole * NS_PER_US + (int64_t)((value - (double)whole) * NS_PER_US + ROUNDS_DOUBLE - ROUNDS_DOUBLE);
}

/* The start of an event whose time is known; of coarse ones where the text is there. */
int64_t exact_start_of_text(const struct sutra_device_trace *trace, const struct exact_times *times, row_t event);
static inline int64_t exact_start_ns(const struct sutra_device_trace *trace, const struct exact_times *times,
                                     row_t event) {
    return times->text ? exact_start_of_text(trace, times, event) : ns_of_us(number_at(trace->events.ts, event));
}

#endif
