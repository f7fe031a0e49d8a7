/*
 * convert.h - from the graph to the columns of an .et file: the kept nodes by rising id, with their attributes.
 *
 * Columns of all nodes take as much memory as the graph and what it is made of, so a writer asks for some at a time.
 */
#ifndef SIMULATE_CONVERT_H
#define SIMULATE_CONVERT_H

#include "link/link.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

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

/* Fills `nodes`, which know the names of attributes, with the nodes from `first` up to `end`. Their texts lie where
 * those of ET+ do. The pool's threads help; without one (NULL) the caller works alone. O(nodes + attributes). */
enum sutra_status et_maker_fill(const struct et_maker *maker, row_t first, row_t end, struct et_nodes *nodes,
                                struct pool *pool, struct sutra_error *error);

/*
 * Inside of struct sutra_converted: what protobuf nodes are made of, or the nodes as columns, and where
 * their texts lie.
 */

struct sutra_converted {
    struct document document;  /* ET+, unless it was only linked */
    struct plus_trace plus;    /* whose columns are freed when all nodes are made; its texts stay */
    struct node_graph graph;   /* until then */
    struct comm_groups groups; /* which compat leaves alone */
    struct comm_ends ends;
    struct kernel_work work;
    struct et_maker maker;
    struct et_nodes nodes; /* only the metadata, until all are made */
    bool complete;         /* they are */
    struct sutra_convert_report report;
    struct timeline_input times; /* if they are kept: in the arena */
    struct arena times_arena;
    bool has_times;
};

/* sutra_linked_convert() for the last that is done with what was linked: it is spent as soon as it is read, which with
 * `keep_times` is also what sutra_converted_run_faithful() needs. On failure it may be spent or not. */
enum sutra_status linked_convert_spend(struct sutra_context *context, const struct linked_traces *spent,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error);

/* Makes all nodes, which until now are only made when they are written, and frees what they are made of.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status converted_complete(struct sutra_converted *converted, struct sutra_context *context,
                                     struct sutra_error *error);

#endif
