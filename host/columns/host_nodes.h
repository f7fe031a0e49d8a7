/*
 * host_nodes.h - the nodes of a host trace as columns: row i is the i-th element of "nodes".
 *
 *     text, end   byte offsets of the node's opening brace and of the byte behind its closing one
 *     id          the node's id
 *     parent      id of the parent: "ctrl_deps", or "parent" in schema 1.0.1; KEY_ABSENT where there is none
 *     ctrl_deps   id under "ctrl_deps" in any schema, KEY_ABSENT where there is none
 *     rf          record-function id: the attribute "rf_id", or the field in schema 1.0.1; KEY_NULL where there is none
 */
#ifndef COLUMNS_HOST_NODES_H
#define COLUMNS_HOST_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "columns/column.h"
#include "columns/key.h"
#include "columns/row.h"

/* X(type, name) for each column. */
#define HOST_NODE_COLUMNS(X)                                                                                           \
    X(uint64_t, text)                                                                                                  \
    X(uint64_t, end)                                                                                                   \
    X(value_key, id)                                                                                                   \
    X(value_key, parent)                                                                                               \
    X(value_key, ctrl_deps)                                                                                            \
    X(value_key, rf)

struct host_nodes {
    row_t n, capacity;
#define X(type, name) type *name;
    HOST_NODE_COLUMNS(X)
#undef X
};

#define HOST_NODE_N_COLUMNS 6
extern const struct column_form host_node_columns[HOST_NODE_N_COLUMNS];

void host_nodes_free(struct host_nodes *nodes);

#endif
