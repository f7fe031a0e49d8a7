/*
 * et_nodes.c - room for the columns of an .et file.
 */
#include "simulate/et_nodes.h"

#include <string.h>

#include "base/error.h"

enum sutra_status et_nodes_begin(struct et_nodes *nodes, struct sutra_error *error) {
    static const char *const known[] = {
#define X(constant, name) name,
        ET_NAMES(X)
#undef X
    };
    *nodes = (struct et_nodes){0};
    if (!strings_init(&nodes->names))
        return error_memory(error);
    for (size_t i = 0; i < ET_N_NAMES; i++)
        if (strings_intern(&nodes->names, known[i], strlen(known[i])) != i)
            return error_memory(error);
    return SUTRA_OK;
}

void et_nodes_free(struct et_nodes *nodes) {
    strings_free(&nodes->names);
    arena_free(&nodes->arena);
    *nodes = (struct et_nodes){0};
}

static void take_ids(struct arena *arena, struct et_ids *list, row_t n, uint64_t n_ids) {
    list->first = arena_take(arena, (size_t)n + 1, sizeof *list->first);
    list->ids = arena_take(arena, n_ids, sizeof *list->ids);
}

enum sutra_status et_attributes_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                                     struct sutra_error *error) {
    struct arena *arena = &nodes->arena;
    attributes->n = n;
    attributes->name = arena_take(arena, n, sizeof *attributes->name);
    attributes->kind = arena_take(arena, n, sizeof *attributes->kind);
    attributes->length = arena_take(arena, n, sizeof *attributes->length);
    attributes->value = arena_take(arena, n, sizeof *attributes->value);
    return arena->failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status et_nodes_take(struct et_nodes *nodes, row_t n, uint64_t n_ctrl, uint64_t n_data,
                                uint64_t n_attributes, struct sutra_error *error) {
    struct arena *arena = &nodes->arena;
    nodes->n = n;
    nodes->id = arena_take(arena, n, sizeof *nodes->id);
    nodes->start_us = arena_zeros(arena, n, sizeof *nodes->start_us);
    nodes->duration_us = arena_take(arena, n, sizeof *nodes->duration_us);
    nodes->type = arena_take(arena, n, sizeof *nodes->type);
    nodes->flags = arena_zeros(arena, n, sizeof *nodes->flags);
    for (int column = 0; column < et_text_columns(nodes); column++) {
        nodes->text[column].bytes = arena_take(arena, n, sizeof *nodes->text[column].bytes);
        nodes->text[column].length = arena_take(arena, n, sizeof *nodes->text[column].length);
    }
    take_ids(arena, &nodes->ctrl, n, n_ctrl);
    take_ids(arena, &nodes->data, n, n_data);
    nodes->attr_first = arena_take(arena, (size_t)n + 1, sizeof *nodes->attr_first);
    enum sutra_status status = et_attributes_take(nodes, &nodes->attributes, n_attributes, error);
    if (!status)
        nodes->ctrl.first[0] = nodes->data.first[0] = nodes->attr_first[0] = 0;
    return status;
}

enum sutra_status et_docs_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                               struct sutra_error *error) {
    attributes->n_docs = 0;
    attributes->docs = arena_take(&nodes->arena, n, sizeof *attributes->docs);
    return attributes->docs ? SUTRA_OK : error_memory(error);
}

struct et_text et_doc_search(const struct et_attributes *attributes, uint64_t i) {
    uint64_t low = 0, high = attributes->n_docs;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (attributes->docs[middle].attribute < i)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < attributes->n_docs && attributes->docs[low].attribute == i;
    return found ? attributes->docs[low].text : (struct et_text){NULL, 0};
}
