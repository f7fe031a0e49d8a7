/*
 * operator_tables.h - what charges come to, in groups: by name, arguments, category, path.
 */
#ifndef ANALYZE_OPERATORS_OPERATOR_TABLES_H
#define ANALYZE_OPERATORS_OPERATOR_TABLES_H

#include "analyze/launches/busy.h"
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

/* Where the reference's table has the whole time. */
#define TIMELINE_TOTAL 5

#endif
