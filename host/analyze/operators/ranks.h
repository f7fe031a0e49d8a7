/*
 * ranks.h - the operator tables of many ranks, for the overview, which analyzes the traces itself.
 */
#ifndef ANALYZE_OPERATORS_RANKS_H
#define ANALYZE_OPERATORS_RANKS_H

#include "analyze/operators/operators.h"
#include "analyze/ranks.h"

/* Joins tables of ranks that another analysis made: moves the struct sutra_operators * at `offset` in each result of
 * the tasks, which must live longer. */
enum sutra_status operators_ranks_join(const struct rank_tasks *tasks, size_t offset,
                                       struct sutra_operators_ranks **ranks, struct sutra_error *error);

/* The partial result of a rank; a decoded one gets the options, and is the caller's to free (NULL after a failure). */
void operators_codec(struct codec *codec, const struct sutra_operators_options *options,
                     struct sutra_operators **operators);

#endif
