/*
 * inputs.h - internals of struct sutra_inputs: the inputs of operators in flat arrays.
 *
 *     tags      Tensor Scalar End | ListBegin Tensor Tensor End Other End | End     three operators
 *     tensors   t0                              t1     t2
 *     sizes     8 16 16 1  |  ...                        t0: two sizes, two strides
 *     scalars   "1.0"                                    string ids
 *
 * A list and an operator have the same end tag. Only strided tensors have strides, after their sizes.
 */
#ifndef TREE_INPUTS_H
#define TREE_INPUTS_H

#include "base/memory.h"
#include "columns/strings.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "sutra/profiler.h"

struct sutra_inputs {
    enum sutra_torch_version torch_version;
    bool in_list;
    uint8_t *tags;
    uint64_t n_tags, tags_capacity;
    struct sutra_tensor *tensors;
    uint64_t n_tensors, tensors_capacity;
    int64_t *sizes;
    uint64_t n_sizes, sizes_capacity;
    uint32_t *scalars;
    uint64_t n_scalars, scalars_capacity;
    struct strings strings; /* names of dtypes, and scalars */
};

/* The number of a name of a dtype; STRING_NONE: out of memory. */
static inline uint32_t inputs_dtype(struct sutra_inputs *inputs, const char *name, size_t length) {
    return strings_intern(&inputs->strings, name, length);
}

/* ---- Inputs in the text of a trace ---- */

/* The text, the encoder, and the first error. */
struct input_source {
    const struct document *document;
    struct sutra_inputs *inputs;
    struct buffer sizes; /* int64_t, of the current tensor: sizes, then strides */
    struct sutra_error *error;
    enum sutra_status status;
};

static inline const char *source_text(const struct input_source *source, size_t at) {
    return source->document->source.bytes + at;
}

static inline struct json_walker source_walk(const struct input_source *source, size_t at) {
    return walk_from(&source->document->source, at);
}

static inline bool source_is_array(const struct input_source *source, struct json_span place) {
    return place.at && *source_text(source, place.at) == '[';
}

/* Reads a 64-bit integer; false: the value is none. */
static inline bool source_integer(const struct input_source *source, struct json_span place, int64_t *value) {
    return place.at && field_integer(source_text(source, place.at), value);
}

void source_add_tag(struct input_source *source, enum sutra_input_tag tag);
void source_add_scalar(struct input_source *source, const char *text, size_t length);

/* Adds a tensor with the sizes and strides of two arrays. */
void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_span shape,
                       struct json_span strides);

#endif
