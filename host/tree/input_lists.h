/*
 * input_lists.h - what readers of inputs share: stepping through arrays side by side, sizes, and encoding what is
 * found.
 */
#ifndef TREE_INPUT_LISTS_H
#define TREE_INPUT_LISTS_H

#include "base/buffer.h"
#include "read/document.h"
#include "tree/inputs.h"

/* The text, the encoder, and the first error. */
struct input_source {
    const struct document *document;
    struct sutra_inputs *inputs;
    struct buffer sizes; /* int64_t, of the tensor at hand: sizes, then strides */
    struct sutra_error *error;
    enum sutra_status status;
};

enum input_list { LIST_VALUES, LIST_TYPES, LIST_SHAPES, LIST_STRIDES, N_LISTS };

/* Arrays at the same element; one that is missing or too short gives absent places. */
struct input_lists {
    struct json_walker walker[N_LISTS];
    bool more[N_LISTS];
};

static inline const char *source_text(const struct input_source *source, size_t at) {
    return source->document->source.bytes + at;
}

static inline struct json_walker source_walk(const struct input_source *source, size_t at) {
    return walk_from(&source->document->source, at);
}

static inline bool source_is_array(const struct input_source *source, struct json_place place) {
    return place.at && *source_text(source, place.at) == '[';
}

/* Whether a place is a string that begins so, or is it. */
bool source_begins(const struct input_source *source, struct json_place place, const char *with);
bool source_is(const struct input_source *source, struct json_place place, const char *text);

/* An integer of 64 bits; false: something else stands there. */
bool source_integer(const struct input_source *source, struct json_place place, int64_t *value);

struct input_lists lists_open(const struct input_source *source, const struct json_place *places);

/* The next element of each array; false where the one of `leading` ends. */
bool lists_step(struct input_lists *lists, enum input_list leading, struct json_place *places);

void source_add_tag(struct input_source *source, enum sutra_input_tag tag);
void source_add_scalar(struct input_source *source, const char *text, size_t length);

/* Adds a tensor of which all but the sizes is known. */
void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_place shape,
                       struct json_place strides);

#endif
