/*
 * et_make.h - makes nodes of .et files from the kept slots of the graph of ET+.
 *
 * Plain nodes have the durations and dependencies of ET+. Measured nodes replace them (measured_et.h): each has its own
 * times and dependencies, and the other fields of its plain node.
 */
#ifndef SIMULATE_ET_MAKE_H
#define SIMULATE_ET_MAKE_H

#include "simulate/communication.h"
#include "simulate/et_file.h"
#include "simulate/node_graph.h"

struct et_maker {
    const struct node_graph *graph;
    bool start_times;                 /* write start times of plain nodes */
    const struct comm_groups *groups; /* numbers of process groups; NULL: keep their names */
    const struct comm_ends *ends;     /* ranks of sends and receives; NULL: not written */
    const struct kernel_work *work;   /* operations of kernels; NULL: not written */
    row_t *slot;                      /* of each plain node, by ascending id */
    row_t n;                          /* plain nodes */
    const struct et_nodes *measured;  /* in outline, by ascending id; NULL: plain nodes are made */
    const row_t *plain;               /* the plain node of each measured node, or ROW_NONE */
};

/* Lists the plain nodes by ascending id; the list is in the arena. O(n log n) if ids do not ascend. SUTRA_SYSTEM: out
 * of memory. */
enum sutra_status et_maker_begin(struct et_maker *maker, struct arena *arena, const struct node_graph *graph,
                                 struct sutra_error *error);

/* Fills `nodes`, initialized with the names of attributes, with all plain nodes in outline: without inputs, outputs,
 * data dependencies and start times, and only with attributes that the timeline and its simulation read. Needs no
 * maker->work. */
enum sutra_status et_maker_outline(const struct et_maker *maker, struct et_nodes *nodes, struct pool *pool,
                                   struct sutra_error *error);

/* Fills `nodes`, initialized with the names of attributes, with the nodes from `first` up to `end`. Their texts are in
 * the memory of ET+, of `texts` or of the measured nodes. SUTRA_SYSTEM: out of memory. O(nodes + bytes of texts). */
enum sutra_status et_maker_fill(const struct et_maker *maker, row_t first, row_t end, struct et_plus_texts *texts,
                                struct et_nodes *nodes, struct sutra_error *error);

/* Writes the file with et_write(): the metadata and the names of attributes of `nodes`, and the nodes of the maker,
 * each piece made when it is encoded. */
enum sutra_status et_maker_write(const struct et_maker *maker, const struct et_nodes *nodes,
                                 struct sutra_context *context, const char *path, uint64_t *n_bytes,
                                 struct sutra_error *error);

#endif
