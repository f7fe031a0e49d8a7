/*
 * ranks.h - inside of struct sutra_hta_ranks, for pages.
 */
#ifndef ANALYZE_HTA_RANKS_H
#define ANALYZE_HTA_RANKS_H

#include "analyze/compat/hta/stragglers.h"
#include "analyze/ranks.h"

/* The tables of the i-th analyzed rank, ascending by rank, without the freed ones; NULL: there is none. */
const struct sutra_hta *hta_ranks_of(const struct sutra_hta_ranks *ranks, size_t i);

const struct hta_stragglers *hta_ranks_stragglers(const struct sutra_hta_ranks *ranks);

/* The stragglers of the steps in only[0..n_only) (NULL: all); false: out of memory. The caller frees the strings. */
bool hta_ranks_find_stragglers(const struct sutra_hta_ranks *ranks, const int64_t *only, size_t n_only,
                               struct hta_stragglers *stragglers, struct arena *arena);

/* The longest queues of all ranks. */
const struct queue_list *hta_ranks_queues(const struct sutra_hta_ranks *ranks);

#endif
