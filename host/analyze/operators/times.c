/*
 * times.c - when events began and ended, in ticks.
 *
 * By our rules a tick is a nanosecond. Starts of traces that count from 1970 are doubles with steps of a quarter of a
 * microsecond, so where there are such the texts of starts are read again, which are exact.
 *
 * The reference adds doubles of microseconds. The ends of its intervals are rounded, but differences of neighbouring
 * times and their sums then are multiples of one small power of two, and so exact. With ticks of such a power, as small
 * as 62 bits allow, integers give what its doubles give.
 */
#include <math.h>

#include "analyze/operators/reading.h"

/* Bits of ticks, so that differences of two times fit 64. */
#define TICK_BITS 61

static uint32_t category_of(const struct op_reading *reading, row_t event) {
    return category_roles(reading->events, reading->roles, event);
}

/* The largest time, for the unit. */
static double largest_time(const struct op_reading *reading) {
    const struct device_events *events = reading->events;
    double largest = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_of(reading, event)))
            continue;
        double us = number_as_double(number_at(events->ts, event)),
               dur = number_as_double(number_at(events->dur, event));
        if (us_are_sound(us) && us_are_sound(dur) && fabs(us) + fabs(dur) > largest)
            largest = fabs(us) + fabs(dur);
    }
    return largest;
}

enum sutra_status op_times_prepare(struct sutra_context *context, struct op_reading *reading, struct arena *scratch,
                                   struct exact_times *times, struct sutra_error *error) {
    int exponent;
    *times = (struct exact_times){0};
    reading->ticks_per_us = NS_PER_US;
    if (!(reading->rules & READING_REFERENCE))
        return exact_times_find(context, reading->trace, reading->roles, scratch, times, error);
    frexp(largest_time(reading), &exponent);
    reading->ticks_per_us = ldexp(1, TICK_BITS - (exponent > 0 ? exponent : 0));
    return SUTRA_OK;
}
