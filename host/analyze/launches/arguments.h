/*
 * arguments.h - what launches of kernels were given: grid, block, registers, shared memory; each kind once.
 *
 *     rows of devices --read ahead--> numbers of equal bytes --one parse for each--> kinds of launches
 */
#ifndef ANALYZE_LAUNCHES_ARGUMENTS_H
#define ANALYZE_LAUNCHES_ARGUMENTS_H

#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "facts/flops.h"
#include "facts/gpu_peaks.h"

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

/*
 * How many operations operators do and bytes they move: operators of one name with equal arguments are asked
 * for once.
 *
 *     rows of hosts --arguments--> groups of equal ones --facts/flops.h--> FLOPs, bytes, or why they are not known
 */

struct op_works {
    row_t n;
    const row_t *host; /* rows of hosts, the caller's */
    struct op_arguments arguments;
    struct op_groups groups; /* of equal names and arguments; members are places in the list */
    struct op_flops *flops;  /* by group */
};

/* Whether a row is an operator whose name has a formula; known[] is what was found of names, zeros at first. */
bool op_work_is_known(const struct op_reading *reading, row_t host, enum flops_rules rules, uint8_t *known);

/* The formula's line of a row's name, or NULL. */
const struct op_kind *op_work_kind(const struct op_reading *reading, row_t host, enum flops_rules rules);

/* `works` needs op_works_free() in any case. SUTRA_SYSTEM: out of memory. */
enum sutra_status op_works_read(struct sutra_context *context, const struct op_reading *reading, const row_t *hosts,
                                row_t n, enum flops_rules rules, struct arena *arena, struct op_works *works,
                                struct sutra_error *error);
void op_works_free(struct op_works *works);

/* Inputs of a group's operators; they live until the next call. False: out of memory. */
bool op_works_inputs(const struct op_works *works, uint32_t group, struct op_inputs_parser *parser,
                     struct op_inputs *inputs);

/* Of each of n operators the one of autograd that evaluates its gradient, by the reference's rules: a row of hosts, or
 * ROW_NONE. */
enum sutra_status tracelens_gradients(struct sutra_context *context, const struct op_reading *reading,
                                      const row_t *hosts, row_t n, struct arena *arena, row_t *gradient,
                                      struct sutra_error *error);

#endif
