/*
 * ways.h - the ways from the operators that work is charged to outwards: these and the operators around them, which are
 * a small part of the host's rows, numbered so that what is found out about them stands in short arrays.
 *
 *     hosts      0 linear   1 addmm   2 launch   3 relu   4 loss   5 backward   6 mm   7 launch
 *     around     -          0         1          -        -        -            5      6
 *     charges              ^ 0                                                  ^ 1
 *     ways       0          1                                      2            3           above  -  0  -  2
 *                                                                                           of_charge  1  3
 */
#ifndef ANALYZE_OPERATORS_WAYS_H
#define ANALYZE_OPERATORS_WAYS_H

#include "analyze/operators/reading.h"

struct op_ways {
    row_t n;
    row_t *host;      /* by way: its row of hosts, rising */
    row_t *above;     /* by way: that of the operator around it, which is lower, or ROW_NONE */
    row_t *of_charge; /* by charge */
};

/* By our rules; in the arena. O(hosts / 64 + ways + charges). */
enum sutra_status op_ways_make(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                               struct op_ways *ways, struct sutra_error *error);

#endif
