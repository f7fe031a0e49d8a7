/*
 * pair_table.c - the table of pairs.
 */
#include "columns/pair_table.h"

#include <stdlib.h>
#include <string.h>

#include "columns/hash.h"

#define SLOTS_FIRST 256

static bool alloc_slots(struct pair_table *table, uint64_t n_slots) {
    struct pair_entry *entries = reallocarray(NULL, n_slots, sizeof *entries);
    if (!entries)
        return false;
    memset(entries, 0xff, n_slots * sizeof *entries);
    *table = (struct pair_table){.entries = entries, .mask = n_slots - 1};
    return true;
}

bool pair_table_init(struct pair_table *table) {
    *table = (struct pair_table){0};
    return alloc_slots(table, SLOTS_FIRST);
}

void pair_table_free(struct pair_table *table) {
    free(table->entries);
    *table = (struct pair_table){0};
}

/* The key's entry, or the free one where it would go. */
static struct pair_entry *find_slot(const struct pair_table *table, uint64_t first, uint32_t second) {
    uint64_t slot = hash_fold(first ^ 0x9e3779b97f4a7c15u, 0xe7037ed1a0b428dbu ^ second) & table->mask;
    struct pair_entry *entry = &table->entries[slot];
    while (entry->second != PAIR_NONE && (entry->first != first || entry->second != second)) {
        slot = (slot + 1) & table->mask;
        entry = &table->entries[slot];
    }
    return entry;
}

static bool grow(struct pair_table *table) {
    struct pair_table larger;
    if (!alloc_slots(&larger, 2 * (table->mask + 1)))
        return false;
    for (uint64_t i = 0; i <= table->mask; i++)
        if (table->entries[i].second != PAIR_NONE)
            *find_slot(&larger, table->entries[i].first, table->entries[i].second) = table->entries[i];
    larger.n = table->n;
    free(table->entries);
    *table = larger;
    return true;
}

struct pair_entry *pair_table_take(struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_slot(table, first, second);
    if (entry->second != PAIR_NONE)
        return entry;
    if (2 * (table->n + 1) > table->mask + 1) {
        if (!grow(table))
            return NULL;
        entry = find_slot(table, first, second);
    }
    *entry = (struct pair_entry){first, second, PAIR_NONE};
    table->n++;
    return entry;
}

uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_slot(table, first, second);
    return entry->second != PAIR_NONE ? entry->number : PAIR_NONE;
}
