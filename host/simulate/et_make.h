/*
 * et_make.h - from the graph to the columns of an .et file: the kept nodes by rising id, with their attributes.
 *
 * Columns of all nodes take as much memory as the graph and what it is made of, so a writer asks for some at a time.
 */
#ifndef SIMULATE_ET_MAKE_H
#define SIMULATE_ET_MAKE_H

#include "simulate/comm_ends.h"
#include "simulate/et_nodes.h"
#include "simulate/kernel_work.h"
#include "simulate/node_graph.h"

/* What is written. */
struct et_rules {
    bool start_times;                 /* write when nodes start */
    const struct comm_groups *groups; /* numbers of process groups; NULL: they keep their names */
    const struct comm_ends *ends;     /* of sends and receives; NULL: they do not tell them */
    const struct kernel_work *work;   /* of kernels; NULL: they do not tell it */
};

/* Makes nodes of what is kept of the graph, any of them at a time. */
struct et_maker {
    const struct node_graph *graph;
    struct et_rules rules;
    row_t *slot; /* of each node, by rising id */
    row_t n;
};

/* Puts the nodes in order; the list lies in the arena. O(n log n) where ids do not rise. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status et_maker_begin(struct et_maker *maker, struct arena *arena, const struct node_graph *graph,
                                 const struct et_rules *rules, struct sutra_error *error);

/* Fills `nodes`, which know the names of attributes, with the nodes from `first` up to `end`. Their texts lie where
 * those of ET+ do. The pool's threads help; without one (NULL) the caller works alone. O(nodes + attributes). */
enum sutra_status et_maker_fill(const struct et_maker *maker, row_t first, row_t end, struct et_nodes *nodes,
                                struct pool *pool, struct sutra_error *error);

#endif
