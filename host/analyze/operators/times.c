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
#include "text/decimal_ns.h"
#include "text/number_text.h"

#define NS_PER_US 1000

/* Microseconds beyond it (some 95 years from 1970) are of no use: all sums of two times fit 64 bits as nanoseconds. */
#define US_LIMIT 3e15

/* From here on the steps of doubles are more than a nanosecond. */
#define US_COARSE 0x1p43

/* Bits of ticks, so that differences of two times fit 64. */
#define TICK_BITS 61

static bool is_within(double us) {
    return fabs(us) <= US_LIMIT; /* not so for NaN */
}

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
        if (is_within(us) && is_within(dur) && fabs(us) + fabs(dur) > largest)
            largest = fabs(us) + fabs(dur);
    }
    return largest;
}

static bool is_coarse(const struct device_events *events, row_t event) {
    struct number ts = number_at(events->ts, event);
    return number_is_double(ts) && fabs(number_as_double(ts)) >= US_COARSE;
}

/* Asks for the texts of starts that are too coarse, if there are any. */
static enum sutra_status find_texts(struct sutra_context *context, const struct op_reading *reading,
                                    struct arena *scratch, struct op_times *times, struct sutra_error *error) {
    static const struct asked_field field = {"ts", ASK_PLACE, true};
    const struct device_events *events = reading->events;
    struct arena_mark mark = arena_mark(scratch);
    row_t *coarse = arena_take(scratch, events->n, sizeof *coarse), n = 0;
    struct asked_column column = {0};
    enum sutra_status status = arena_status(scratch, error);
    for (row_t event = 0; event < events->n && !status; event++)
        if (category_of(reading, event) && is_coarse(events, event))
            coarse[n++] = event;
    if (!status && n)
        status = event_columns_ask(context, reading->trace, &field, 1, coarse, n, &column, error);
    if (!status && n)
        times->text = column.place;
    arena_release(scratch, mark);
    return status;
}

enum sutra_status op_times_prepare(struct sutra_context *context, struct op_reading *reading, struct arena *scratch,
                                   struct op_times *times, struct sutra_error *error) {
    int exponent;
    *times = (struct op_times){0};
    reading->ticks_per_us = NS_PER_US;
    if (!(reading->rules & READING_REFERENCE))
        return find_texts(context, reading, scratch, times, error);
    frexp(largest_time(reading), &exponent);
    reading->ticks_per_us = ldexp(1, TICK_BITS - (exponent > 0 ? exponent : 0));
    return SUTRA_OK;
}

/* Microseconds as nanoseconds. */
static int64_t ns_of(struct number us) {
    if (!number_is_double(us))
        return (int64_t)us.bits * NS_PER_US;
    double whole = floor(number_as_double(us));
    return (int64_t)whole * NS_PER_US + llrint((number_as_double(us) - whole) * NS_PER_US);
}

static int64_t start_ns(const struct op_reading *reading, const struct op_times *times, row_t event) {
    int64_t ns;
    size_t length;
    if (times->text && is_coarse(reading->events, event)) {
        const char *text = reading->trace->document.source.bytes + times->text[event].at;
        if (number_scan(text, &length) != NUMBER_FORM_BAD && decimal_ns(text, length, &ns))
            return ns;
    }
    return ns_of(number_at(reading->events->ts, event));
}

bool op_times_read(struct op_reading *reading, const struct op_times *times, row_t event, struct op_time *time) {
    const struct device_events *events = reading->events;
    struct number ts = number_at(events->ts, event), dur = number_at(events->dur, event);
    double us = number_as_double(ts), length = number_as_double(dur);
    if (!(events->flags[event] & EVENT_HAS_TS) || !is_within(us) || !is_within(length) || length < 0) {
        reading->n_bad_times++;
        return false;
    }
    if (reading->rules & READING_REFERENCE) {
        time->start = llrint(us * reading->ticks_per_us);
        time->stop = llrint((us + length) * reading->ticks_per_us);
    } else {
        time->start = start_ns(reading, times, event);
        time->stop = time->start + ns_of(dur);
    }
    return true;
}
