/*
 * free_ids.c - open addressing, at most half full, and paths that are made shorter when they are walked.
 */
#include "legacy/free_ids.h"

#include <stdlib.h>

#include "columns/hash.h"

static size_t slot_of(const struct free_ids *ids, int64_t id) {
    size_t mask = ids->n_slots - 1, slot = (size_t)hash_pair((uint64_t)id, 0, 0) & mask;
    while (ids->taken[slot] && ids->id[slot] != id)
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow(struct free_ids *ids) {
    struct free_ids old = *ids;
    ids->n_slots = old.n_slots ? old.n_slots * 2 : 1024;
    ids->id = reallocarray(NULL, ids->n_slots, sizeof *ids->id);
    ids->next = reallocarray(NULL, ids->n_slots, sizeof *ids->next);
    ids->taken = calloc(ids->n_slots, 1);
    if (!ids->id || !ids->next || !ids->taken) {
        free_ids_free(ids);
        *ids = old;
        return false;
    }
    for (size_t i = 0; i < old.n_slots; i++) {
        if (!old.taken[i])
            continue;
        size_t slot = slot_of(ids, old.id[i]);
        ids->taken[slot] = 1;
        ids->id[slot] = old.id[i];
        ids->next[slot] = old.next[i];
    }
    free_ids_free(&old);
    return true;
}

enum free_ids_result free_ids_take(struct free_ids *ids, int64_t wanted, int64_t *given) {
    if (ids->n >= ids->n_slots / 2 && !grow(ids))
        return FREE_ID_MEMORY;
    int64_t id = wanted;
    size_t slot = slot_of(ids, id);
    while (ids->taken[slot]) {
        id = ids->next[slot];
        slot = slot_of(ids, id);
    }
    if (id == INT64_MAX)
        return FREE_ID_NONE;
    ids->taken[slot] = 1;
    ids->id[slot] = id;
    ids->next[slot] = id + 1;
    ids->n++;
    for (int64_t at = wanted; at != id;) {
        size_t passed = slot_of(ids, at);
        at = ids->next[passed];
        ids->next[passed] = id + 1;
    }
    *given = id;
    return FREE_ID_GIVEN;
}

void free_ids_free(struct free_ids *ids) {
    free(ids->id);
    free(ids->next);
    free(ids->taken);
    *ids = (struct free_ids){0};
}
