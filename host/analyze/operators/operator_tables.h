/*
 * operator_tables.h - what charges come to, in groups: by name, arguments, category, path.
 */
#ifndef ANALYZE_OPERATORS_OPERATOR_TABLES_H
#define ANALYZE_OPERATORS_OPERATOR_TABLES_H

#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"

/* Of a group; ticks. */
struct charge_sum {
    row_t launchers;        /* operators and calls that work is charged to, */
    uint64_t works;         /* and pieces of work */
    wide_t device;          /* their durations, added up */
    wide_t direct, subtree; /* for how long work ran, of each launcher */
    int64_t least, most;    /* direct time of a launcher */
};

/* The durations of all work: charged or not. */
wide_t op_reading_device_time(const struct op_reading *reading);

/*
 * What the device did all the time: computation, communication and copies, and which of them hid others.
 */

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
