/*
 * timeline.c - the work of each class merged, and swept over together. O(n) on rows in order of time.
 */
#include "analyze/operators/timeline.h"

#include "base/error.h"
#include "match/engine.h"

/* Work by start, with its class as a segment. */
struct class_intervals {
    row_t n;
    int64_t *start, *end;
    uint32_t *class;
};

static void take_intervals(const struct op_reading *reading, const uint8_t *counts, struct class_intervals *intervals) {
    const struct device_rows *devices = &reading->devices;
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k];
        if (devices->class[i] == DEVICE_NO_WORK || (counts && !counts[i]))
            continue;
        intervals->start[intervals->n] = devices->start[i];
        intervals->end[intervals->n] = devices->stop[i];
        intervals->class[intervals->n++] = devices->class[i];
    }
}

static int64_t total_of(const struct class_intervals *intervals) {
    int64_t last = intervals->n ? intervals->end[0] : 0;
    for (row_t i = 0; i < intervals->n; i++)
        last = intervals->end[i] > last ? intervals->end[i] : last;
    return intervals->n ? last - intervals->start[0] : 0;
}

/* Time of the states that have a class of `with` and none of `without`. */
static int64_t time_of(const struct interval_states *states, int with, int without) {
    wide_t sum = 0;
    for (int state = 1; state < N_STATES; state++)
        if (state & with && !(state & without))
            sum += states->exact[state];
    return (int64_t)sum;
}

enum sutra_status timeline_measure(const struct op_reading *reading, const uint8_t *counts, const struct engine *engine,
                                   struct arena *scratch, struct timeline_times *times, struct sutra_error *error) {
    enum { COMPUTE = 1 << DEVICE_COMPUTE, COMMUNICATION = 1 << DEVICE_COMMUNICATION, COPY = 1 << DEVICE_COPY };
    struct arena_mark mark = arena_mark(scratch);
    row_t n = reading->devices.n;
    struct class_intervals intervals = {.start = arena_take(scratch, n, sizeof(int64_t)),
                                        .end = arena_take(scratch, n, sizeof(int64_t)),
                                        .class = arena_take(scratch, n, sizeof(uint32_t))};
    struct merged merged = {0};
    struct interval_states states = {0};
    enum sutra_status status = arena_status(scratch, error);
    if (!status)
        take_intervals(reading, counts, &intervals);
    struct merge_intervals_step merge = {intervals.start, intervals.end,    intervals.class,
                                         intervals.n,     DEVICE_N_CLASSES, &merged};
    if (!status)
        status = engine->merge_intervals(engine->state, &merge, error);
    struct interval_states_step sweep = {&merged, DEVICE_N_CLASSES, 1, &states};
    if (!status)
        status = engine->interval_states(engine->state, &sweep, error);
    *times = (struct timeline_times){.compute = time_of(&states, COMPUTE, 0),
                                     .exposed_communication = time_of(&states, COMMUNICATION, COMPUTE),
                                     .exposed_copies = time_of(&states, COPY, COMPUTE | COMMUNICATION),
                                     .busy = time_of(&states, COMPUTE | COMMUNICATION | COPY, 0),
                                     .communication = time_of(&states, COMMUNICATION, 0),
                                     .copies = time_of(&states, COPY, 0),
                                     .total = total_of(&intervals)};
    times->idle = times->total - times->busy;
    merged_free(&merged);
    arena_release(scratch, mark);
    return status;
}
