/*
 * seen_values.h - lists and objects that were walked before: where one begins as a seen one did and goes on with the
 * same bytes to its end, it is well-formed, ends there, and means the same.
 *
 * Shapes, strides, types and attributes are few kinds of bytes written millions of times. A table keeps the place of
 * the last value for each hash of some of its bytes, and is asked before a value is walked. One table for each thread
 * and text. Cost: O(bytes compared).
 */
#ifndef READ_SEEN_VALUES_H
#define READ_SEEN_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "columns/hash.h"
#include "read/json_walk.h"
#include "text/digits.h"

#define SEEN_VALUES 1024

struct seen_value {
    size_t at, length; /* 0 bytes: none */
};

struct seen_values {
    struct seen_value list[SEEN_VALUES];
};

/* Where a list or object is kept that begins as the one at `text` does: a list by its first 16 bytes; an object by
 * those where {"name": "op_schema", "type": "string", "value": "aten::add.Tensor(... has its name and its value. Reads
 * up to 60 bytes there. */
static inline size_t seen_slot(const char *text, size_t n_slots) {
    bool object = *text == '{';
    uint64_t first = word_load(text + (object ? 10 : 0)), second = word_load(text + (object ? 52 : 8));
    return hash_fold(first ^ 0x9e3779b97f4a7c15u, second ^ 0xe7037ed1a0b428dbu) % n_slots;
}

/* Whether the bytes of a value stand at byte `at`, too. */
static inline bool seen_stands(const struct seen_value *seen, const struct source *source, size_t at) {
    return seen->length > 0 && seen->length <= source->size - at &&
           memcmp(source->bytes + seen->at, source->bytes + at, seen->length) == 0;
}

/* Notes the value at byte `at`, behind which the walker stands. */
static inline struct seen_value seen_walked(const struct json_walker *walker, size_t at) {
    return (struct seen_value){at, walker->expected ? 0 : trim_end(walker->text, walker->at) - at};
}

/* The byte behind the list or object at byte `at`, which is walked if it was not seen. The walker may stand anywhere.
 */
static inline size_t seen_end(struct seen_values *values, struct json_walker *walker, size_t at) {
    struct seen_value *seen = &values->list[seen_slot(walker->text + at, SEEN_VALUES)];
    if (!seen_stands(seen, walker->source, at)) {
        walk_to(walker, at);
        walk_value(walker);
        *seen = seen_walked(walker, at);
    }
    return at + seen->length;
}

#endif
