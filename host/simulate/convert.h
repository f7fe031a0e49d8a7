/*
 * convert.h - converts ET+ to .et files: reads ET+, selects its nodes, and makes and writes the nodes of the file.
 */
#ifndef SIMULATE_CONVERT_H
#define SIMULATE_CONVERT_H

#include "link/link.h"
#include "read/document.h"
#include "simulate/communication.h"
#include "simulate/et_file.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

/*
 * ---- Nodes of .et files from the kept slots of the graph of ET+ (et_make.c) ----
 *
 * Plain nodes have the durations and dependencies of ET+. Measured nodes replace them (measured_et.h): each has its own
 * times and dependencies, and the other fields of its plain node.
 */

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

/* ---- Conversion ---- */

struct sutra_converted {
    struct document document; /* ET+, unless linked traces are converted */
    struct et_plus_trace et_plus;
    struct node_graph graph;
    struct comm_groups groups; /* not used by compat */
    struct comm_ends ends;
    struct kernel_work work;
    struct et_maker maker;
    struct et_nodes nodes; /* the metadata, and the measured nodes in outline, if there are any */
    struct sutra_convert_report report;
    struct timeline_input times; /* if they are kept; in times_arena */
    struct arena times_arena;
    bool has_times;
};

/* sutra_linked_convert() as the last use of linked traces: it frees them as soon as they are read, which with
 * `keep_times` includes the input of sutra_converted_run_faithful(). After a failure they may be freed or not. */
enum sutra_status linked_convert_and_free(struct sutra_context *context, const struct linked_traces *disposable,
                                          const struct sutra_convert_options *options,
                                          struct sutra_converted **converted, struct sutra_error *error);

/* Finds operations and bytes of kernels, unless they are known or not wanted. Uses the graph and its arena only.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status converted_find_work(struct sutra_converted *converted, struct sutra_error *error);

#endif
