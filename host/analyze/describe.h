/*
 * describe.h - distributions of values in groups, as pandas describe() has them: count, mean, standard deviation of a
 * sample, least, quartiles (between two values on the straight line), most.
 */
#ifndef ANALYZE_DESCRIBE_H
#define ANALYZE_DESCRIBE_H

#include "base/arena.h"
#include "columns/row.h"
#include "match/engine.h"

#define DESCRIPTION_N 8

/* NaN where there is no value; the deviation also for one value. */
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

/* The quantile of rising values, 0 <= at <= 1; n > 0. */
double quantile_of(const double *sorted, uint64_t n, double at);

#endif
