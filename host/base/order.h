/*
 * order.h - comparison functions for qsort() and bsearch() on arrays of plain numbers, ascending.
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

/* NaN is equal to every number, so arrays with NaN have no defined order. */
static inline int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline int compare_int64s(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

#endif
