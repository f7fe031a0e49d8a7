/*
 * tensor_groups.c - ids of storages and tensors; in come uses of storages in order of time, out go for each use the
 * number of its storage and of its group.
 *
 * One walk with two tables: from a live storage to its number, and from a tensor to its first storage. A freed storage
 * keeps its place without a number. Then one pass over the storages turns leaders into groups (event_rules.h).
 */
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "columns/pair_table.h"
#include "match/cpu_steps.h"

struct storage_grouping {
    const struct storage_uses *uses;
    struct pair_table storages; /* of a live storage on a device: its number */
    struct pair_table tensors;  /* of a tensor: its first storage */
    uint32_t n_storages;
    uint32_t *number;
    uint32_t *leader; /* of each storage; STORAGE_NONE: no tensor was seen with it */
};

/* Joins a storage with the first one of its tensor. */
static bool join(struct storage_grouping *grouping, uint64_t tensor, uint32_t storage) {
    struct pair_entry *first = pair_table_take(&grouping->tensors, tensor, 0);
    if (!first)
        return false;
    if (first->number == STORAGE_NONE)
        first->number = storage;
    uint32_t smaller = first->number < storage ? first->number : storage;
    uint32_t larger = first->number < storage ? storage : first->number;
    grouping->leader[larger] = storage_leader(grouping->leader[larger], smaller);
    grouping->leader[smaller] = storage_leader(grouping->leader[smaller], smaller);
    return true;
}

static bool number_use(struct storage_grouping *grouping, row_t row) {
    const struct storage_uses *uses = grouping->uses;
    struct pair_entry *live =
        pair_table_take(&grouping->storages, uses->storage[row], uses->device ? uses->device[row] : 0);
    if (!live)
        return false;
    if (live->number == STORAGE_NONE) {
        grouping->leader[grouping->n_storages] = STORAGE_NONE;
        live->number = grouping->n_storages++;
    }
    uint32_t storage = grouping->number[row] = live->number;
    if (uses->use[row] == STORAGE_FREED)
        live->number = STORAGE_NONE;
    return uses->use[row] != STORAGE_INPUT || join(grouping, uses->tensor[row], storage);
}

/* Turns leaders into groups, in place: a leader comes before those that it leads. */
static void number_groups(struct storage_grouping *grouping) {
    uint32_t n_groups = 0;
    for (uint32_t storage = 0; storage < grouping->n_storages; storage++) {
        uint32_t leader = grouping->leader[storage];
        if (leader != STORAGE_NONE)
            grouping->leader[storage] = leader == storage ? n_groups++ : grouping->leader[leader];
    }
}

enum sutra_status cpu_tensor_groups(void *pool, struct tensor_groups_step *step, struct sutra_error *error) {
    (void)pool;
    row_t n = step->uses->n;
    struct storage_grouping grouping = {.uses = step->uses, .number = step->number};
    grouping.leader = column_new(n, sizeof *grouping.leader);
    bool ok = grouping.leader && pair_table_init(&grouping.storages) && pair_table_init(&grouping.tensors);
    for (row_t row = 0; row < n && ok; row++)
        ok = number_use(&grouping, row);
    if (ok)
        number_groups(&grouping);
    for (row_t row = 0; row < n && ok; row++)
        step->group[row] = grouping.leader[step->number[row]];
    free(grouping.leader);
    pair_table_free(&grouping.storages);
    pair_table_free(&grouping.tensors);
    return ok ? SUTRA_OK : error_memory(error);
}
