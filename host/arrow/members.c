/*
 * members.c - columns of an array of structs.
 */
#include "arrow/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

void member_real(const struct member_array *array, const char *name, size_t offset, const char *unit) {
    double *made = column_new(array->batch->n_rows, sizeof *made);
    struct batch_values values = {.data = made, .valid = valid_new(array->batch->n_rows)};
    for (uint64_t i = 0; i < array->batch->n_rows && made && !values.valid.failed; i++) {
        made[i] = *(const double *)member_at(array, i, offset);
        valid_put(&values.valid, i, isfinite(made[i]));
    }
    batch_values(array->batch, name, "g", unit, values);
}

void member_count(const struct member_array *array, const char *name, size_t offset, size_t size, const char *unit) {
    uint64_t *made = column_new(array->batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < array->batch->n_rows && made; i++)
        memcpy(&made[i], member_at(array, i, offset), size);
    batch_values(array->batch, name, "l", unit, (struct batch_values){.data = made});
}

void member_text(const struct member_array *array, const char *name, size_t offset) {
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(array->batch->n_rows);
    for (uint64_t i = 0; i < array->batch->n_rows && !valid.failed; i++) {
        const char *text = *(const char *const *)member_at(array, i, offset);
        valid_put(&valid, i, text != NULL);
        text_list_add(&texts, text ? text : "", text ? strlen(text) : 0);
    }
    batch_texts(array->batch, name, &texts, valid);
}

void member_word(const struct member_array *array, const char *name, size_t offset, const char *const *words,
                 uint32_t n_words) {
    uint8_t *numbers = column_new(array->batch->n_rows, sizeof *numbers);
    for (uint64_t i = 0; i < array->batch->n_rows && numbers; i++)
        numbers[i] = (uint8_t) * (const unsigned *)member_at(array, i, offset);
    array->batch->failed |= !numbers;
    if (numbers)
        batch_words(array->batch, name, numbers, words, n_words);
    free(numbers);
}
