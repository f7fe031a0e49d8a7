/*
 * slowness.h - how much longer each rank of a job computes than the others.
 *
 *     rank 0   sgemm 100 us  relu 20 us          GPU: a rank's time for all of its kernels, over the time that they would
 *     rank 1   sgemm 130 us  relu 26 us   1.3    take on the median rank, name by name
 *     rank 2   sgemm 101 us  relu 20 us
 *
 * Kernels that one rank alone has say nothing, so stages that do different things are not compared. Nodes of processors
 * are cut in many ways, so their whole time counts, for each kernel that they launch. Of an even number the faster one
 * in the middle is the median: of two ranks the slower one is the straggler. Cost: O(n log n).
 */
#ifndef SIMULATE_SLOWNESS_H
#define SIMULATE_SLOWNESS_H

#include "simulate/rank_graph.h"

struct rank_slowness {
    double cpu, gpu; /* 1: as the median rank */
};

/* A rank so much slower than the median is a straggler. */
#define STRAGGLER_SLOWNESS 1.05

/* Fills slowness[0..n-1]. SUTRA_SYSTEM: out of memory. */
enum sutra_status slowness_find(const struct rank_graph *graphs, uint32_t n, struct rank_slowness *slowness,
                                struct sutra_error *error);

/* Lets stragglers compute as the median rank: run_ns[r][i] of their computation, and of their processor. */
void slowness_even(const struct rank_graph *graphs, uint32_t n, const struct rank_slowness *slowness,
                   double *const *run_ns);

#endif
