/*
 * changes.h - what-ifs: words such as "name=~gemm:0.5" that select nodes and say how long they would take.
 */
#ifndef SIMULATE_CHANGES_H
#define SIMULATE_CHANGES_H

#include "simulate/rank_graph.h"
#include "sutra/error.h"

/* How long the nodes of a job take. */
struct change_target {
    const struct rank_graph *graphs;
    const uint64_t *ranks; /* of the job */
    uint32_t n;
    const struct strings *names;
};

/* run_ns[r][i] *= the factors of all changes that select node i of rank r. SUTRA_USAGE: a change cannot be read, or
 * names an unknown rank, stream or name. Cost: O(names + nodes) for each change. */
enum sutra_status changes_apply(const struct change_target *target, const char *const *changes, size_t n,
                                double *const *run_ns, struct arena *arena, struct sutra_error *error);

#endif
