/*
 * column.h - making room in a column, whatever its type.
 */
#ifndef COLUMNS_COLUMN_H
#define COLUMNS_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

/* `column` points to the column's pointer; room for n elements of `size` bytes. False: out of memory, nothing changed.
 */
bool column_resize(void *column, size_t n, size_t size);

#endif
