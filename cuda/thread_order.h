/*
 * thread_order.h - order between threads for a part of the operators, with the state of the preceding parts.
 */
#ifndef CUDA_THREAD_ORDER_H
#define CUDA_THREAD_ORDER_H

#include "cuda/gpu.h"

/* State of all preceding rows, passed from part to part. A part boundary never separates equal starts. */
struct order_carry {
    row_t n_rows; /* number of preceding rows */
    struct begun begun;
    struct number_column ts, dur; /* by thread: of its last operator */
    row_t *before;                /* by thread: result of its last group */
    uint8_t *seen;                /* by thread: 1 if it had an operator */
};

struct order_part {
    struct thread_order_step step; /* for the operators of this part */
    struct order_carry *carry;     /* NULL: the table is complete; else its `begun` is updated */
};

/* A step for gpu_run(). */
void gpu_order_part(struct gpu *gpu, struct order_part *part);

#endif
