/*
 * charge_sums.h - what charges come to, in groups: by name, arguments, category, path.
 */
#ifndef ANALYZE_OPERATORS_CHARGE_SUMS_H
#define ANALYZE_OPERATORS_CHARGE_SUMS_H

#include "analyze/operators/tables.h"

/* Of a group; ticks. */
struct charge_sum {
    row_t launchers;        /* operators and calls that work is charged to, */
    uint64_t works;         /* and pieces of work */
    wide_t device;          /* their durations, added up */
    wide_t direct, subtree; /* for how long work ran, of each launcher */
    int64_t least, most;    /* direct time of a launcher */
};

/* sums[group of charge i] takes in charge i; groups are those of `of`, below n_groups. */
enum sutra_status charge_sums_make(const struct op_reading *reading, const uint32_t *of, uint32_t n_groups,
                                   struct arena *arena, struct charge_sum **sums, struct sutra_error *error);

/* order[] = groups by falling device time, equal ones by rising number. */
enum sutra_status charge_sums_order(const struct charge_sum *sums, uint32_t n, struct arena *arena, uint32_t **order,
                                    struct sutra_error *error);

/* The durations of all work: charged or not. */
wide_t op_reading_device_time(const struct op_reading *reading);

#endif
