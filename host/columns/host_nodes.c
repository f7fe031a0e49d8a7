/*
 * host_nodes.c - which columns a host trace has.
 */
#include "columns/host_nodes.h"

const struct column_form host_node_columns[HOST_NODE_N_COLUMNS] = {
#define X(type, name) {offsetof(struct host_nodes, name), sizeof(type)},
    HOST_NODE_COLUMNS(X)
#undef X
};

void host_nodes_free(struct host_nodes *nodes) {
    columns_free(nodes, host_node_columns, HOST_NODE_N_COLUMNS);
    *nodes = (struct host_nodes){0};
}
