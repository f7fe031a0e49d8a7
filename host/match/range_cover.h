/*
 * range_cover.h - how long the intervals of each of many ranges are together, time that several cover counted once.
 *
 *     intervals   0 [1, 5)   1 [3, 8)   2 [20, 22)        ranges   [0, 2): 7   [1, 3): 7   [0, 3): 9
 *
 * Ranges may overlap and nest as they like. Cost: O((intervals + ranges) log intervals).
 */
#ifndef MATCH_RANGE_COVER_H
#define MATCH_RANGE_COVER_H

#include "base/arena.h"
#include "columns/row.h"

/* length[i] = time covered by the intervals [start[k], end[k]) for k from first[i] to last[i], less the last; end[k] >=
 * start[k]. SUTRA_SYSTEM: out of memory. */
enum sutra_status range_cover(const int64_t *start, const int64_t *end, row_t n, const row_t *first, const row_t *last,
                              row_t n_ranges, struct arena *scratch, int64_t *length, struct sutra_error *error);

#endif
