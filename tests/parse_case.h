/*
 * parse_case.h - random text and contexts for tests that compare parsed rows with a plain parse.
 */
#ifndef TESTS_PARSE_CASE_H
#define TESTS_PARSE_CASE_H

#include "base/memory.h"
#include "context/context.h"
#include "generate/random.h"
#include "sutra/sutra.h"
#include "unit.h"

static inline void add(struct buffer *text, const char *string) {
    buffer_append(text, string, strlen(string));
}

static inline const char *choose(struct random *dice, const char *const *list, uint32_t n) {
    return list[random_below(dice, n)];
}
#define ONE_OF(dice, list) choose(dice, list, (uint32_t)(sizeof(list) / sizeof *(list)))

/* A context that parses files in parts of `part_bytes`. */
static inline struct sutra_context *make_parts_context(unsigned n_threads, size_t part_bytes, bool lenient) {
    struct sutra_context *made = NEW_CONTEXT(.n_threads = n_threads, .device = SUTRA_DEVICE_CPU, .lenient = lenient);
    made->part_bytes = part_bytes;
    return made;
}

#endif
