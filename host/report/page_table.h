/*
 * page_table.h - sort the rows of a table by sums of columns.
 */
#ifndef REPORT_PAGE_TABLE_H
#define REPORT_PAGE_TABLE_H

#include "analyze/table.h"

/* Sorts the rows by the falling sum of columns first..last, equal ones as they were. Out of memory sets `failed`. */
void table_sort_falling(struct sutra_table *table, uint32_t first, uint32_t last);

#endif
