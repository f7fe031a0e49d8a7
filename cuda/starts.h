/*
 * starts.h - rows in the order of their starts: how many begin before a moment, and which of them begin together.
 */
#ifndef CUDA_STARTS_H
#define CUDA_STARTS_H

#include "cuda/gpu.h"

/* The number of rows that begin before a moment. */
SHARED row_t count_begun(struct number_column ts, row_t n, struct number moment) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, op_begins_before(number_at(ts, bisect_middle(at)), moment));
    return at.low;
}

/* Takes memory for n rows and fills it: the first row that begins with each row. */
row_t *starts_find_first(struct gpu *gpu, struct number_column ts, row_t n);

#endif
