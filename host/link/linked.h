/*
 * linked.h - inside of struct sutra_linked: what ET+ holds, as columns over the units of the host trace.
 *
 * The output is a row of entries. A unit's entries are its nodes, then one GPU node for each GPU operator of its linked
 * CPU operator:
 *
 *     unit      0     1              2     3 (two nodes of one id)
 *     entries   N     N  g  g  g     N     N  N  g
 *     new ids   0     1  2  3  4     5     6  6  7
 */
#ifndef LINK_LINKED_H
#define LINK_LINKED_H

#include "link/device_ops.h"
#include "link/host_ops.h"
#include "read/device_trace.h"
#include "read/host_trace.h"
#include "sutra/link.h"

/* There is no ctrl_deps to write. */
#define CTRL_DEPS_NONE (-1)

/* Lists of GPU nodes that nodes wait for; list i: nodes[start[i]] .. nodes[start[i + 1] - 1], new ids. */
struct linked_sync {
    struct key_index targets; /* new id of a node -> its list */
    row_t *start, *nodes;
    row_t n_lists;
};

struct sutra_linked {
    const struct sutra_host_trace *host;
    const struct sutra_device_trace *device;
    struct arena arena; /* of all columns */
    struct host_ops units;
    struct device_ops ops;

    row_t *unit_op;     /* per unit: the CPU operator that it is linked to, or ROW_NONE */
    row_t *unit_after;  /* per unit: the unit that it waits for on another thread, or ROW_NONE */
    row_t *unit_entry;  /* per unit, and one more: its first entry */
    row_t *unit_id;     /* per unit: its new id */
    int64_t *ctrl_deps; /* per sorted node: new id of its ctrl_deps, or CTRL_DEPS_NONE */
    struct linked_sync sync;
    struct sutra_link_report report;
};

/* What was linked, with its traces, where nothing needs them behind what is made of them. */
struct linked_traces {
    struct sutra_linked *linked;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
};

/* Frees the columns of all three, and where tokens begin in the device trace. Left are the report, the texts, the
 * strings of the device trace and the members of the host trace; else the three may only be freed. */
void linked_traces_spend(const struct linked_traces *spent);

/* Before that: frees columns of the traces that neither plus_linked() nor anything behind it reads, and where tokens
 * begin in the device trace, of which plus_linked_groups() has been told what is needed. */
void linked_traces_spend_keys(const struct linked_traces *spent);

/* About how many bytes the nodes take as text: their number times the mean of some hundreds. 0: out of memory. */
uint64_t linked_size(const struct sutra_linked *linked);

/* The GPU operators of a unit: *n rows of events. */
static inline const row_t *linked_gpu_ops(const struct sutra_linked *linked, row_t unit, row_t *n) {
    *n = 0;
    if (linked->unit_op[unit] == ROW_NONE)
        return NULL;
    return device_ops_group(&linked->ops, linked->unit_op[unit], n);
}

/* The GPU nodes that the node with this new id waits for: *n new ids. */
static inline const row_t *linked_waits_for(const struct sutra_linked *linked, row_t id, row_t *n) {
    const struct linked_sync *sync = &linked->sync;
    row_t list = sync->n_lists ? key_index_find(&sync->targets, id) : ROW_NONE;
    *n = list == ROW_NONE ? 0 : sync->start[list + 1] - sync->start[list];
    return list == ROW_NONE ? NULL : sync->nodes + sync->start[list];
}

#endif
