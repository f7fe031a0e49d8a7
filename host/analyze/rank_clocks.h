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
#include "facts/collectives.h"

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

/*
 * Who waits for whom: collectives of ranks by one clock, what each rank waits in them and is waited for,
 * and the one rule that says which rank holds the others up.
 *
 *     rank 0  |-- waits ----|== transfer ==|
 *     rank 1       |- waits |==============|          comes last but one: so early could all be without rank 2
 *     rank 2                |==============|          comes last, and takes the shortest time for it
 *
 * A rank holds the others up if they wait for it, on average, for at least HELD_UP_PERCENT of the time, and for
 * HELD_UP_TIMES as long as for half of all ranks, and if at least half of all that ranks wait is for it. Cost: O(n log
 * ranks) for n calls.
 */

#define HELD_UP_PERCENT 5
#define HELD_UP_TIMES   3

/* Ends of ranks that waited for each other lie no further apart than this; else the clocks are not known, or these are
 * not calls of one collective. */
#define ENDS_AGREE_NS 100000

/* From when to when a rank is looked at, by its own clock. */
struct rank_window {
    int64_t from_ns, to_ns;
};

/* Collectives of a job. */
struct job_collectives {
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const struct rank_clock *clocks;
    const bool *clock_set; /* by place among the clocks, as rank_clocks_set() says */
    row_t n_clocks;
    const struct rank_window *windows; /* by place among the clocks; NULL: all counts */
};

/* A time of a call by the common clock. */
int64_t job_time(const struct job_collectives *job, const struct collective_call *call, int64_t ns);

/* A match, by the common clock. */
struct collective_moments {
    row_t first, last;            /* places in it of who came first, and last */
    int64_t first_ns, arrival_ns; /* when they came */
    int64_t before_ns;            /* when the last but one came */
    int64_t first_end_ns, last_end_ns;
    int64_t transfer_ns; /* the shortest duration: who comes last waits for nobody */
    row_t shortest;      /* its place */
    double wait_ns;      /* of all ranks together */
};

struct collective_moments collective_moments_of(const struct job_collectives *job,
                                                const struct collective_match *match);

/* Whether its ranks wait for each other, all of them for the last, within their windows. */
bool collective_is_met(const struct job_collectives *job, const struct collective_match *match,
                       const struct collective_moments *moments);

/* Of a rank, by place among the clocks. */
struct rank_waits {
    uint64_t n, n_last, n_first;
    double in_ns, waited_ns;
    double waited_for_ns; /* by the others, on average */
    double held_ns;       /* the same, of all of them together */
};

/* Adds a match to what begins as zeros; whether it is met. */
bool rank_waits_add(const struct job_collectives *job, const struct collective_match *match,
                    const struct collective_moments *moments, struct rank_waits *waits);

/* The place of the rank that is waited for most. n > 0. */
row_t rank_waits_most(const struct rank_waits *waits, row_t n);

/* Whether this one, which is waited for most, holds the others up for so long a time. */
bool rank_waits_hold_up(const struct rank_waits *waits, row_t n, row_t most, double span_ns);

#endif
