/*
 * hash_tables.h - hash functions of bytes and of pairs, and the tables that use them: two multiplications, and one more
 * per 16 bytes after the first 16.
 *
 * Threat model: the writer of a trace may choose names and ids that collide. So each process draws a random key, and
 * collisions cannot be predicted. Factors are added to their product, so that a factor that makes the product 0 does
 * not cancel the other one. If many keys collide nevertheless, the table is rebuilt with the hash function of the next
 * turn. No output depends on a hash or on the order of a table.
 */
#ifndef COLUMNS_HASH_TABLES_H
#define COLUMNS_HASH_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "columns/numbers.h"

/*
 * ---- From a pair of 64 and 32 bits to a number: for device addresses, flow ids, sequence numbers of threads ----
 *
 * Open addressing, at most half full, no removal. Cost: O(1) expected.
 */

#define PAIR_NONE UINT32_MAX /* no number; reserved as second half of a key */

struct pair_entry {
    uint64_t first;
    uint32_t second; /* PAIR_NONE: free */
    uint32_t number;
};

struct pair_table {
    struct pair_entry *entries;
    uint64_t n, mask;
    unsigned turn; /* of the hash */
};

bool pair_table_init(struct pair_table *table);
void pair_table_free(struct pair_table *table);

/* The key's entry, added with the number PAIR_NONE if it is new; valid until the next call. NULL: out of memory. */
struct pair_entry *pair_table_take(struct pair_table *table, uint64_t first, uint32_t second);

/* Sets the key's number, unless it has one; false: out of memory. */
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

/*
 * ---- Dense numbers for tuples of up to four ids, in the order of insertion ----
 *
 * For example a stream, a stream of a device, a stream as seen by a thread. Open addressing, at most half full. Cost:
 * O(1).
 */

#define TUPLE_NONE UINT32_MAX

struct tuple {
    value_key part[4];
};

struct tuples {
    struct tuple *list;
    uint32_t n, capacity;
    uint32_t *slots; /* number + 1, or 0 */
    uint32_t n_slots;
    unsigned turn; /* of the hash */
};

/* The number of the tuple, which is added if it is new; TUPLE_NONE: out of memory. */
uint32_t tuples_number(struct tuples *tuples, struct tuple tuple);

/* The number of the tuple, or TUPLE_NONE. */
uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple);

void tuples_free(struct tuples *tuples);

/* ---- Hash functions ---- */

struct hash_key {
    uint64_t first, second, last;
};

/* Drawn before main(); tests set other keys while no table exists. */
extern struct hash_key hash_key;

/* Longest probe: in a table that is half full, random keys exceed it once in 10^21 lookups. Each turn doubles the
 * limit, so that rebuilding ends. */
#define HASH_RUN 256

static inline uint64_t hash_fold(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
    return hash_fold(a, b) ^ a ^ b;
}

static inline uint64_t hash_load(const void *bytes, size_t n) {
    uint64_t word = 0;
    memcpy(&word, bytes, n);
    return word;
}

static inline uint64_t hash_bytes(const void *bytes, size_t n, unsigned turn) {
    const char *p = bytes;
    uint64_t hash = hash_key.second ^ ((uint64_t)turn << 56) ^ n;
    for (; n > 16; n -= 16, p += 16)
        hash = hash_mix(hash_load(p, 8) ^ hash_key.first, hash_load(p + 8, 8) ^ hash);
    uint64_t a, b = 0;
    if (n >= 8) {
        a = hash_load(p, 8);
        b = hash_load(p + n - 8, 8);
    } else {
        a = hash_load(p, n);
    }
    hash = hash_mix(a ^ hash_key.first, b ^ hash);
    return hash_mix(hash, hash_key.last);
}

static inline uint64_t hash_pair(uint64_t first, uint32_t second, unsigned turn) {
    uint64_t hash = hash_mix(first ^ hash_key.first, ((uint64_t)turn << 56 | second) ^ hash_key.second);
    return hash_mix(hash, hash_key.last);
}

/* Whether an entry is so far from the slot of its hash that the table needs another turn. */
static inline bool hash_run_is_long(uint64_t hash, uint64_t slot, uint64_t mask, unsigned turn) {
    return ((slot - hash) & mask) > (uint64_t)HASH_RUN << turn;
}

#endif
