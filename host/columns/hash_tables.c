/*
 * hash_tables.c - draws the key of the process's tables before anything is put into one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "columns/column.h"
#include "columns/hash_tables.h"

/*
 * The table of pairs.
 */

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
static struct pair_entry *find_slot_pair_table(const struct pair_table *table, uint64_t first, uint32_t second) {
    uint64_t slot = hash_pair(first, second, table->turn) & table->mask;
    struct pair_entry *entry = &table->entries[slot];
    while (entry->second != PAIR_NONE && (entry->first != first || entry->second != second)) {
        slot = (slot + 1) & table->mask;
        entry = &table->entries[slot];
    }
    return entry;
}

static bool rebuild_pair_table(struct pair_table *table, uint64_t n_slots, unsigned turn) {
    struct pair_table made;
    if (!alloc_slots(&made, n_slots, turn))
        return false;
    for (uint64_t i = 0; i <= table->mask; i++)
        if (table->entries[i].second != PAIR_NONE)
            *find_slot_pair_table(&made, table->entries[i].first, table->entries[i].second) = table->entries[i];
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
    struct pair_entry *entry = find_slot_pair_table(table, first, second);
    if (entry->second != PAIR_NONE)
        return entry;
    if (2 * (table->n + 1) > table->mask + 1) {
        if (!rebuild_pair_table(table, 2 * (table->mask + 1), table->turn))
            return NULL;
        entry = find_slot_pair_table(table, first, second);
    }
    if (is_far(table, entry, first, second)) {
        if (!rebuild_pair_table(table, table->mask + 1, table->turn + 1))
            return NULL;
        entry = find_slot_pair_table(table, first, second);
    }
    *entry = (struct pair_entry){first, second, PAIR_NONE};
    table->n++;
    return entry;
}

struct pair_entry *pair_table_seek(const struct pair_table *table, uint64_t first, uint32_t second) {
    struct pair_entry *entry = find_slot_pair_table(table, first, second);
    return entry->second != PAIR_NONE ? entry : NULL;
}

uint32_t pair_table_find(const struct pair_table *table, uint64_t first, uint32_t second) {
    const struct pair_entry *entry = pair_table_seek(table, first, second);
    return entry ? entry->number : PAIR_NONE;
}

/*
 * The table of tuples.
 */

static uint64_t hash_of(const struct tuples *tuples, struct tuple tuple) {
    return hash_bytes(&tuple, sizeof tuple, tuples->turn);
}

/* The slot of the tuple, or the free one where it would go. */
static uint32_t find_slot_tuples(const struct tuples *tuples, struct tuple tuple) {
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
        slots[find_slot_tuples(tuples, tuples->list[i])] = i + 1;
    return true;
}

static bool grow(struct tuples *tuples) {
    return rebuild_tuples(tuples, tuples->n_slots ? (uint64_t)tuples->n_slots * 2 : 64, tuples->turn);
}

uint32_t tuples_number(struct tuples *tuples, struct tuple tuple) {
    if (tuples->n == tuples->capacity && !grow(tuples))
        return TUPLE_NONE;
    uint32_t slot = find_slot_tuples(tuples, tuple);
    if (!tuples->slots[slot]) {
        if (hash_run_is_long(hash_of(tuples, tuple), slot, tuples->n_slots - 1, tuples->turn)) {
            if (!rebuild_tuples(tuples, tuples->n_slots, tuples->turn + 1))
                return TUPLE_NONE;
            slot = find_slot_tuples(tuples, tuple);
        }
        tuples->list[tuples->n++] = tuple;
        tuples->slots[slot] = tuples->n;
    }
    return tuples->slots[slot] - 1;
}

uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple) {
    if (!tuples->n)
        return TUPLE_NONE;
    uint32_t entry = tuples->slots[find_slot_tuples(tuples, tuple)];
    return entry ? entry - 1 : TUPLE_NONE;
}

void tuples_free(struct tuples *tuples) {
    free(tuples->list);
    free(tuples->slots);
    *tuples = (struct tuples){0};
}

struct hash_key hash_key;

/* Where the system has no random bytes: what nobody can know who wrote the file. */
static void draw_from_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
    hash_key.first = hash_fold(seed ^ (uintptr_t)&now, 0x9e3779b97f4a7c15u);
    hash_key.second = hash_fold(hash_key.first ^ (uintptr_t)&hash_key, 0xe7037ed1a0b428dbu);
    hash_key.last = hash_fold(hash_key.second, 0x8ebc6af09c88c6e3u);
}

/* Before constructors that name no priority. */
__attribute__((constructor(101))) static void draw(void) {
    if (getrandom(&hash_key, sizeof hash_key, GRND_NONBLOCK) != (ssize_t)sizeof hash_key)
        draw_from_clock();
}
