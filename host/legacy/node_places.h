/*
 * node_places.h - where the fields of a host trace's node stand that only the older linker reads.
 */
#ifndef LEGACY_NODE_PLACES_H
#define LEGACY_NODE_PLACES_H

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

/* The field's key in the file. */
const char *placed_field_key(enum placed_field field);

#endif
