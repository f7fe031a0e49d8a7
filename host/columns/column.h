/*
 * column.h - making room in a column, whatever its type.
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
#include "columns/row.h"

/* A column of n elements, zeros, and one more, so that an empty one is not NULL either. NULL: out of memory. */
static inline void *column_new(size_t n, size_t size) {
    void *made = calloc(n + 1, size);
    memory_on_large_pages(made, (n + 1) * size);
    return made;
}

/* The same for numbers; false: out of memory. In any case numbers_free() frees what there is. */
static inline bool numbers_new(struct number_column *column, size_t n) {
    column->bits = column_new(n, sizeof *column->bits);
    column->kind = column_new(n, sizeof *column->kind);
    return column->bits && column->kind;
}

static inline void numbers_free(struct number_column *column) {
    free(column->bits);
    free(column->kind);
}

/* Columns of an arena, uninitialised; without memory the arena says so. */
static inline struct number_column numbers_take(struct arena *arena, size_t n) {
    struct number_column column = {.bits = arena_take(arena, n, sizeof *column.bits)};
    column.kind = arena_take(arena, n, sizeof *column.kind);
    return column;
}

/* n rows of an arena, all ROW_NONE. */
row_t *rows_none(struct arena *arena, size_t n);

/* `column` points to the column's pointer; room for n elements of `size` bytes. False: out of memory, nothing changed.
 */
bool column_resize(void *column, size_t n, size_t size);

/* The columns of a table, a struct that has a pointer to each: where that stands, and the bytes of an element. */
struct column_form {
    size_t place, size;
};

/* Room for n rows in each of a table's columns. False: out of memory; rows that were there are kept. */
bool columns_resize(void *table, const struct column_form *forms, size_t n_forms, size_t n);
void columns_free(void *table, const struct column_form *forms, size_t n_forms);

/* Lets the columns of `view` be those of `table` from a row on. */
void columns_view(void *view, const void *table, const struct column_form *forms, size_t n_forms, size_t row);

/* Puts copies with room for `capacity` rows, which have the first n, in the place of columns that others own. False:
 * out of memory, nothing changed. */
bool columns_own(void *table, const struct column_form *forms, size_t n_forms, size_t n, size_t capacity);

/* Gives the memory behind the first n of `capacity` rows back, but for pieces of pages. */
void column_trim(const void *table, const struct column_form *form, size_t n, size_t capacity);

/* Copies the first n elements of a column to those of another table from a row on; they may overlap. */
void column_move(void *to, size_t row, const void *from, const struct column_form *form, size_t n);

/* Room for an element at `n` in a column that grows by halves; *capacity is how many it has room for. */
static inline bool column_grow(void *column, uint64_t n, uint64_t *capacity, size_t size) {
    if (n < *capacity)
        return true;
    if (!column_resize(column, n + n / 2 + 64, size))
        return false;
    *capacity = n + n / 2 + 64;
    return true;
}

/* How many rows to make room for when `capacity` are full, which took the first `n_bytes` of about `size` bytes of
 * text: as many as all of it needs if it goes on like this, but half as many again at least, and eight times as many at
 * most. So columns are seldom moved; room that is not used costs no memory. */
static inline uint64_t capacity_wanted(uint64_t capacity, uint64_t n_bytes, uint64_t size) {
    uint64_t least = capacity + capacity / 2 + 1024, most = capacity * 8;
    double wanted = n_bytes ? 1.02 * (double)capacity * (double)size / (double)n_bytes : 0;
    return wanted <= (double)least ? least : wanted < (double)most ? (uint64_t)wanted : most;
}

#endif
