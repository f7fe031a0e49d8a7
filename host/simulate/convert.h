/*
 * convert.h - ET+ into .et files: makes nodes from the graph, the kept nodes by ascending id with their attributes, and
 * writes them. The nodes of a file are made in pieces while it is written.
 */
#ifndef SIMULATE_CONVERT_H
#define SIMULATE_CONVERT_H

#include "base/memory.h"
#include "context/context.h"
#include "link/link.h"
#include "read/document.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

/*
 * ---- Nodes of the kept slots of the graph (et_make.c) ----
 *
 * Plain nodes have the durations and dependencies of ET+. Measured nodes replace them (faithful.h): each has its own
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

/* The number of nodes that it makes. */
static inline row_t et_maker_count(const struct et_maker *maker) {
    return maker->measured ? maker->measured->n : maker->n;
}

/* Fills `nodes`, initialized with the names of attributes, with all plain nodes in outline: without inputs, outputs,
 * data dependencies and start times, and only with attributes that the timeline and its simulation read. Needs no
 * maker->work. */
enum sutra_status et_maker_outline(const struct et_maker *maker, struct et_nodes *nodes, struct pool *pool,
                                   struct sutra_error *error);

/* Fills `nodes`, initialized with the names of attributes, with the nodes from `first` up to `end`. Their texts are in
 * the memory of ET+, of `texts` or of the measured nodes. SUTRA_SYSTEM: out of memory. O(nodes + bytes of texts). */
enum sutra_status et_maker_fill(const struct et_maker *maker, row_t first, row_t end, struct et_plus_texts *texts,
                                struct et_nodes *nodes, struct sutra_error *error);

/* ---- struct sutra_converted: the input of protobuf nodes ---- */

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

/*
 * ---- Output (et_write.c) ----
 *
 * The bytes equal the output of Google's own writer: fields ascend by number, without empty and zero fields, but with
 * each set member of a oneof; lists of ids are packed; varints have the minimum length.
 */

/* Fills nodes->metadata with schema, pid, time, start_ts and finish_ts of ET+. A null member has no value. A missing
 * member or one of the wrong type is skipped, or, if they are needed, an error. */
enum sutra_status et_metadata_make(struct et_nodes *nodes, const struct document *document, bool needed,
                                   struct sutra_error *error);

/* Appends a node, or GlobalMetadata, after its length. Out of memory: out->failed. */
void et_write_node(const struct et_nodes *nodes, row_t row, struct buffer *out);
void et_write_metadata(const struct et_nodes *nodes, struct buffer *out);

/* Writes the file atomically: a temporary file, then renamed. "-" is standard output; a name that ends in .gz or .zst
 * is compressed. The threads of the context encode nodes in pieces; the bytes are the same for any number of threads.
 * With a maker (else NULL) the nodes of a piece are made when it is encoded, and `nodes` has the metadata.
 * *n_bytes (may be NULL): bytes written, before compression. SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status et_write(const struct et_nodes *nodes, const struct et_maker *maker, struct sutra_context *context,
                           const char *path, uint64_t *n_bytes, struct sutra_error *error);

#endif
