/*
 * output.h - free ids of the output.
 */
#ifndef LEGACY_OUTPUT_H
#define LEGACY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/hash.h"

/*
 * The smallest free id that is at least a wanted id.
 *
 * A table of the used ids, each with a lower bound of the next free id. Searches raise the bounds, so that runs of used
 * ids are skipped. O(log n) amortized per id; memory only for the assigned ids.
 */

/* An id below which all ids from this one are used. */
struct used_id {
    int64_t id, next;
};

struct free_ids {
    struct hash_slots slots;
    struct used_id *used;
    uint64_t capacity;
    uint32_t n;
};

enum free_ids_result { FREE_ID_GIVEN, FREE_ID_NONE, FREE_ID_MEMORY };

/* Zero-initialize. FREE_ID_NONE: no id below 2^63 is free. */
enum free_ids_result free_ids_take(struct free_ids *ids, int64_t wanted, int64_t *given);
void free_ids_free(struct free_ids *ids);

#endif
