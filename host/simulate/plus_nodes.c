/*
 * plus_nodes.c - room for the columns of ET+, and joining them.
 */
#include "simulate/plus_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

bool plus_nodes_reserve(struct plus_nodes *nodes, row_t capacity) {
    if (capacity <= nodes->capacity)
        return true;
    bool made = true;
#define X(type, name) made = made && column_resize(&nodes->name, capacity, sizeof *nodes->name);
    PLUS_COLUMNS(X)
    if (nodes->times) {
        PLUS_TIME_COLUMNS(X)
    }
#undef X
    for (int i = 0; i < PLUS_N_NUMBERS; i++)
        made = made && column_resize(&nodes->number[i], capacity, sizeof *nodes->number[i]);
    for (int i = 0; i < PLUS_N_IO; i++)
        made = made && column_resize(&nodes->io[i], capacity, sizeof *nodes->io[i]);
    if (made)
        nodes->capacity = capacity;
    return made;
}

void plus_nodes_free(struct plus_nodes *nodes) {
#define X(type, name) free(nodes->name);
    PLUS_COLUMNS(X)
    PLUS_TIME_COLUMNS(X)
#undef X
    for (int i = 0; i < PLUS_N_NUMBERS; i++)
        free(nodes->number[i]);
    for (int i = 0; i < PLUS_N_IO; i++)
        free(nodes->io[i]);
    *nodes = (struct plus_nodes){0};
}

void plus_nodes_put(struct plus_nodes *nodes, row_t row, const struct plus_node *node) {
#define X(type, name) nodes->name[row] = node->name;
    PLUS_COLUMNS(X)
    if (nodes->times) {
        PLUS_TIME_COLUMNS(X)
    }
#undef X
    for (int i = 0; i < PLUS_N_NUMBERS; i++)
        nodes->number[i][row] = node->number[i];
    for (int i = 0; i < PLUS_N_IO; i++)
        nodes->io[i][row] = node->io[i];
}

void plus_nodes_copy(struct plus_nodes *to, row_t row, const struct plus_nodes *from) {
    if (from->n == 0)
        return;
#define X(type, name) memcpy(to->name + row, from->name, from->n * sizeof *from->name);
    PLUS_COLUMNS(X)
    if (from->times) {
        PLUS_TIME_COLUMNS(X)
    }
#undef X
    for (int i = 0; i < PLUS_N_NUMBERS; i++)
        memcpy(to->number[i] + row, from->number[i], from->n * sizeof *from->number[i]);
    for (int i = 0; i < PLUS_N_IO; i++)
        memcpy(to->io[i] + row, from->io[i], from->n * sizeof *from->io[i]);
}

const char *plus_field_key(enum plus_field field) {
    static const char *const keys[] = {
#define X(constant, key, attribute, expected) key,
        PLUS_FIELDS(X)
#undef X
    };
    return keys[field];
}

const char *plus_field_expected(enum plus_field field) {
    static const char *const expectations[] = {
#define X(constant, key, attribute, expected) expected,
        PLUS_FIELDS(X)
#undef X
    };
    return expectations[field];
}

void plus_trace_free(struct plus_trace *trace) {
    plus_nodes_free(&trace->nodes);
    for (size_t i = 0; i < trace->n_stores; i++)
        arena_free(&trace->stores[i].arena);
    free(trace->stores);
    *trace = (struct plus_trace){0};
}
