/*
 * hash.h - hash functions of bytes and of pairs, and the slots of the tables that use them. Cost of a hash: two
 * multiplications, and one more per 16 bytes after the first 16.
 *
 * Threat model: the writer of a trace may choose names and ids that collide. So each process draws a random key, and
 * collisions cannot be predicted. Factors are added to their product, so that a factor that makes the product 0 does
 * not cancel the other one. If many keys collide nevertheless, the table is rebuilt with the hash function of the next
 * turn. No output depends on a hash or on the order of a table.
 */
#ifndef COLUMNS_HASH_H
#define COLUMNS_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Hash functions ---- */

struct hash_key {
    uint64_t first, second, last;
};

/* Drawn before main(); tests set other keys while no table exists. */
extern struct hash_key hash_key;

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

/*
 * ---- Slots: from a key to the number of a table's entry ----
 *
 *     slots    0   hash, 2   0   0   hash, 0   hash, 1   0   0
 *     entries  0  1  2                                          dense, in the order of insertion, of any type
 *
 * Open addressing, at most half full, no removal. A slot is 0 or has the upper half of an entry's hash, which differs
 * between most entries, and the entry's number + 1. The table that has the entries compares and hashes them. Cost: O(1)
 * expected.
 *
 *     uint64_t hash = hash_bytes(key, length, table->slots.turn);
 *     uint64_t *slot = hash_find(&table->slots, hash, equals, table, key);
 *     if (*slot)
 *         return hash_number(*slot);
 *     table->entries[table->n] = ...;
 *     return hash_add(&table->slots, slot, hash, table->n, hash_entry, table) ? table->n++ : NONE;
 */

struct hash_slots {
    uint64_t *slots;
    uint64_t mask; /* number of slots, a power of two, - 1 */
    unsigned turn; /* of the hash */
};

/* Longest probe: in a table that is half full, random keys exceed it once in 10^21 lookups. Each turn doubles the
 * limit, so that rebuilding ends. */
#define HASH_RUN 256

/* Whether the entry of a table has the key. */
typedef bool hash_equals(const void *table, uint32_t number, const void *key);

/* The hash of an entry of a table. */
typedef uint64_t hash_of_entry(const void *table, uint32_t number, unsigned turn);

/* Free slots, a power of two; false: out of memory. Free with free(slots->slots). */
bool hash_slots_init(struct hash_slots *slots, uint64_t n_slots);

static inline uint32_t hash_number(uint64_t slot) {
    return (uint32_t)slot - 1;
}

/* The slot of the key, or the free slot where it belongs. Inlined, so that the comparison is. */
__attribute__((always_inline)) static inline uint64_t *
hash_find(const struct hash_slots *slots, uint64_t hash, hash_equals *equals, const void *table, const void *key) {
    for (uint64_t at = hash & slots->mask;; at = (at + 1) & slots->mask) {
        uint64_t slot = slots->slots[at];
        if (slot == 0 || (slot >> 32 == hash >> 32 && equals(table, hash_number(slot), key)))
            return &slots->slots[at];
    }
}

/* Fills the free slot of the new entry n, which the table already has as its last one. Rebuilds the slots if more than
 * half would be filled or if the slot is too far from the slot of the hash. False: out of memory, nothing changed. */
bool hash_add(struct hash_slots *slots, uint64_t *slot, uint64_t hash, uint32_t n, hash_of_entry *hash_of,
              const void *table);

#endif
