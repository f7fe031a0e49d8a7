/*
 * timeline.h - what the device did all the time: computation, communication and copies, and which of them hid others.
 */
#ifndef ANALYZE_OPERATORS_TIMELINE_H
#define ANALYZE_OPERATORS_TIMELINE_H

#include "analyze/operators/reading.h"

/* Ticks. compute + exposed communication + exposed copies + idle = total. */
struct timeline_times {
    int64_t compute;               /* any computation runs */
    int64_t exposed_communication; /* communication without computation */
    int64_t exposed_copies;        /* copies without either */
    int64_t busy, idle, total;     /* total: from the first start to the last end */
    int64_t communication, copies; /* beside others or not */
};

/* Where the reference's table has the whole time. */
#define TIMELINE_TOTAL 5

/* Of the work that `counts` has a mark for (NULL: of all). */
enum sutra_status timeline_measure(const struct op_reading *reading, const uint8_t *counts, const struct engine *engine,
                                   struct arena *scratch, struct timeline_times *times, struct sutra_error *error);

#endif
