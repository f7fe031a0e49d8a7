/*
 * table_order.c - implements table_order.h. O(n log n).
 */
#include "report/table_order.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

struct ordered {
    double sum;
    uint64_t row;
};

static int compare_ordered(const void *left, const void *right) {
    const struct ordered *a = left, *b = right;
    if (a->sum != b->sum)
        return a->sum > b->sum ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static double sum_of(const struct sutra_table *table, uint64_t row, uint32_t first, uint32_t last) {
    double sum = 0;
    for (uint32_t i = first; i <= last; i++)
        sum += table_get_real(table, i, row);
    return isnan(sum) ? -INFINITY : sum;
}

void table_sort_falling(struct sutra_table *table, uint32_t first, uint32_t last) {
    struct arena arena = {0};
    struct ordered *ordered = arena_take(&arena, table->n_rows, sizeof *ordered);
    uint64_t *order = arena_take(&arena, table->n_rows, sizeof *order);
    table->failed |= arena.failed;
    if (!table->failed) {
        for (uint64_t row = 0; row < table->n_rows; row++)
            ordered[row] = (struct ordered){sum_of(table, row, first, last), row};
        qsort(ordered, table->n_rows, sizeof *ordered, compare_ordered);
        for (uint64_t row = 0; row < table->n_rows; row++)
            order[row] = ordered[row].row;
        table_reorder(table, order);
    }
    arena_free(&arena);
}
