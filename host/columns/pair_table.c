/*
 * pair_table.c - the table of pairs.
 */
#include "columns/pair_table.h"

#include <stdlib.h>
#include <string.h>

#include "columns/hash.h"

#define SLOTS_FIRST 256

static bool alloc_slots(struct pair_table *table, uint64_t n_slots, unsigned turn) {
    struct pair_entry *entries = reallocarray(NULL, n_slots, sizeof *entries);
    if (!entries)
        return false;
    memset(entries, 0xff, n_slots * sizeof *entries);
    *table = (struct pair_table){.entries = entries, .mask = n_slots - 1, .turn = turn};
    return true;
}

bool pair_table_init(struct pair_table *table) {
    *table = (struct pair_table){0};
    return alloc_slots(table, SLOTS_FIRST, 0);
}

void pair_table_free(struct pair_table *table) {
    free(table->entries);
    *table = (struct pair_table){0};
}

/* The key's entry, or the free one where it would go. */
static struct pair_entry *find_slot(const struct pair_table *table, uint64_t first, uint32_t second) {
    uint64_t slot = hash_pair(first, second, table->turn) & table->mask;
    struct pair_entry *entry = &table->entries[slot];
    while (entry->second != PAIR_NONE && (entry->first != first || entry->second != second)) {
        slot = (slot + 1) & table->mask;
        entry = &table->entries[slot];
    }
    return entry;
}

static bool rebuild(struct pair_table *table, uint64_t n_slots, unsigned turn) {
    struct pair_table made;
    if (!alloc_slots(&made, n_slots, turn))
        return false;
    for (uint64_t i = 0; i <= table->mask; i++)
        if (table->entries[i].second != PAIR_NONE)
            *find_slot(&made, table->entries[i].first, table->entries[i].second) = table->entries[i];
    made.n = table->n;
    free(table->entries);
    *table = made;
    return true;
}

static bool is_far(const struct pair_table *table, const struct pair_entry *entry, uint64_t first, uint32_t second) {
    uint64_t slot = (uint64_t)(entry - table->entries), hash = hash_pair(first, second, table->turn);
    return hash_run_is_long(hash, slot, table->mask, table->turn);
}

struct pair_entry *pair_table_take(struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_slot(table, first, second);
    if (entry->second != PAIR_NONE)
        return entry;
    if (2 * (table->n + 1) > table->mask + 1) {
        if (!rebuild(table, 2 * (table->mask + 1), table->turn))
            return NULL;
        entry = find_slot(table, first, second);
    }
    if (is_far(table, entry, first, second)) {
        if (!rebuild(table, table->mask + 1, table->turn + 1))
            return NULL;
        entry = find_slot(table, first, second);
    }
    *entry = (struct pair_entry){first, second, PAIR_NONE};
    table->n++;
    return entry;
}

struct pair_entry *pair_table_seek(const struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_slot(table, first, second);
    return entry->second != PAIR_NONE ? entry : NULL;
}

uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second) {
    const struct pair_entry *entry = pair_table_seek(table, first, second);
    return entry ? entry->number : PAIR_NONE;
}
