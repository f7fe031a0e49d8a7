/*
 * collective_matches.h - the same collective on all ranks that take part in it.
 *
 *     rank 0   0:allreduce  1:allreduce  2:broadcast           group 0, number 1: rows of ranks 0, 1 and 3
 *     rank 1   0:allreduce  1:allreduce  2:broadcast      ->
 *     rank 3                1:allreduce  2:broadcast
 *
 * Collectives of a group meet by their number, "Seq", and those that share one on a rank by their turn. Where one of
 * them does not tell its number, they meet by their order on each rank, realigned where a rank has lost some. Messages
 * meet by sender, receiver and order; by number in groups of two, whose members count them alike.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_COLLECTIVE_MATCHES_H
#define ANALYZE_COLLECTIVE_MATCHES_H

#include "analyze/collective_calls.h"
#include "columns/row.h"

struct collective_match {
    uint32_t group;
    row_t first, n;   /* order[first] and on: its rows of the table, by rank, one of each */
    int64_t number;   /* in the group */
    int64_t from, to; /* of a message, as far as it is told */
    row_t turn;       /* of those of this number, from 0 */
    bool is_message;
};

/* All in the arena. */
struct collective_matches {
    row_t *order;
    struct collective_match
        *list; /* by group, collectives before messages, by sender and receiver, by number, by turn */
    row_t n;
    bool *by_order; /* per group: its collectives tell no numbers */
};

enum sutra_status collective_matches_find(const struct collective_calls *calls, struct arena *arena,
                                          struct collective_matches *matches, struct sutra_error *error);

/* The call at this place of a match. */
static inline const struct collective_call *collective_match_call(const struct collective_calls *calls,
                                                                  const struct collective_matches *matches,
                                                                  const struct collective_match *match, row_t place) {
    return &calls->list[matches->order[match->first + place]];
}

#endif
