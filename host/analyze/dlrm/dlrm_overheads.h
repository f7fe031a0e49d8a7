/*
 * dlrm_overheads.h - taking samples of the host's overheads.
 */
#ifndef ANALYZE_DLRM_OVERHEADS_H
#define ANALYZE_DLRM_OVERHEADS_H

#include "analyze/dlrm/dlrm_names.h"

/* Samples of all operators, in their order, and their launches. `by_shape`: of the later variant, which also takes
 * synchronisation of a stream for a launch, and neither gaps that are shorter than an event's overhead nor negative T3.
 * False: out of memory. */
bool dlrm_samples_take(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                       struct dlrm_overheads *overheads);

/* Mean and standard deviation (of the population), sums rounded as numpy does; NaN without a value. The values are
 * used up. */
void dlrm_mean_of(double *list, uint64_t n, double *mean, double *deviation);

/* Numbers the names of operators in the order of their first calls, from 1 on; 0 is what has none. False: out of
 * memory. */
bool dlrm_number_operators(const struct dlrm_operators *ops, struct tuples *names);

#endif
