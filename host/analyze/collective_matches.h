/*
 * collective_matches.h - the same collective on all ranks that take part in it.
 *
 *     rank 0   0:allreduce  1:allreduce  2:broadcast           group 0, number 1: rows of ranks 0, 1 and 3
 *     rank 1   0:allreduce  1:allreduce  2:broadcast      ->
 *     rank 3                1:allreduce  2:broadcast
 *
 * Collectives of a group are matched by their number, "Seq", and calls of a rank with the same number by their turn. If
 * a call of the group has no number, all are matched by their order on each rank, realigned where a rank lost some.
 * "Comms Id", if every call of the group has it, precedes Seq. Messages are matched by sender, receiver and order; in
 * groups of two, whose members count them alike, by number. Kernels without a group of other libraries than NCCL are
 * matched by their index among the kernels of their library and phase, if every rank has equally many.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_COLLECTIVE_MATCHES_H
#define ANALYZE_COLLECTIVE_MATCHES_H

#include "analyze/collective_calls.h"
#include "columns/numbers.h"

struct collective_match {
    uint32_t group;
    row_t first, n;   /* its rows of the table are order[first] .. order[first + n - 1], by rank */
    int64_t number;   /* in the group */
    int64_t from, to; /* of a message; CALL_UNKNOWN: not recorded */
    row_t turn;       /* among matches of this number, from 0 */
    bool is_message;
};

/* All in the arena. */
struct collective_matches {
    row_t *order;
    struct collective_match
        *list; /* by group, collectives before messages, by sender and receiver, by number, by turn */
    row_t n;
    bool *by_order; /* by group: matched by order */
};

enum sutra_status collective_matches_find(const struct collective_calls *calls, struct arena *arena,
                                          struct collective_matches *matches, struct sutra_error *error);

/* Call i of a match. */
static inline const struct collective_call *collective_match_call(const struct collective_calls *calls,
                                                                  const struct collective_matches *matches,
                                                                  const struct collective_match *match, row_t i) {
    return &calls->list[matches->order[match->first + i]];
}

#endif
