/*
 * tuples.c - the table of tuples.
 */
#include "columns/tuples.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"
#include "columns/hash.h"

static uint64_t hash_of(const struct tuples *tuples, struct tuple tuple) {
    return hash_bytes(&tuple, sizeof tuple, tuples->turn);
}

/* The slot of the tuple, or the free one where it would go. */
static uint32_t find_slot(const struct tuples *tuples, struct tuple tuple) {
    uint32_t mask = tuples->n_slots - 1, slot = (uint32_t)hash_of(tuples, tuple) & mask;
    while (tuples->slots[slot] && memcmp(&tuples->list[tuples->slots[slot] - 1], &tuple, sizeof tuple) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static bool rebuild(struct tuples *tuples, uint64_t n_slots, unsigned turn) {
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
        slots[find_slot(tuples, tuples->list[i])] = i + 1;
    return true;
}

static bool grow(struct tuples *tuples) {
    return rebuild(tuples, tuples->n_slots ? (uint64_t)tuples->n_slots * 2 : 64, tuples->turn);
}

uint32_t tuples_number(struct tuples *tuples, struct tuple tuple) {
    if (tuples->n == tuples->capacity && !grow(tuples))
        return TUPLE_NONE;
    uint32_t slot = find_slot(tuples, tuple);
    if (!tuples->slots[slot]) {
        if (hash_run_is_long(hash_of(tuples, tuple), slot, tuples->n_slots - 1, tuples->turn)) {
            if (!rebuild(tuples, tuples->n_slots, tuples->turn + 1))
                return TUPLE_NONE;
            slot = find_slot(tuples, tuple);
        }
        tuples->list[tuples->n++] = tuple;
        tuples->slots[slot] = tuples->n;
    }
    return tuples->slots[slot] - 1;
}

uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple) {
    if (!tuples->n)
        return TUPLE_NONE;
    uint32_t entry = tuples->slots[find_slot(tuples, tuple)];
    return entry ? entry - 1 : TUPLE_NONE;
}

void tuples_free(struct tuples *tuples) {
    free(tuples->list);
    free(tuples->slots);
    *tuples = (struct tuples){0};
}
