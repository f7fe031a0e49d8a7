/*
 * times.h - when an event began and how long it took, as HTA's table of events has it.
 *
 * pandas keeps a column of numbers in one form. As soon as one start of a trace is missing or has a fraction, HTA
 * rounds all times to whole microseconds, starts up and ends down:
 *
 *     file      ts 10.2, dur 3.5      [10.2 ....... 13.7]
 *     whole     start 11, dur 2         [11 ... 13]
 */
#ifndef FACTS_TIMES_H
#define FACTS_TIMES_H

#include "columns/device_events.h"

/* What there is in the columns of a whole trace. */
struct time_forms {
    bool start_missing, start_real; /* an event has no start; one that is written as a real number */
    bool dur_missing, dur_real;     /* as well */
};

/* O(n). */
struct time_forms times_look(const struct device_events *events);

/* Whether HTA rounds the times of such a trace. */
static inline bool times_are_rounded(struct time_forms forms) {
    return forms.start_missing || forms.start_real;
}

struct time_rules {
    bool whole;                  /* rounded */
    double start_most, dur_most; /* times of a larger magnitude are of no use */
};

enum time_state { TIME_KNOWN, TIME_NO_DURATION, TIME_NO_START, TIME_TOO_LARGE };

struct event_time {
    struct number start, dur; /* microseconds */
};

/* What is known of an event's time; *time is set if all is. O(1). */
enum time_state time_read(const struct device_events *events, row_t event, const struct time_rules *rules,
                          struct event_time *time);

/* Makes the starts of rows[0..n) count from the first of them, which is returned; 0: there are none. */
int64_t times_shift(int64_t *start, const row_t *rows, row_t n);

#endif
