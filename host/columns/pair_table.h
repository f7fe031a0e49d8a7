/*
 * pair_table.h - from a pair of 64 and 32 bits to a number: an address on a device, a flow id, a thread's sequence
 * number.
 *
 * Open addressing, at most half full, without removal. Cost: O(1) a look, in expectation.
 */
#ifndef COLUMNS_PAIR_TABLE_H
#define COLUMNS_PAIR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define PAIR_NONE UINT32_MAX /* a number that is none; no second part of a key may have this value */

struct pair_entry {
    uint64_t first;
    uint32_t second; /* PAIR_NONE: the entry is free */
    uint32_t number;
};

struct pair_table {
    struct pair_entry *entries;
    uint64_t n, mask;
    unsigned turn; /* of the hash */
};

bool pair_table_init(struct pair_table *table);
void pair_table_free(struct pair_table *table);

/* The key's entry, made with the number PAIR_NONE if it is new; valid until the next call. NULL: out of memory. */
struct pair_entry *pair_table_take(struct pair_table *table, uint64_t first, uint32_t second);

/* Gives the key a number if it has none; false: out of memory. */
static inline bool pair_table_note(struct pair_table *table, uint64_t first, uint32_t second, uint32_t number) {
    struct pair_entry *entry = pair_table_take(table, first, second);
    if (entry && entry->number == PAIR_NONE)
        entry->number = number;
    return entry;
}

/* The key's entry, or NULL. */
struct pair_entry *pair_table_seek(const struct pair_table *table, uint64_t first, uint32_t second);

/* The key's number, or PAIR_NONE. */
uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second);

#endif
