/*
 * legacy.h - inside of struct sutra_legacy: both sides, how their operators were matched, and what the output holds.
 *
 *     host side, device side --exact or approximate match--> match --assembly--> nodes with new ids, GPU nodes
 */
#ifndef LEGACY_LEGACY_H
#define LEGACY_LEGACY_H

#include "legacy/device_side.h"
#include "legacy/gpu_groups.h"
#include "legacy/host_side.h"
#include "sutra/legacy.h"

/* A GPU node of the output. */
struct gpu_node {
    row_t place; /* in the groups */
    row_t node;  /* the host trace's node that it belongs to */
    int64_t id;
};

/* What becomes of one node of the host trace. */
enum node_change {
    NODE_NEW_ID = 1,
    NODE_NEW_PARENT = 2,
};

struct sutra_legacy {
    const struct sutra_host_trace *host_trace;
    const struct sutra_device_trace *device_trace;
    struct legacy_names names;
    struct host_side host;
    struct device_side device;
    struct gpu_groups groups;
    struct legacy_log log;
    row_t *match; /* per host operator: its place in the device's list, or ROW_NONE */

    /* Per node of the host trace, in the file's order. */
    uint8_t *change; /* bits of enum node_change */
    int64_t *id, *parent;
    row_t *node_match; /* as `match`, or ROW_NONE */

    struct gpu_node *gpu; /* behind all nodes */
    row_t n_gpu, gpu_capacity;
    struct sutra_legacy_report report;
};

/* Fills `match` by names and places. SUTRA_DATA: operators that do not agree, with report.mismatch. */
enum sutra_status exact_match(struct sutra_legacy *legacy, struct sutra_error *error);

/* Fills `match` by the call trees. SUTRA_DATA: less than the share `min_match` of the operators is matched. */
enum sutra_status approximate_match(struct sutra_legacy *legacy, struct sutra_context *context,
                                    const struct sutra_legacy_options *options, struct sutra_error *error);

/* From matches to what the output holds. SUTRA_DATA: a parent that is no node, a node that lacks a field which GPU
 * nodes below it take from it. */
enum sutra_status assemble(struct sutra_legacy *legacy, struct sutra_context *context, struct sutra_error *error);

#endif
