/*
 * host_ops.h - the nodes of a host trace in the order of the output, and the host operators among them.
 *
 * A unit is a run of nodes with the same id (nearly always one): they share a new id, and the last of them is the host
 * operator if the root is among its ancestors.
 *
 *     sorted nodes   0  1  2  3  4  5        rows of nodes, by id, ties in file order
 *     units          0  1  1  2  3  3        unit u: sorted nodes unit_start[u] .. unit_start[u + 1]
 */
#ifndef LINK_HOST_OPS_H
#define LINK_HOST_OPS_H

#include "base/arena.h"
#include "context/context.h"
#include "match/key_index.h"
#include "read/host_trace.h"

struct host_ops {
    row_t n_nodes, n_units;
    row_t *node;          /* rows of nodes, sorted by id */
    row_t *unit_start;    /* n_units + 1 */
    uint8_t *reachable;   /* per unit: 1 if it is a host operator */
    struct key_index ids; /* id -> unit */
};

/* The columns are in the arena. */
enum sutra_status host_ops_build(struct host_ops *ops, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct arena *arena, struct sutra_error *error);
void host_ops_free(struct host_ops *ops);

/* The node that represents a unit as host operator: the last one of its id. */
static inline row_t unit_node(const struct host_ops *ops, row_t unit) {
    return ops->node[ops->unit_start[unit + 1] - 1];
}

#endif
