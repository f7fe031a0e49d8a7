/*
 * output.h - fields of a host trace's node that only the older linker reads, and free ids.
 */
#ifndef LEGACY_OUTPUT_H
#define LEGACY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/hash.h"
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
    struct json_span field[N_PLACED]; /* `at` is 0 if the field is absent */
};

/* Finds the fields of a node. In later schemas, the tid is an attribute. */
void node_places_read(const struct sutra_host_trace *host, row_t node, struct node_places *places);

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
