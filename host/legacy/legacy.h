/*
 * legacy.h - internals of struct sutra_legacy: both sides, the match of their operators, and the nodes of the output.
 *
 *     host side, device side --exact or approximate match--> match --assembly--> nodes with new ids, GPU nodes
 */
#ifndef LEGACY_LEGACY_H
#define LEGACY_LEGACY_H

#include "legacy/device_ops.h"
#include "legacy/host_ops.h"
#include "sutra/legacy.h"

/* The operators of both traces, with names that are compared by number. */
struct legacy_sides {
    struct legacy_names names;
    struct host_side host;
    struct device_side device;
};

/* A GPU node of the output. */
struct gpu_node {
    row_t member; /* of the groups */
    row_t node;   /* its parent, a node of the host trace */
    int64_t id;
};

/* Changes of one node of the host trace. */
enum node_change {
    NODE_NEW_ID = 1,
    NODE_NEW_PARENT = 2,
};

/* The nodes of the output. */
struct legacy_nodes {
    /* Per node of the host trace, in file order. */
    uint8_t *change; /* bits of enum node_change */
    int64_t *id, *parent;
    row_t *match; /* entry of the device's list, or ROW_NONE */

    struct gpu_node *gpu; /* after all nodes */
    row_t n_gpu;
};

struct sutra_legacy {
    struct arena arena; /* contains all columns */
    struct legacy_sides sides;
    struct gpu_groups groups;
    row_t *match; /* per host operator: the entry of the device's list, or ROW_NONE */
    struct legacy_nodes nodes;
};

/* sutra_legacy_link() without warnings about traces that do not belong together. */
enum sutra_status legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                              const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                              struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                              struct sutra_error *error);

/* Fills `match` by names and positions. SUTRA_DATA: operators do not match; report->mismatch is set. */
enum sutra_status exact_match(const struct legacy_sides *sides, struct legacy_log *log,
                              struct sutra_legacy_report *report, row_t *match, struct sutra_error *error);

/* Fills `match` by the call trees. SUTRA_DATA: the share of matched operators is below `min_match`. */
enum sutra_status approximate_match(const struct legacy_sides *sides, struct sutra_context *context,
                                    const struct sutra_legacy_options *options, struct legacy_log *log,
                                    struct sutra_legacy_report *report, row_t *match, struct sutra_error *error);

/* Assembles the nodes of the output, in the arena. SUTRA_DATA: a parent that is no node, a node without a field that
 * its GPU nodes copy, or an output of at least `most_bytes` (0: no limit). */
enum sutra_status assemble(struct legacy_nodes *nodes, struct sutra_context *context, const struct legacy_sides *sides,
                           const struct gpu_groups *groups, const row_t *match, uint64_t most_bytes,
                           struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error);

#endif
