/*
 * statistics.h - distributions of values in groups, sums in the order of trees, sums and spreads as numpy and pandas
 * round them.
 */
#ifndef ANALYZE_STATISTICS_H
#define ANALYZE_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/numbers.h"
#include "match/steps.h"

/*
 * Distributions of values in groups, as pandas' describe(): count, mean, sample standard deviation, minimum, quartiles
 * (interpolated linearly), maximum.
 */

#define DESCRIPTION_N 8

/* NaN without values; the deviation also for one value. */
struct description {
    double count, mean, std, min, q25, q50, q75, max;
};

/* Describes the integers of each group as value / scale: values[i] is of group groups[i] < n_groups. Sums are exact.
 * O(n) for each 11 bits in which values differ. SUTRA_SYSTEM: out of memory. */
enum sutra_status describe_integers(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                    const int64_t *values, row_t n, uint32_t n_groups, double scale,
                                    struct description *descriptions, struct sutra_error *error);

/* The same of real numbers, none of them NaN. Sums are added in the order of the rows. */
enum sutra_status describe_reals(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                 const double *values, row_t n, uint32_t n_groups, struct description *descriptions,
                                 struct sutra_error *error);

/* The quantile of ascending values, 0 <= at <= 1; n > 0. */
double quantile_of(const double *sorted, uint64_t n, double at);

/*
 * Sums of leaves of trees, each rounded as if every tree node first summed up its children.
 *
 *            a                sum of the leaves x, y, z of one key:   x + (y + z), not (x + y) + z
 *          /   \
 *         x     b             Only nodes with several children that have leaves of the key matter: x and y join in a,
 *              / \            depth 0; y and z in b, depth 1. Unfinished sums are on a stack per key, deeper ones on
 *             y   z           top: O(1) amortised per leaf.
 */

struct waiting_sum {
    double us;
    uint32_t depth, below; /* index of the next one on the stack + 1, or 0 */
};

struct ordered_sums {
    struct waiting_sum *list;
    uint32_t n;
    uint64_t capacity;
};

/* One key's sum. Zero-initialise. */
struct ordered_sum {
    double last;  /* the last leaf or finished subtree */
    uint32_t top; /* of its stack + 1, or 0 */
    bool begun;
};

/* Adds a leaf, whose common ancestor with the last one is at `depth`. False: out of memory. */
bool ordered_sum_add(struct ordered_sums *sums, struct ordered_sum *sum, uint32_t depth, double us);

double ordered_sum_total(const struct ordered_sums *sums, const struct ordered_sum *sum);

/*
 * Sums and spreads of doubles, rounded as numpy and pandas round them, so that tables are equal to theirs in the last
 * digit.
 *
 *     numpy    sums are pairwise: eight partial sums up to 128 values, halves beyond; deviations have ddof 0
 *     pandas   groupby() adds the first value to numpy's sum of the other values if the rows are sorted by group and
 *              none is NaN. Otherwise it compensates sums (Kahan). It updates the variance (ddof 1) with each value
 *              (Welford).
 *
 * The rules match numpy 2.4 and pandas 3.1.
 */

/* NaN for too few values; the sum of no values is 0. */
struct value_stats {
    uint64_t n;
    double sum, mean, median, std, min, max;
};

/* numpy.sum(). */
double numpy_sum(const double *values, uint64_t n);

/* numpy.sum() and so on of n values, none of them NaN. `scratch` has room for n. O(n log n). */
struct value_stats numpy_stats(const double *values, uint64_t n, double *scratch);

/* The order of the rows of a grouped column. */
enum group_order { GROUPS_MIXED, GROUPS_SORTED };

/* SORTED: group numbers never descend. By group, `rank` is the position of its key among the sorted keys; NULL: groups
 * are numbered so. */
enum group_order pandas_group_order(const uint32_t *groups, uint64_t n, const uint32_t *rank);

/* The sum of a group, none of whose values is NaN. */
double pandas_sum(const double *values, uint64_t n, enum group_order order);

/* Statistics of a group as in pandas' groupby(), without NaN. `order`: MIXED if any value of the column is NaN. */
struct value_stats pandas_stats(const double *values, uint64_t n, enum group_order order, double *scratch);

#endif
