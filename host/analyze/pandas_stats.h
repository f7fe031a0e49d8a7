/*
 * pandas_stats.h - sums and spreads of doubles, rounded as numpy and pandas round them, so that tables are equal to
 * theirs in the last digit.
 *
 *     numpy    sums are pairwise: eight partial sums up to 128 values, halves beyond; deviations have ddof 0
 *     pandas   groupby() adds the first value to numpy's sum of the other values if the rows are sorted by group and
 *              none is NaN. Otherwise it compensates sums (Kahan). It updates the variance (ddof 1) with each value
 *              (Welford).
 *
 * The rules match numpy 2.4 and pandas 3.1.
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

/* How the rows of a column that is grouped follow each other. */
enum group_order { GROUPS_MIXED, GROUPS_SORTED };

/* SORTED: group numbers never descend. By group, `rank` is the position of its key among the sorted keys; NULL: groups
 * are numbered so. */
enum group_order pandas_group_order(const uint32_t *groups, uint64_t n, const uint32_t *rank);

/* The sum of a group, none of whose values is NaN. */
double pandas_sum(const double *values, uint64_t n, enum group_order order);

/* The same as pandas' groupby() has them of a group; values that are NaN are skipped. `order`: MIXED where any value
 * of the column is NaN. */
struct value_stats pandas_stats(const double *values, uint64_t n, enum group_order order, double *scratch);

#endif
