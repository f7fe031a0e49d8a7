/*
 * output.h - where the fields of a host trace's node stand that only the older linker reads.
 */
#ifndef LEGACY_OUTPUT_H
#define LEGACY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/host_trace.h"

/* X(name, key) */
#define PLACED_FIELDS(X)                                                                                               \
    X(NAME, "name")                                                                                                    \
    X(CATEGORY, "cat")                                                                                                 \
    X(TID, "tid")                                                                                                      \
    X(PARENT, "parent")                                                                                                \
    X(CTRL_DEPS, "ctrl_deps")                                                                                          \
    X(INPUTS, "inputs")                                                                                                \
    X(INPUT_SHAPES, "input_shapes")                                                                                    \
    X(INPUT_TYPES, "input_types")                                                                                      \
    X(OUTPUTS, "outputs")                                                                                              \
    X(OUTPUT_SHAPES, "output_shapes")                                                                                  \
    X(OUTPUT_TYPES, "output_types")

enum placed_field {
#define X(name, key) PLACED_##name,
    PLACED_FIELDS(X)
#undef X
        N_PLACED
};

struct node_places {
    struct json_place field[N_PLACED]; /* `at` is 0 where the field is absent */
};

/* Walks a node's text. The tid of later schemas stands among the attributes. */
void node_places_read(const struct sutra_host_trace *host, row_t node, struct node_places *places);

/*
 * Handing out ids: the smallest one that is still free from a wanted one on.
 *
 * A table of the ids that are taken, each with a guess where the next free one is; guesses are improved on the way, so
 * that runs of taken ids are jumped over. O(log n) amortised for an id, memory for those that were given only.
 */

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
