/*
 * hash_tables.h - hash tables of pairs and of tuples (hash.h).
 */
#ifndef COLUMNS_HASH_TABLES_H
#define COLUMNS_HASH_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "columns/hash.h"
#include "columns/numbers.h"

/* ---- From a pair of 64 and 32 bits to a number: for device addresses, flow ids, sequence numbers of threads ---- */

#define PAIR_NONE UINT32_MAX /* no number */

struct pair_entry {
    uint64_t first;
    uint32_t second, number;
};

struct pair_table {
    struct hash_slots slots;
    struct pair_entry *entries;
    uint64_t capacity;
    uint32_t n;
};

bool pair_table_init(struct pair_table *table);
void pair_table_free(struct pair_table *table);

/* The key's entry, added with the number PAIR_NONE if it is new; valid until the next call. NULL: out of memory. */
struct pair_entry *pair_table_insert(struct pair_table *table, uint64_t first, uint32_t second);

/* Sets the key's number, unless it has one; false: out of memory. */
static inline bool pair_table_note(struct pair_table *table, uint64_t first, uint32_t second, uint32_t number) {
    struct pair_entry *entry = pair_table_insert(table, first, second);
    if (entry && entry->number == PAIR_NONE)
        entry->number = number;
    return entry;
}

/* The key's entry, or NULL. */
struct pair_entry *pair_table_seek(const struct pair_table *table, uint64_t first, uint32_t second);

/* The key's number, or PAIR_NONE. */
uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second);

/*
 * ---- Dense numbers for tuples of up to four ids, in the order of insertion ----
 *
 * For example a stream, a stream of a device, a stream as seen by a thread.
 */

#define TUPLE_NONE UINT32_MAX

struct tuple {
    value_key part[4];
};

struct tuples {
    struct hash_slots slots;
    struct tuple *list;
    uint64_t capacity;
    uint32_t n;
};

/* The number of the tuple, which is added if it is new; TUPLE_NONE: out of memory. */
uint32_t tuples_number(struct tuples *tuples, struct tuple tuple);

/* The number of the tuple, or TUPLE_NONE. */
uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple);

void tuples_free(struct tuples *tuples);

#endif
