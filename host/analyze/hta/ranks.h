/*
 * ranks.h - inside of struct sutra_hta_ranks: what pages and lists are made of.
 */
#ifndef ANALYZE_HTA_RANKS_H
#define ANALYZE_HTA_RANKS_H

#include "analyze/hta/stragglers.h"
#include "analyze/ranks.h"

/* The tables of a rank, by rising rank, without those that are not kept; NULL: there are no more. */
const struct sutra_hta *hta_ranks_of(const struct sutra_hta_ranks *ranks, size_t i);

/* Joins the tables of tasks, by number, NULL: left out, for who has read the traces for more than these. They become
 * the ranks' own; the tasks must live as long. */
enum sutra_status hta_ranks_join(const struct rank_tasks *tasks, struct sutra_hta **hta, struct sutra_hta_ranks **ranks,
                                 struct sutra_error *error);

const struct hta_stragglers *hta_ranks_stragglers(const struct sutra_hta_ranks *ranks);

/* The same of the steps in only[0..n_only) (NULL: all); false: out of memory. The strings are the caller's to free. */
bool hta_ranks_find_stragglers(const struct sutra_hta_ranks *ranks, const int64_t *only, size_t n_only,
                               struct hta_stragglers *stragglers, struct arena *arena);

/* The longest queues of all. */
const struct queue_list *hta_ranks_queues(const struct sutra_hta_ranks *ranks);

#endif
