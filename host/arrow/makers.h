/*
 * makers.h - columns of ids and of numbers as our readers make them, for a batch: numbers stay where they are.
 */
#ifndef ARROW_MAKERS_H
#define ARROW_MAKERS_H

#include <stddef.h>

#include "arrow/batch.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "read/document.h"

/* Whoever the columns belong to: `hold` adds a holder, `leave` takes one away. */
struct column_owner {
    void *thing;
    void (*hold)(void *thing);
    void (*leave)(void *thing);
};

/* Ids; null where they are no integers, or are `none`. */
void batch_keys(struct batch *batch, const char *name, const value_key *keys, value_key none,
                const struct column_owner *owner);

/* Those ids as texts that are values but no integers. */
void batch_key_texts(struct batch *batch, const char *name, const value_key *keys, const struct values *values);

/* Integers, or real numbers where one is; those without `flag` among the flags are null. Integers beside real numbers
 * are rounded to doubles, and then copied. Without an owner the bits are the batch's to free. */
void batch_numbers(struct batch *batch, const char *name, const char *unit, struct number_column numbers,
                   const uint8_t *flags, uint8_t flag, const struct column_owner *owner);

/* The column's values, borrowed. */
static inline struct batch_values values_held(const void *data, const struct column_owner *owner) {
    owner->hold(owner->thing);
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

/*
 * Values of any type by where they stand in a document, as a column of the type that holds them all.
 */

/* A column of args, see batch_name_arg(). places[i]: of row i; at 0: null, as a null in the text is. See
 * sutra/columns.h for the types. O(bytes of the values). */
void batch_places(struct batch *batch, const char *name, const struct document *document,
                  const struct json_place *places);

#endif
