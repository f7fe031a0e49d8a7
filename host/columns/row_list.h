/*
 * row_list.h - lists of rows: putting short ones in order, sorting by small numbers, turning lists around.
 */
#ifndef COLUMNS_ROW_LIST_H
#define COLUMNS_ROW_LIST_H

#include <stdint.h>

#include "columns/row.h"

/* Sorts rows, rising. O(n log n). */
void rows_sort(row_t *rows, uint64_t n);

/* The same, and drops what stands there twice; gives how many are left. */
uint64_t rows_sort_unique(row_t *rows, uint64_t n);

/* The place of a row among n that rise, or ROW_NONE: it is not there. O(log n). */
row_t rows_place(const row_t *rows, row_t n, row_t row);

/* Sorts rows by number, each number's rows in the order in which they come: those of number b are then
 * sorted[first[b]] .. sorted[first[b + 1] - 1], for b below n_numbers. O(n + n_numbers). */
void rows_bucket(const row_t *rows, row_t n, const uint32_t *number, uint32_t n_numbers, row_t *first, row_t *sorted);

/* Turns lists around: where row i has the rows lists[first[i]] .., row r is on the lists of turned[turned_first[r]] ..,
 * by rising row; ROW_NONE stands for nothing. turned_first, n + 1, is 0 before; `turned` has room for all. O(n +
 * entries). */
void rows_turn(row_t n, const uint64_t *first, const row_t *lists, uint64_t *turned_first, row_t *turned);

#endif
