/*
 * hash_tables.c - implements hash_tables.h and hash.h. The key is drawn by a constructor.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "columns/column.h"
#include "columns/hash_tables.h"

/* ---- Slots ---- */

bool hash_slots_init(struct hash_slots *slots, uint64_t n_slots) {
    *slots = (struct hash_slots){.slots = calloc(n_slots, sizeof *slots->slots), .mask = n_slots - 1};
    return slots->slots;
}

static uint64_t slot_of(uint64_t hash, uint32_t number) {
    return hash >> 32 << 32 | (number + 1);
}

bool hash_add(struct hash_slots *slots, uint64_t *slot, uint64_t hash, uint32_t n, hash_of_entry *hash_of,
              const void *table) {
    bool is_full = 2 * ((uint64_t)n + 1) > slots->mask + 1;
    bool is_far = (((uint64_t)(slot - slots->slots) - hash) & slots->mask) > (uint64_t)HASH_RUN << slots->turn;
    if (!is_full && !is_far) {
        *slot = slot_of(hash, n);
        return true;
    }
    struct hash_slots made;
    if (n >= UINT32_MAX - 1 || !hash_slots_init(&made, (slots->mask + 1) << is_full))
        return false;
    made.turn = slots->turn + is_far;
    for (uint32_t i = 0; i <= n; i++) {
        uint64_t entry_hash = hash_of(table, i, made.turn), at = entry_hash & made.mask;
        while (made.slots[at])
            at = (at + 1) & made.mask;
        made.slots[at] = slot_of(entry_hash, i);
    }
    free(slots->slots);
    *slots = made;
    return true;
}

/* ---- Pairs ---- */

bool pair_table_init(struct pair_table *table) {
    *table = (struct pair_table){0};
    return hash_slots_init(&table->slots, 256);
}

void pair_table_free(struct pair_table *table) {
    free(table->slots.slots);
    free(table->entries);
    *table = (struct pair_table){0};
}

static bool is_pair(const void *table, uint32_t number, const void *key) {
    const struct pair_entry *entry = &((const struct pair_table *)table)->entries[number], *wanted = key;
    return entry->first == wanted->first && entry->second == wanted->second;
}

static uint64_t hash_of_pair(const void *table, uint32_t number, unsigned turn) {
    const struct pair_entry *entry = &((const struct pair_table *)table)->entries[number];
    return hash_pair(entry->first, entry->second, turn);
}

struct pair_entry *pair_table_insert(struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry pair = {first, second, PAIR_NONE};
    uint64_t hash = hash_pair(first, second, table->slots.turn);
    uint64_t *slot = hash_find(&table->slots, hash, is_pair, table, &pair);
    if (*slot)
        return &table->entries[hash_number(*slot)];
    if (!column_grow(&table->entries, table->n, &table->capacity, sizeof *table->entries))
        return NULL;
    table->entries[table->n] = pair;
    return hash_add(&table->slots, slot, hash, table->n, hash_of_pair, table) ? &table->entries[table->n++] : NULL;
}

struct pair_entry *pair_table_seek(const struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry pair = {first, second, PAIR_NONE};
    uint64_t slot = *hash_find(&table->slots, hash_pair(first, second, table->slots.turn), is_pair, table, &pair);
    return slot ? &table->entries[hash_number(slot)] : NULL;
}

uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second) {
    const struct pair_entry *entry = pair_table_seek(table, first, second);
    return entry ? entry->number : PAIR_NONE;
}

/* ---- Tuples ---- */

static bool is_tuple(const void *table, uint32_t number, const void *key) {
    return memcmp(&((const struct tuples *)table)->list[number], key, sizeof(struct tuple)) == 0;
}

static uint64_t hash_of_tuple(const void *table, uint32_t number, unsigned turn) {
    return hash_bytes(&((const struct tuples *)table)->list[number], sizeof(struct tuple), turn);
}

uint32_t tuples_number(struct tuples *tuples, struct tuple tuple) {
    if (!tuples->slots.slots && !hash_slots_init(&tuples->slots, 64))
        return TUPLE_NONE;
    uint64_t hash = hash_bytes(&tuple, sizeof tuple, tuples->slots.turn);
    uint64_t *slot = hash_find(&tuples->slots, hash, is_tuple, tuples, &tuple);
    if (*slot)
        return hash_number(*slot);
    if (!column_grow(&tuples->list, tuples->n, &tuples->capacity, sizeof *tuples->list))
        return TUPLE_NONE;
    tuples->list[tuples->n] = tuple;
    return hash_add(&tuples->slots, slot, hash, tuples->n, hash_of_tuple, tuples) ? tuples->n++ : TUPLE_NONE;
}

uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple) {
    if (!tuples->n)
        return TUPLE_NONE;
    uint64_t hash = hash_bytes(&tuple, sizeof tuple, tuples->slots.turn);
    uint64_t slot = *hash_find(&tuples->slots, hash, is_tuple, tuples, &tuple);
    return slot ? hash_number(slot) : TUPLE_NONE;
}

void tuples_free(struct tuples *tuples) {
    free(tuples->list);
    free(tuples->slots.slots);
    *tuples = (struct tuples){0};
}

/* ---- The key of the hash functions ---- */

struct hash_key hash_key;

/* Runs before constructors without a priority. */
__attribute__((constructor(101))) static void draw_key(void) {
    if (getrandom(&hash_key, sizeof hash_key, GRND_NONBLOCK) == (ssize_t)sizeof hash_key)
        return;
    /* No random bytes: use values that the writer of a file cannot know. */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
    hash_key.first = hash_fold(seed ^ (uintptr_t)&now, 0x9e3779b97f4a7c15u);
    hash_key.second = hash_fold(hash_key.first ^ (uintptr_t)&hash_key, 0xe7037ed1a0b428dbu);
    hash_key.last = hash_fold(hash_key.second, 0x8ebc6af09c88c6e3u);
}
