/*
 * thread_order.h - the order between threads on a part of the operators, with what it must know of those before.
 */
#ifndef CUDA_THREAD_ORDER_H
#define CUDA_THREAD_ORDER_H

#include "cuda/gpu.h"

/* What a part of a table must know of the rows before it, and gives to the next part. Starts differ between parts. */
struct order_carry {
    row_t n_rows; /* before this part */
    struct begun begun;
    struct number_column ts, dur; /* by thread: of its last operator */
    row_t *before;                /* by thread: the answer of its last group */
    uint8_t *seen;                /* by thread: 1 where it had an operator */
};

struct order_part {
    struct thread_order_step step; /* on this part's operators */
    struct order_carry *carry;     /* NULL: the table is whole; else its `begun` is brought forward */
};

/* A step for gpu_run(). */
void gpu_order_part(struct gpu *gpu, struct order_part *part);

#endif
