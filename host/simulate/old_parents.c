/*
 * old_parents.c - the first row that names each parent, and the row before it on its thread.
 */
#include "simulate/old_parents.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "match/key_index.h"
#include "simulate/kernel_names.h"

/* What the host trace calls the process. */
#define PROCESS_OLD_ID 1

struct old_parents {
    struct plus_nodes *nodes;
    const struct engine *engine;
    struct arena arena;
    value_key *keys;    /* per row: the parent that it names by its old id, or KEY_ABSENT */
    row_t *before;      /* per row: the row before it on its thread, or ROW_NONE */
    value_key *new_ids; /* per row that is the first to name its parent: the parent's new id, or KEY_ABSENT */
};

/* Linking numbers nodes from 0 on; the host trace itself does so from 1 on, and has no GPU nodes. */
static bool is_linked(const struct plus_nodes *nodes) {
    uint32_t flags = 0;
    for (row_t row = 0; row < nodes->n; row++)
        flags |= nodes->flags[row];
    return flags & PLUS_HAS_OLD_PARENT && (flags & PLUS_IS_GPU || nodes->key[0] == 0);
}

/* For each row the row before it on its thread, without GPU nodes. */
static enum sutra_status find_before(struct old_parents *old, struct sutra_error *error) {
    const struct plus_nodes *nodes = old->nodes;
    const int64_t *threads = nodes->number[PLUS_TID - PLUS_FIRST_NUMBER];
    struct key_index first = {0};
    struct arena_mark mark = arena_mark(&old->arena);
    row_t *last = arena_take(&old->arena, nodes->n, sizeof *last);
    if (!last)
        return error_memory(error);
    for (row_t row = 0; row < nodes->n; row++)
        old->keys[row] = key_is_integer(threads[row]) ? threads[row] : KEY_NULL;
    enum sutra_status status = key_index_build(&first, old->engine, old->keys, nodes->n, KEY_FIRST, NULL, error);
    memset(last, 0xff, (size_t)nodes->n * sizeof *last);
    for (row_t row = 0; row < nodes->n && !status; row++) {
        row_t *of_thread = &last[key_index_find(&first, old->keys[row])];
        old->before[row] = *of_thread;
        *of_thread = nodes->flags[row] & PLUS_IS_GPU ? *of_thread : row;
    }
    key_index_free(&first);
    arena_release(&old->arena, mark);
    return status;
}

/* The new id of the process, or KEY_ABSENT. */
static value_key process_id(const struct plus_nodes *nodes) {
    return kernel_name_has(nodes->name[0], "|process]") ? nodes->key[0] : KEY_ABSENT;
}

/* The parents of the rows that are the first to name them. */
static enum sutra_status find_parents(struct old_parents *old, struct key_index *first, struct sutra_error *error) {
    const struct plus_nodes *nodes = old->nodes;
    for (row_t row = 0; row < nodes->n; row++)
        old->keys[row] = nodes->flags[row] & PLUS_HAS_OLD_PARENT ? nodes->parent[row] : KEY_ABSENT;
    enum sutra_status status = key_index_build(first, old->engine, old->keys, nodes->n, KEY_FIRST, NULL, error);
    for (row_t row = 0; row < nodes->n && !status; row++) {
        old->new_ids[row] = old->before[row] == ROW_NONE ? KEY_ABSENT : nodes->key[old->before[row]];
        if (old->keys[row] == PROCESS_OLD_ID)
            old->new_ids[row] = process_id(nodes);
    }
    return status;
}

static enum sutra_status replace(struct old_parents *old, struct sutra_error *error) {
    struct plus_nodes *nodes = old->nodes;
    struct key_index first = {0};
    enum sutra_status status = find_before(old, error);
    if (!status)
        status = find_parents(old, &first, error);
    for (row_t row = 0; row < nodes->n && !status; row++)
        if (key_is_integer(old->keys[row]))
            nodes->parent[row] = old->new_ids[key_index_find(&first, old->keys[row])];
    key_index_free(&first);
    return status;
}

enum sutra_status old_parents_replace(struct plus_nodes *nodes, struct sutra_context *context,
                                      struct sutra_error *error) {
    struct old_parents old = {.nodes = nodes, .engine = &context->engine};
    if (nodes->n == 0 || !is_linked(nodes))
        return SUTRA_OK;
    old.keys = arena_take(&old.arena, nodes->n, sizeof *old.keys);
    old.before = arena_take(&old.arena, nodes->n, sizeof *old.before);
    old.new_ids = arena_take(&old.arena, nodes->n, sizeof *old.new_ids);
    enum sutra_status status = old.arena.failed ? error_memory(error) : replace(&old, error);
    arena_free(&old.arena);
    return status;
}
