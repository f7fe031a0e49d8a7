/*
 * pandas_stats.c - sums and spreads as numpy and pandas round them. O(n log n), for the median.
 */
#include "analyze/pandas_stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/order.h"

/* Values that numpy adds with eight partial sums. */
#define PAIRWISE_BLOCK 128

double numpy_sum(const double *values, uint64_t n) {
    if (n < 8) {
        double sum = 0;
        for (uint64_t i = 0; i < n; i++)
            sum += values[i];
        return sum;
    }
    if (n > PAIRWISE_BLOCK) {
        uint64_t half = n / 2 - n / 2 % 8;
        return numpy_sum(values, half) + numpy_sum(values + half, n - half);
    }
    double part[8];
    uint64_t i = 8;
    for (int k = 0; k < 8; k++)
        part[k] = values[k];
    for (; i < n - n % 8; i += 8)
        for (int k = 0; k < 8; k++)
            part[k] += values[i + (uint64_t)k];
    double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; i++)
        sum += values[i];
    return sum;
}

/* Of n values in `sorted`, which get sorted. */
static void add_order(struct value_stats *stats, double *sorted) {
    uint64_t n = stats->n;
    stats->median = stats->min = stats->max = NAN;
    if (n == 0)
        return;
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    stats->median = n % 2 ? sorted[n / 2] : (sorted[n / 2] + sorted[n / 2 - 1]) / 2;
    stats->min = sorted[0];
    stats->max = sorted[n - 1];
}

struct value_stats numpy_stats(const double *values, uint64_t n, double *scratch) {
    struct value_stats stats = {.n = n, .sum = numpy_sum(values, n)};
    stats.mean = stats.sum / (double)n;
    for (uint64_t i = 0; i < n; i++)
        scratch[i] = (values[i] - stats.mean) * (values[i] - stats.mean);
    stats.std = sqrt(numpy_sum(scratch, n) / (double)n);
    for (uint64_t i = 0; i < n; i++)
        scratch[i] = values[i];
    add_order(&stats, scratch);
    return stats;
}

enum group_order pandas_group_order(const uint32_t *groups, uint64_t n, const uint32_t *rank) {
    for (uint64_t i = 1; i < n; i++)
        if (rank ? rank[groups[i]] < rank[groups[i - 1]] : groups[i] < groups[i - 1])
            return GROUPS_MIXED;
    return GROUPS_SORTED;
}

/* Adds a value to a sum; `lost` is the rounding error of the sum so far. */
static void add_compensated(double *sum, double *lost, double value) {
    double added = value - *lost, next = *sum + added;
    *lost = next - *sum - added;
    *lost = isnan(*lost) ? 0 : *lost;
    *sum = next;
}

double pandas_sum(const double *values, uint64_t n, enum group_order order) {
    double sum = 0, lost = 0;
    if (n && order == GROUPS_SORTED)
        return values[0] + numpy_sum(values + 1, n - 1);
    for (uint64_t i = 0; i < n; i++)
        add_compensated(&sum, &lost, values[i]);
    return sum;
}

struct value_stats pandas_stats(const double *values, uint64_t n, enum group_order order, double *scratch) {
    struct value_stats stats = {0};
    double mean = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            continue;
        double before = mean;
        scratch[stats.n++] = values[i];
        mean += (values[i] - before) / (double)stats.n;
        squares += (values[i] - mean) * (values[i] - before);
    }
    stats.sum = pandas_sum(scratch, stats.n, order);
    stats.mean = stats.n ? stats.sum / (double)stats.n : (double)NAN;
    stats.std = stats.n > 1 ? sqrt(squares / (double)(stats.n - 1)) : (double)NAN;
    add_order(&stats, scratch);
    return stats;
}
