/*
 * hta_ranks.h - inside of struct sutra_hta_ranks: what pages and lists are made of.
 */
#ifndef ANALYZE_HTA_RANKS_H
#define ANALYZE_HTA_RANKS_H

#include "analyze/hta/hta_stragglers.h"

/* The tables of a rank, by rising rank, without those that are not kept; NULL: there are no more. */
const struct sutra_hta *hta_ranks_of(const struct sutra_hta_ranks *ranks, size_t i);

const struct hta_stragglers *hta_ranks_stragglers(const struct sutra_hta_ranks *ranks);

#endif
