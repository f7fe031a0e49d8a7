/*
 * pandas_stats.h - sums and spreads of doubles, rounded as numpy and pandas round them, so that tables are equal to
 * theirs in the last digit.
 *
 *     numpy    sums are pairwise: eight partial sums up to 128 values, halves beyond; the deviation is that of all
 *     pandas   groupby() compensates sums (Kahan) and updates the variance with each value (Welford), of a sample
 */
#ifndef ANALYZE_PANDAS_STATS_H
#define ANALYZE_PANDAS_STATS_H

#include <stdint.h>

/* NaN where there are too few values; the sum of no values is 0. */
struct value_stats {
    uint64_t n;
    double sum, mean, median, std, min, max;
};

/* numpy.sum(). */
double numpy_sum(const double *values, uint64_t n);

/* numpy.sum() and so on of n values, none of them NaN. `scratch` has room for n. O(n log n). */
struct value_stats numpy_stats(const double *values, uint64_t n, double *scratch);

/* The same as pandas' groupby() has them of a group; values that are NaN are skipped. */
struct value_stats pandas_stats(const double *values, uint64_t n, double *scratch);

/* Adds a value to a sum as groupby().sum() does; `lost` is what rounding has taken from the sum so far, 0 at first. */
static inline void pandas_add(double *sum, double *lost, double value) {
    double added = value - *lost, next = *sum + added;
    *lost = next - *sum - added;
    if (*lost != *lost)
        *lost = 0;
    *sum = next;
}

#endif
