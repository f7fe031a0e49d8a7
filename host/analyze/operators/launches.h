/*
 * launches.h - what launches of kernels were given: grid, block, registers, shared memory; each kind once.
 *
 *     rows of devices --read ahead--> numbers of equal bytes --one parse for each--> kinds of launches
 */
#ifndef ANALYZE_OPERATORS_LAUNCHES_H
#define ANALYZE_OPERATORS_LAUNCHES_H

#include "analyze/operators/reading.h"
#include "facts/occupancy.h"

struct launch_kind {
    uint32_t shape;              /* equal where all but the occupancy is, grid and block as they stand in the file */
    uint32_t grid, block;        /* texts, as Python has them; 0: "" */
    double occupancy;            /* percent, as recorded; NaN: it is not told */
    struct kernel_shape numbers; /* NaN: not told, or none */
};

struct launch_kinds {
    uint32_t *of; /* by row of devices: its kind */
    struct launch_kind *list;
    uint64_t n, capacity;
    struct strings texts;
};

/* Asks the trace for what launch_kinds_read() asks it for, which is then there. */
enum sutra_status launch_kinds_ask(struct sutra_context *context, const struct op_reading *reading,
                                   struct sutra_error *error);

/* `kinds` needs launch_kinds_free() in any case. SUTRA_SYSTEM: out of memory. */
enum sutra_status launch_kinds_read(struct sutra_context *context, const struct op_reading *reading,
                                    struct arena *arena, struct launch_kinds *kinds, struct sutra_error *error);
void launch_kinds_free(struct launch_kinds *kinds);

#endif
