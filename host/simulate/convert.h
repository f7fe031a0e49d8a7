/*
 * convert.h - converts ET+ to .et files: reads ET+, selects its nodes, and makes and writes the nodes of the file.
 */
#ifndef SIMULATE_CONVERT_H
#define SIMULATE_CONVERT_H

#include "link/link.h"
#include "read/document.h"
#include "simulate/et_make.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

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
