/*
 * ranks.h - the tables of many ranks, for who has read the traces for more than these.
 */
#ifndef ANALYZE_OPERATORS_RANKS_H
#define ANALYZE_OPERATORS_RANKS_H

#include "analyze/operators/operators.h"
#include "analyze/ranks.h"

/* Joins the tables of tasks, by number; NULL: left out. They become the ranks' own; the tasks must live as long. */
enum sutra_status operators_ranks_join(const struct rank_tasks *tasks, struct sutra_operators **operators,
                                       struct sutra_operators_ranks **ranks, struct sutra_error *error);

/* The partial result of a rank; a decoded one gets the options, and is the caller's to free (NULL after a failure). */
void operators_codec(struct codec *codec, const struct sutra_operators_options *options,
                     struct sutra_operators **operators);

#endif
