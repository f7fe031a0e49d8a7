/*
 * keys.h - columns of ids and of numbers as our readers make them, for a batch: numbers stay where they are.
 */
#ifndef ARROW_KEYS_H
#define ARROW_KEYS_H

#include "arrow/batch.h"
#include "columns/key.h"
#include "columns/number.h"
#include "columns/values.h"

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

#endif
