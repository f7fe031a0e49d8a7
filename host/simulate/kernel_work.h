/*
 * kernel_work.h - how many operations kernels do and bytes they move, as num_ops and tensor_size tell simulators that
 * compute times of it (ASTRA-sim's roofline model).
 *
 *     aten::linear                          known by its kernels' nearest operator above with a formula (facts/flops.h)
 *       aten::addmm [512] [141, 512] ...    0.7e9 operations, 4 MB
 *         kernel 6 us                           2/3 of them
 *         kernel 3 us                           1/3
 *
 * What an operator does is shared by the kernels whose nearest operator it is, in proportion to their durations (at
 * least a microsecond each), so that sums are the operator's. Copies compute nothing, but a node must compute something
 * to take time there: num_ops is at least 1.
 *
 * Cost: O(nodes + bytes of those operators' inputs), the latter in parallel.
 */
#ifndef SIMULATE_KERNEL_WORK_H
#define SIMULATE_KERNEL_WORK_H

#include "simulate/node_graph.h"

struct kernel_work {
    uint64_t *n_ops, *n_bytes; /* by slot of the graph; 0 bytes: not known */
    uint64_t n_known;          /* kernels */
};

/* Finds what is known of the kernels that are kept; it lies in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status kernel_work_find(struct kernel_work *work, struct arena *arena, const struct node_graph *graph,
                                   struct sutra_error *error);

/* A node's share of an amount that others share with it: what is due to it and all before it, `before` of `total`,
 * less what those got. Shares sum up to the amount. */
uint64_t work_share(uint64_t amount, uint64_t before, uint64_t own, uint64_t total);

#endif
