/*
 * busy.h - GPU busy time by class: the intervals in which activities of each class run, merged, and their overlap.
 *
 *     compute          [=====]        [==]             class 0   [=====]        [==]
 *     communication        [========]                  class 1       [========]
 *     memcpy           [=] [=]                [==]     class 2   [=] [=]                [==]
 *                                                      exposed       |..com...|         |copy|
 *
 * Input: the GPU activities of a launch model, ascending by start. Cost: O(n).
 */
#ifndef ANALYZE_LAUNCHES_BUSY_H
#define ANALYZE_LAUNCHES_BUSY_H

#include "analyze/launches/launches.h"
#include "match/intervals.h"

/* Merges the intervals of each class, clipped to [from, to). classes[i], below DEVICE_N_CLASSES, is the class of row i
 * of devices; DEVICE_NO_WORK, and rows without a mark in `counts` (NULL: all rows count), are skipped. The result needs
 * merged_free(). SUTRA_SYSTEM: out of memory. */
enum sutra_status merge_busy_intervals(const struct launch_model *model, const uint8_t *classes, const uint8_t *counts,
                                       int64_t from, int64_t to, const struct engine *engine, struct arena *scratch,
                                       struct merged *merged, struct sutra_error *error);

/* Ticks. compute + exposed communication + exposed copies + idle = total. */
struct busy_times {
    int64_t compute;               /* computation runs */
    int64_t exposed_communication; /* communication without computation */
    int64_t exposed_copies;        /* memcpy without either */
    int64_t busy, idle, total;     /* total: from the first start to the last end */
    int64_t communication, copies; /* overlapped or not */
};

/* Measures the activities that have a mark in `counts` (NULL: all), by the classes of devices. */
enum sutra_status measure_busy_times(const struct launch_model *model, const uint8_t *counts,
                                     const struct engine *engine, struct arena *scratch, struct busy_times *times,
                                     struct sutra_error *error);

#endif
