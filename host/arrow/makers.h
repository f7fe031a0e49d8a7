/*
 * makers.h - columns of ids, numbers, struct members and JSON values; numbers are not copied.
 */
#ifndef ARROW_MAKERS_H
#define ARROW_MAKERS_H

#include <stddef.h>

#include "arrow/batch.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "read/document.h"

/* Ids; null if they are no integers, or `none`. */
void batch_keys(struct batch *batch, const char *name, const value_key *keys, value_key none,
                const struct column_owner *owner);

/* Texts of ids that are values but no integers. */
void batch_key_texts(struct batch *batch, const char *name, const value_key *keys, const struct values *values);

/* Integers, or real numbers if at least one is real; rows without `flag` among the flags are null. Mixed integers are
 * rounded to doubles, which copies the column. Without an owner the batch frees the bits. */
void batch_numbers(struct batch *batch, const char *name, const char *unit, struct number_column numbers,
                   const uint8_t *flags, uint8_t flag, const struct column_owner *owner);

/* The column's values, borrowed. */
static inline struct batch_values values_held(const void *data, const struct column_owner *owner) {
    refcount_add(owner->holders);
    return (struct batch_values){.data = data, .leave = owner->leave, .owner = owner->thing};
}

/*
 * Columns of an array of structs: a column for each of their members.
 *
 *     const struct member_array array = {&batch, first, sizeof *first};
 *     MEMBER_REAL(&array, sutra_dlrm_row, us, "us");          a column "us", whose unit is the last word
 */

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

/* An integer of `size` bytes, at most 8, not negative unless it has 8 bytes; as int64. */
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

/* ---- JSON values of any type, as a column of a type that can represent all of them ---- */

/* A column of args, see batch_name_arg(). places[i] is the value of row i in the document; offset 0 is null, as is a
 * JSON null. See sutra/columns.h for the types. O(bytes of the values). */
void batch_places(struct batch *batch, const char *name, const struct document *document,
                  const struct json_span *places);

#endif
