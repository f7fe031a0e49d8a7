/*
 * converted.h - inside of struct sutra_converted: what protobuf nodes are made of, or the nodes as columns, and where
 * their texts lie.
 */
#ifndef SIMULATE_CONVERTED_H
#define SIMULATE_CONVERTED_H

#include "link/linked.h"
#include "simulate/et_make.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

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
