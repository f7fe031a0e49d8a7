/*
 * column.h - making room in a column, whatever its type.
 */
#ifndef COLUMNS_COLUMN_H
#define COLUMNS_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* A column of n elements, zeros, and one more, so that an empty one is not NULL either. NULL: out of memory. */
static inline void *column_new(size_t n, size_t size) {
    return calloc(n + 1, size);
}

/* `column` points to the column's pointer; room for n elements of `size` bytes. False: out of memory, nothing changed.
 */
bool column_resize(void *column, size_t n, size_t size);

#endif
