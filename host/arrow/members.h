/*
 * members.h - columns of an array of structs: a column for each of their members.
 *
 *     const struct member_array array = {&batch, first, sizeof *first};
 *     MEMBER_REAL(&array, sutra_dlrm_row, us, "us");          a column "us", whose unit is the last word
 */
#ifndef ARROW_MEMBERS_H
#define ARROW_MEMBERS_H

#include <stddef.h>

#include "arrow/batch.h"

/* Structs of `stride` bytes each, as many as the batch has rows. */
struct member_array {
    struct batch *batch;
    const void *first;
    size_t stride;
};

static inline const void *member_at(const struct member_array *array, uint64_t i, size_t offset) {
    return (const char *)array->first + i * array->stride + offset;
}

/* double; NaN and infinity are null. */
void member_real(const struct member_array *array, const char *name, size_t offset, const char *unit);

/* A whole number of `size` bytes, 8 or less, none of them below zero but of 8 bytes; as int64. */
void member_count(const struct member_array *array, const char *name, size_t offset, size_t size, const char *unit);

/* const char *, NULL for null. */
void member_text(const struct member_array *array, const char *name, size_t offset);

/* An enum, or an int, below n_words. */
void member_word(const struct member_array *array, const char *name, size_t offset, const char *const *words,
                 uint32_t n_words);

#define MEMBER_REAL(array, type, member, unit) member_real(array, #member, offsetof(struct type, member), unit)
#define MEMBER_COUNT(array, type, member, unit)                                                                        \
    member_count(array, #member, offsetof(struct type, member), sizeof((struct type *)0)->member, unit)
#define MEMBER_TEXT(array, type, member) member_text(array, #member, offsetof(struct type, member))

#endif
