/*
 * keys.c - ids and numbers: one pass each, which finds out what is null and of what type a column is.
 */
#include "arrow/keys.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"
#include "text/number_text.h"

void batch_keys(struct batch *batch, const char *name, const value_key *keys, value_key none,
                const struct column_owner *owner) {
    struct batch_values values = values_held(keys, owner);
    values.valid = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !values.valid.failed; i++)
        valid_put(&values.valid, i, key_is_integer(keys[i]) && keys[i] != none);
    batch_values(batch, name, "l", NULL, values);
}

void batch_key_texts(struct batch *batch, const char *name, const value_key *keys, const struct values *values) {
    uint32_t *numbers = column_new(batch->n_rows, sizeof *numbers);
    struct strings strings;
    bool ok = strings_init(&strings) && numbers;
    for (uint64_t i = 0; i < batch->n_rows && ok; i++) {
        char room[NUMBER_TEXT_MAX];
        size_t length;
        numbers[i] = STRING_NONE;
        if (key_is_integer(keys[i]) || keys[i] < KEY_VALUES)
            continue;
        const char *text = values_text(values, keys[i], room, &length);
        ok = (numbers[i] = strings_intern(&strings, text, length)) != STRING_NONE;
    }
    batch->failed |= !ok;
    if (ok)
        batch_strings(batch, name, numbers, &strings);
    strings_free(&strings);
    free(numbers);
}

/* What is among numbers: an integer 0 has the bits of the real number 0. */
struct number_mix {
    bool reals, integers;
};

static struct number_mix mix_of(struct number_column numbers, uint64_t n) {
    struct number_mix mix = {0};
    for (uint64_t i = 0; i < n; i++) {
        bool real = numbers.kind[i] == NUMBER_DOUBLE;
        mix.reals |= real;
        mix.integers |= !real && numbers.bits[i] != 0;
    }
    return mix;
}

static double *copy_as_reals(struct number_column numbers, uint64_t n) {
    double *made = column_new(n, sizeof *made);
    for (uint64_t i = 0; i < n && made; i++)
        made[i] = number_as_double(number_at(numbers, (row_t)i));
    return made;
}

void batch_numbers(struct batch *batch, const char *name, const char *unit, struct number_column numbers,
                   const uint8_t *flags, uint8_t flag, const struct column_owner *owner) {
    struct number_mix mix = mix_of(numbers, batch->n_rows);
    struct batch_values values = {0};
    if (mix.reals && mix.integers) {
        values.data = copy_as_reals(numbers, batch->n_rows);
        free(owner ? NULL : numbers.bits);
    } else if (owner) {
        values = values_held(numbers.bits, owner);
    } else {
        values.data = numbers.bits;
    }
    values.valid = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !values.valid.failed; i++)
        valid_put(&values.valid, i, (flags[i] & flag) != 0);
    batch_values(batch, name, mix.reals ? "g" : "l", unit, values);
}
