/*
 * row_list.h - putting short lists of rows in order.
 */
#ifndef COLUMNS_ROW_LIST_H
#define COLUMNS_ROW_LIST_H

#include <stdint.h>

#include "columns/row.h"

/* Sorts rows, rising. O(n log n). */
void rows_sort(row_t *rows, uint64_t n);

/* The same, and drops what stands there twice; gives how many are left. */
uint64_t rows_sort_unique(row_t *rows, uint64_t n);

#endif
