/*
 * rank_clocks.h - how far the clocks of ranks are ahead of each other, and how they drift, found from collectives that
 * end on all ranks at once.
 *
 *     ends of each collective, less that of its smallest rank --line through medians--> edges between ranks
 *     --the surest way--> each rank against the smallest one that it is joined with
 *
 * Messages and exchanges of uneven parts, whose ends may lie apart, join only what nothing else does.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_RANK_CLOCKS_H
#define ANALYZE_RANK_CLOCKS_H

#include "analyze/collective_matches.h"

/* A clock is off where it is so many times further ahead, or behind, than what is left around its line. */
#define RANK_CLOCK_CLEARLY 5

/* How far a rank's clock is ahead of that of `reference`: offset_ns at at_ns, by the rank's own clock, and `drift` more
 * each ns. */
struct rank_clock {
    int64_t rank;
    int64_t reference;         /* the smallest rank that it is joined with; itself: its clock stays */
    int64_t at_ns, offset_ns;  /* the median over its collectives */
    int64_t first_ns, last_ns; /* its collectives, by its own clock */
    double drift;              /* 0 where none is seen clearly */
    int64_t spread_ns;         /* the median of what is left on either side of the line */
    row_t n;                   /* collectives that it was found from; 0: no such collective leads to it */
    bool by_messages;          /* only messages and such lead to it: it is rough */
};

/* A row for each rank of the table, by rank, in the arena. */
enum sutra_status rank_clocks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                   struct arena *arena, struct rank_clock **clocks, row_t *n,
                                   struct sutra_error *error);

/* A time of the rank by the clock of its reference. */
int64_t rank_clock_time(const struct rank_clock *clock, int64_t ns);

/* Whether the clock is off by clearly more than its spread somewhere among its collectives. */
bool rank_clock_is_off(const struct rank_clock *clock);

/* The place of a rank in the list, which has it. O(log n). */
row_t rank_clock_place(const struct rank_clock *clocks, row_t n, int64_t rank);

/* Calls that end before the last rank has come to their collective, by more than `tolerance_ns`, which cannot be.
 * `clocks` NULL: by the ranks' own clocks; only those that are off are corrected. */
uint64_t rank_clocks_impossible(const struct collective_calls *calls, const struct collective_matches *matches,
                                const struct rank_clock *clocks, row_t n, int64_t tolerance_ns);

/* Whose times are taken as set right, by place, in the arena: of clocks that are off, unless that leaves more that
 * cannot be. n_impossible: how much that is before and after; NULL: not asked for. NULL: out of memory. */
bool *rank_clocks_set(const struct collective_calls *calls, const struct collective_matches *matches,
                      const struct rank_clock *clocks, row_t n, struct arena *arena, uint64_t n_impossible[2]);

#endif
