/*
 * exact_times.h - when events began and ended, in nanoseconds, also where microseconds as doubles are too coarse for
 * them: there the text of the file is read again.
 */
#ifndef FACTS_EXACT_TIMES_H
#define FACTS_EXACT_TIMES_H

#include <math.h>

#include "facts/names.h"
#include "read/device_trace.h"

/* Times of a larger magnitude (some 95 years from 1970) are of no use: all sums of two fit 64 bits as nanoseconds. Not so
 * for NaN. */
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
bool exact_time_is_known(const struct device_events *events, row_t event);

/* Of such an event. */
int64_t exact_start_ns(const struct sutra_device_trace *trace, const struct exact_times *times, row_t event);

/* Microseconds as nanoseconds. */
int64_t ns_of_us(struct number us);

#endif
