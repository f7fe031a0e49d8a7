/*
 * row_heap.h - a heap of rows: the first one by an order that the caller has, again and again.
 *
 *     static bool ends_before(const void *table, row_t a, row_t b) { ... }
 *
 *     row_heap_push(&heap, row, ends_before, table);
 *     row_t first = row_heap_pop(&heap, ends_before, table);
 *
 * The caller makes room for all rows that are in it at a time. The order must not change while they are. O(log n) each;
 * everything is inline, so that the order is, too.
 */
#ifndef COLUMNS_ROW_HEAP_H
#define COLUMNS_ROW_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "columns/row.h"

struct row_heap {
    row_t *rows; /* rows[0] is the first */
    row_t n;
};

/* The order of the rows themselves; `none` is NULL. */
static inline bool row_is_lower(const void *none, row_t a, row_t b) {
    (void)none;
    return a < b;
}

__attribute__((always_inline)) static inline void
row_heap_push(struct row_heap *heap, row_t row, bool (*before)(const void *arg, row_t a, row_t b), const void *arg) {
    row_t at = heap->n++;
    for (; at && before(arg, row, heap->rows[(at - 1) / 2]); at = (at - 1) / 2)
        heap->rows[at] = heap->rows[(at - 1) / 2];
    heap->rows[at] = row;
}

/* Takes the first one out; there must be one. */
__attribute__((always_inline)) static inline row_t
row_heap_pop(struct row_heap *heap, bool (*before)(const void *arg, row_t a, row_t b), const void *arg) {
    row_t first = heap->rows[0], last = heap->rows[--heap->n];
    uint64_t at = 0, child;
    for (; (child = 2 * at + 1) < heap->n; at = child) {
        child += child + 1 < heap->n && before(arg, heap->rows[child + 1], heap->rows[child]);
        if (!before(arg, heap->rows[child], last))
            break;
        heap->rows[at] = heap->rows[child];
    }
    heap->rows[at] = last;
    return first;
}

#endif
