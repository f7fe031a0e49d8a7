/*
 * plus_nodes.c - room for the columns of ET+.
 */
#include "simulate/plus_nodes.h"

#include <stdlib.h>

const struct column_form plus_columns[PLUS_N_COLUMNS] = {
#define X(type, name) {offsetof(struct plus_nodes, name), sizeof(type)},
    PLUS_COLUMNS(X)
#undef X
#define X(i)                                                                                                           \
    {offsetof(struct plus_nodes, number[i]), sizeof(int64_t)},                                                         \
        {offsetof(struct plus_nodes, io[i]), sizeof(struct et_text)},
        X(0) X(1) X(2) X(3) X(4) X(5)
#undef X
#define X(type, name) {offsetof(struct plus_nodes, name), sizeof(type)},
            PLUS_TIME_COLUMNS(X)
#undef X
};
_Static_assert(PLUS_N_NUMBERS == 6 && PLUS_N_IO == 6, "each has its columns above");

bool plus_nodes_reserve(struct plus_nodes *nodes, row_t capacity) {
    if (capacity <= nodes->capacity)
        return true;
    if (!columns_resize(nodes, plus_columns, plus_n_columns(nodes->times), capacity))
        return false;
    nodes->capacity = capacity;
    return true;
}

void plus_nodes_free(struct plus_nodes *nodes) {
    columns_free(nodes, plus_columns, PLUS_N_COLUMNS);
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
