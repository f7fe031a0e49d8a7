/*
 * collective_matches.h - the same collective on all ranks that take part in it.
 *
 *     rank 0   0:allreduce  1:allreduce  2:broadcast           group 0, number 1: rows of ranks 0, 1 and 3
 *     rank 1   0:allreduce  1:allreduce  2:broadcast      ->
 *     rank 3                1:allreduce  2:broadcast
 *
 * Collectives of a group meet by their number, "Seq", or, where one of them does not tell it, by their order on each
 * rank. Messages meet by sender, receiver and order; by number in groups of two, whose members count them alike.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_COLLECTIVE_MATCHES_H
#define ANALYZE_COLLECTIVE_MATCHES_H

#include "analyze/collective_calls.h"
#include "columns/row.h"

struct collective_match {
    uint32_t group;
    row_t first, n;   /* order[first] and on: its rows of the table, by rank */
    int64_t number;   /* in the group */
    int64_t from, to; /* of a message, as far as it is told */
    bool is_message;
};

/* All in the arena. */
struct collective_matches {
    row_t *order;
    struct collective_match *list; /* by group, collectives before messages, by sender and receiver, by number */
    row_t n;
    bool *by_order; /* per group: its collectives tell no numbers */
};

enum sutra_status collective_matches_find(const struct collective_calls *calls, struct arena *arena,
                                          struct collective_matches *matches, struct sutra_error *error);

/* How far clocks are ahead of the one of the smallest rank, found from collectives that end on all ranks at once. */
struct rank_clock {
    int64_t rank;
    int64_t offset_ns; /* the median over its collectives */
    int64_t spread_ns; /* the median of what is left on either side */
    row_t n;           /* collectives that it was found from; 0: no such collective leads to it */
};

/* A row for each rank of the table, by rank, in the arena; ranks that none of them joins with the smallest one keep
 * their clocks. O(n log n). */
enum sutra_status rank_clocks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                   struct arena *arena, struct rank_clock **clocks, row_t *n,
                                   struct sutra_error *error);

#endif
