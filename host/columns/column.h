/*
 * column.h - allocates, grows and moves columns of any type.
 */
#ifndef COLUMNS_COLUMN_H
#define COLUMNS_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/memory.h"
#include "columns/numbers.h"

/* A zeroed column of n elements, and one more, so that an empty column is not NULL. NULL: out of memory. */
static inline void *column_new(size_t n, size_t size) {
    void *made = calloc(n + 1, size);
    memory_on_large_pages(made, (n + 1) * size);
    return made;
}

/* The same for numbers; false: out of memory. Free with numbers_free() in both cases. */
static inline bool numbers_new(struct number_column *column, size_t n) {
    column->bits = column_new(n, sizeof *column->bits);
    column->kind = column_new(n, sizeof *column->kind);
    return column->bits && column->kind;
}

static inline void numbers_free(struct number_column *column) {
    free(column->bits);
    free(column->kind);
}

/* Uninitialized columns of an arena, which records a failure. */
static inline struct number_column numbers_alloc(struct arena *arena, size_t n) {
    struct number_column column = {.bits = arena_alloc(arena, n, sizeof *column.bits)};
    column.kind = arena_alloc(arena, n, sizeof *column.kind);
    return column;
}

/* n rows of an arena, all ROW_NONE. */
row_t *rows_none(struct arena *arena, size_t n);

/* Resizes a column, whose pointer is at `column`, to n elements of `size` bytes. False: out of memory, unchanged. */
bool column_resize(void *column, size_t n, size_t size);

/* A column of a table, a struct with a pointer to each column: the pointer's offset, and the bytes of an element. */
struct column_form {
    size_t place, size;
};

/* Resizes all columns of a table to n rows. False: out of memory; existing rows are kept. */
bool columns_resize(void *table, const struct column_form *forms, size_t n_forms, size_t n);
void columns_free(void *table, const struct column_form *forms, size_t n_forms);

/* Points the columns of `view` at the columns of `table`, from a row on. */
void columns_view(void *view, const void *table, const struct column_form *forms, size_t n_forms, size_t row);

/* Replaces columns of another owner by copies of the first n rows, with room for `capacity` rows. False: out of memory,
 * nothing changed. */
bool columns_own(void *table, const struct column_form *forms, size_t n_forms, size_t n, size_t capacity);

/* Returns the memory after the first n of `capacity` rows to the system, in complete pages. */
void column_trim(const void *table, const struct column_form *form, size_t n, size_t capacity);

/* Copies the first n elements of a column to another table, from `row` on; the columns may overlap. */
void column_move(void *to, size_t row, const void *from, const struct column_form *form, size_t n);

/* Makes room for an element at `n`; a full column grows by half. */
static inline bool column_grow(void *column, uint64_t n, uint64_t *capacity, size_t size) {
    if (n < *capacity)
        return true;
    if (!column_resize(column, n + n / 2 + 64, size))
        return false;
    *capacity = n + n / 2 + 64;
    return true;
}

/* New capacity of full columns whose `capacity` rows were read from the first n_bytes of about `size` bytes of text:
 * enough for all of the text at this rate, between 1.5 and 8 times as many. So columns rarely move; unused room costs
 * no memory.
 */
static inline uint64_t capacity_wanted(uint64_t capacity, uint64_t n_bytes, uint64_t size) {
    uint64_t low = capacity + capacity / 2 + 1024, high = capacity * 8;
    double wanted = n_bytes ? 1.02 * (double)capacity * (double)size / (double)n_bytes : 0;
    return wanted <= (double)low ? low : wanted < (double)high ? (uint64_t)wanted : high;
}

#endif
