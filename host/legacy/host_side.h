/*
 * host_side.h - the operators of a host trace that are to be matched: those of one iteration, in the order of their
 * ids.
 */
#ifndef LEGACY_HOST_SIDE_H
#define LEGACY_HOST_SIDE_H

#include "base/arena.h"
#include "context/context.h"
#include "legacy/log.h"
#include "legacy/names.h"
#include "link/host_ops.h"

/* Columns live in one arena; `units` is the owner's to free. */
struct host_side {
    const struct sutra_host_trace *trace;
    struct host_ops units; /* nodes by id; a unit's last node is the operator, as in `link` */
    uint32_t *name;        /* per node: its number in the table of names */
    uint8_t *has_category; /* per node: it has the field "cat" */
    row_t *unit;           /* the operators, by rising id: rows of units */
    row_t *parent;         /* per operator: the operator above it, or ROW_NONE (the root) */
    row_t n;
};

/* Reads the names of all nodes into the table. SUTRA_DATA: a node has no name, or there is no root. */
enum sutra_status host_side_read(struct host_side *side, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct legacy_names *names, struct arena *arena,
                                 struct sutra_error *error);

/* Chooses the iteration and lists its operators; `old_names`: threads may have their older name. SUTRA_DATA: parents
 * form a cycle, or an operator whose parent lies outside the iteration is on a thread that has no node. */
enum sutra_status host_side_choose(struct host_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, bool old_names, struct legacy_log *log,
                                   struct arena *arena, struct sutra_error *error);

/* The node that stands for an operator. */
static inline row_t host_side_node(const struct host_side *side, row_t op) {
    return unit_node(&side->units, side->unit[op]);
}

static inline value_key host_side_id(const struct host_side *side, row_t op) {
    return side->trace->nodes.id[host_side_node(side, op)];
}

static inline uint32_t host_side_name(const struct host_side *side, row_t op) {
    return side->name[host_side_node(side, op)];
}

#endif
