/*
 * hash_tables.c - implements hash_tables.h. The key is drawn by a constructor.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "columns/column.h"
#include "columns/hash_tables.h"

/* ---- Pairs ---- */

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

/* The key's entry, or the free entry where it belongs. */
static struct pair_entry *find_pair(const struct pair_table *table, uint64_t first, uint32_t second) {
    uint64_t slot = hash_pair(first, second, table->turn) & table->mask;
    struct pair_entry *entry = &table->entries[slot];
    while (entry->second != PAIR_NONE && (entry->first != first || entry->second != second)) {
        slot = (slot + 1) & table->mask;
        entry = &table->entries[slot];
    }
    return entry;
}

static bool rebuild_pairs(struct pair_table *table, uint64_t n_slots, unsigned turn) {
    struct pair_table made;
    if (!alloc_slots(&made, n_slots, turn))
        return false;
    for (uint64_t i = 0; i <= table->mask; i++)
        if (table->entries[i].second != PAIR_NONE)
            *find_pair(&made, table->entries[i].first, table->entries[i].second) = table->entries[i];
    made.n = table->n;
    free(table->entries);
    *table = made;
    return true;
}

struct pair_entry *pair_table_take(struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_pair(table, first, second);
    if (entry->second != PAIR_NONE)
        return entry;
    if (2 * (table->n + 1) > table->mask + 1) {
        if (!rebuild_pairs(table, 2 * (table->mask + 1), table->turn))
            return NULL;
        entry = find_pair(table, first, second);
    }
    if (hash_run_is_long(hash_pair(first, second, table->turn), (uint64_t)(entry - table->entries), table->mask,
                         table->turn)) {
        if (!rebuild_pairs(table, table->mask + 1, table->turn + 1))
            return NULL;
        entry = find_pair(table, first, second);
    }
    *entry = (struct pair_entry){first, second, PAIR_NONE};
    table->n++;
    return entry;
}

struct pair_entry *pair_table_seek(const struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_pair(table, first, second);
    return entry->second != PAIR_NONE ? entry : NULL;
}

uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second) {
    const struct pair_entry *entry = pair_table_seek(table, first, second);
    return entry ? entry->number : PAIR_NONE;
}

/* ---- Tuples ---- */

static uint64_t hash_of(const struct tuples *tuples, struct tuple tuple) {
    return hash_bytes(&tuple, sizeof tuple, tuples->turn);
}

/* The slot of the tuple, or the free slot where it belongs. */
static uint32_t find_tuple_slot(const struct tuples *tuples, struct tuple tuple) {
    uint32_t mask = tuples->n_slots - 1, slot = (uint32_t)hash_of(tuples, tuple) & mask;
    while (tuples->slots[slot] && memcmp(&tuples->list[tuples->slots[slot] - 1], &tuple, sizeof tuple) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static bool rebuild_tuples(struct tuples *tuples, uint64_t n_slots, unsigned turn) {
    if (n_slots > (uint64_t)1 << 31 || !column_resize(&tuples->list, n_slots / 2, sizeof *tuples->list))
        return false;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    free(tuples->slots);
    tuples->slots = slots;
    tuples->n_slots = (uint32_t)n_slots;
    tuples->turn = turn;
    tuples->capacity = (uint32_t)(n_slots / 2);
    for (uint32_t i = 0; i < tuples->n; i++)
        slots[find_tuple_slot(tuples, tuples->list[i])] = i + 1;
    return true;
}

uint32_t tuples_number(struct tuples *tuples, struct tuple tuple) {
    uint64_t n_slots = tuples->n_slots ? (uint64_t)tuples->n_slots * 2 : 64;
    if (tuples->n == tuples->capacity && !rebuild_tuples(tuples, n_slots, tuples->turn))
        return TUPLE_NONE;
    uint32_t slot = find_tuple_slot(tuples, tuple);
    if (!tuples->slots[slot]) {
        if (hash_run_is_long(hash_of(tuples, tuple), slot, tuples->n_slots - 1, tuples->turn)) {
            if (!rebuild_tuples(tuples, tuples->n_slots, tuples->turn + 1))
                return TUPLE_NONE;
            slot = find_tuple_slot(tuples, tuple);
        }
        tuples->list[tuples->n++] = tuple;
        tuples->slots[slot] = tuples->n;
    }
    return tuples->slots[slot] - 1;
}

uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple) {
    if (!tuples->n)
        return TUPLE_NONE;
    uint32_t entry = tuples->slots[find_tuple_slot(tuples, tuple)];
    return entry ? entry - 1 : TUPLE_NONE;
}

void tuples_free(struct tuples *tuples) {
    free(tuples->list);
    free(tuples->slots);
    *tuples = (struct tuples){0};
}

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
