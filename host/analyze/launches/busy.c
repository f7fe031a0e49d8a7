/*
 * busy.c - implements busy.h.
 */
#include "analyze/launches/busy.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"

enum sutra_status merge_busy_intervals(const struct launch_model *model, const uint8_t *classes, const uint8_t *counts,
                                       int64_t from, int64_t to, const struct engine *engine, struct arena *scratch,
                                       struct merged *merged, struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);
    int64_t *start = arena_alloc(scratch, devices->n, sizeof *start),
            *end = arena_alloc(scratch, devices->n, sizeof *end);
    uint32_t *class = arena_alloc(scratch, devices->n, sizeof *class);
    row_t n = 0;
    TRY(arena_status(scratch, error));
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k];
        if (classes[i] == DEVICE_NO_WORK || (counts && !counts[i]))
            continue;
        start[n] = MAX(devices->start[i], from);
        end[n] = MIN(devices->stop[i], to);
        class[n] = classes[i];
        n += start[n] < end[n];
    }
    struct merge_intervals_step merge = {start, end, class, n, DEVICE_N_CLASSES, merged};
    TRY(engine->merge_intervals(engine->state, &merge, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* Time of the states that have a class of `with` and none of `without`. */
static int64_t sum_states(const struct interval_states *states, int with, int without) {
    wide_t sum = 0;
    for (int state = 1; state < N_STATES; state++)
        if (state & with && !(state & without))
            sum += states->exact[state];
    return (int64_t)sum;
}

enum sutra_status measure_busy_times(const struct launch_model *model, const uint8_t *counts,
                                     const struct engine *engine, struct arena *scratch, struct busy_times *times,
                                     struct sutra_error *error) {
    enum { COMPUTE = 1 << DEVICE_COMPUTE, COMMUNICATION = 1 << DEVICE_COMMUNICATION, COPY = 1 << DEVICE_COPY };
    const struct device_rows *devices = &model->devices;
    struct merged merged = {0};
    struct interval_states states = {0};
    enum sutra_status status =
        merge_busy_intervals(model, devices->class, counts, INT64_MIN, INT64_MAX, engine, scratch, &merged, error);
    struct interval_states_step sweep = {&merged, DEVICE_N_CLASSES, 1, &states};
    if (!status)
        status = engine->interval_states(engine->state, &sweep, error);
    merged_free(&merged);
    if (status)
        return status;

    /* Activities of no duration count for the first start and the last end only. */
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->class[i] == DEVICE_NO_WORK || (counts && !counts[i]))
            continue;
        first = MIN(devices->start[i], first);
        last = MAX(devices->stop[i], last);
    }
    int64_t busy = sum_states(&states, COMPUTE | COMMUNICATION | COPY, 0), total = first <= last ? last - first : 0;
    *times = (struct busy_times){.compute = sum_states(&states, COMPUTE, 0),
                                 .exposed_communication = sum_states(&states, COMMUNICATION, COMPUTE),
                                 .exposed_copies = sum_states(&states, COPY, COMPUTE | COMMUNICATION),
                                 .busy = busy,
                                 .idle = total - busy,
                                 .total = total,
                                 .communication = sum_states(&states, COMMUNICATION, 0),
                                 .copies = sum_states(&states, COPY, 0)};
    return SUTRA_OK;
}
