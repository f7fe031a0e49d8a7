/*
 * row_list.c - see row_list.h.
 */
#include "columns/row_list.h"

#include <stdlib.h>

static int compare_rows(const void *a, const void *b) {
    row_t x = *(const row_t *)a, y = *(const row_t *)b;
    return (x > y) - (x < y);
}

void rows_sort(row_t *rows, uint64_t n) {
    if (n > 1)
        qsort(rows, n, sizeof *rows, compare_rows);
}

uint64_t rows_sort_unique(row_t *rows, uint64_t n) {
    uint64_t kept = 0;
    rows_sort(rows, n);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || rows[i] != rows[i - 1])
            rows[kept++] = rows[i];
    return kept;
}
