/*
 * free_ids.h - handing out ids: the smallest one that is still free from a wanted one on.
 *
 * A table of the ids that are taken, each with a guess where the next free one is; guesses are improved on the way, so
 * that runs of taken ids are jumped over. O(log n) amortised for an id, memory for those that were given only.
 */
#ifndef LEGACY_FREE_IDS_H
#define LEGACY_FREE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct free_ids {
    int64_t *id, *next; /* a taken id, and an id that all before it, from this one on, are taken */
    uint8_t *taken;
    size_t n_slots, n;
};

enum free_ids_result { FREE_ID_GIVEN, FREE_ID_NONE, FREE_ID_MEMORY };

/* Zero-initialise. FREE_ID_NONE: there is no such id below 2^63. */
enum free_ids_result free_ids_take(struct free_ids *ids, int64_t wanted, int64_t *given);
void free_ids_free(struct free_ids *ids);

#endif
