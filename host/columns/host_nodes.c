/*
 * host_nodes.c - making room in the columns of a host trace, and joining them.
 */
#include "columns/host_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

bool host_nodes_reserve(struct host_nodes *nodes, row_t capacity) {
    if (capacity <= nodes->capacity)
        return true;
#define X(type, name)                                                                                                  \
    if (!column_resize(&nodes->name, capacity, sizeof *nodes->name))                                                   \
        return false;
    HOST_NODE_COLUMNS(X)
#undef X
    nodes->capacity = capacity;
    return true;
}

void host_nodes_free(struct host_nodes *nodes) {
#define X(type, name) free(nodes->name);
    HOST_NODE_COLUMNS(X)
#undef X
    *nodes = (struct host_nodes){0};
}

void host_nodes_copy(struct host_nodes *to, row_t row, const struct host_nodes *from) {
    if (from->n == 0)
        return;
#define X(type, name) memcpy(to->name + row, from->name, from->n * sizeof *from->name);
    HOST_NODE_COLUMNS(X)
#undef X
}
