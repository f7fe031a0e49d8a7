/*
 * row_heap.h - a heap of rows, the lowest first, in a column of the caller's that has room for all that it ever holds.
 *
 * Cost: O(log n) to put one in or to take the lowest out.
 */
#ifndef COLUMNS_ROW_HEAP_H
#define COLUMNS_ROW_HEAP_H

#include "columns/row.h"

static inline void row_heap_push(row_t *heap, row_t *n, row_t row) {
    row_t at = (*n)++;
    for (; at && row < heap[(at - 1) / 2]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = row;
}

/* Of a heap that is not empty. */
static inline row_t row_heap_pop(row_t *heap, row_t *n) {
    row_t first = heap[0], last = heap[--*n];
    uint64_t at = 0, child;
    for (; (child = 2 * at + 1) < *n; at = child) {
        child += child + 1 < *n && heap[child + 1] < heap[child];
        if (last <= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

#endif
