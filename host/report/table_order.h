/*
 * table_order.h - sort the rows of a table by sums of columns.
 */
#ifndef REPORT_TABLE_ORDER_H
#define REPORT_TABLE_ORDER_H

#include "analyze/table.h"

/* Sorts the rows by the falling sum of columns first..last, equal ones as they were. Out of memory sets `failed`. */
void table_sort_falling(struct sutra_table *table, uint32_t first, uint32_t last);

#endif
