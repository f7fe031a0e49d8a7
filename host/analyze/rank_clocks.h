/*
 * rank_clocks.h - offsets and drifts of the clocks of ranks, from collectives that end on all ranks simultaneously; and
 * waits of ranks for each other, with the rule for stragglers.
 *
 *     ends of each collective, less the end on its smallest rank --line through medians--> edges between ranks
 *     --shortest path--> the clock of each rank against the smallest rank with which it is connected
 *
 * Messages and exchanges of uneven parts, whose ends may differ, connect only ranks that collectives do not connect.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_RANK_CLOCKS_H
#define ANALYZE_RANK_CLOCKS_H

#include "analyze/collective_matches.h"
#include "facts/collectives.h"

/* A clock is off if its offset is at least this many times the spread around its line. */
#define RANK_CLOCK_CLEARLY 5

/* A rank's clock is ahead of the clock of `reference` by offset_ns at at_ns, by its own clock, and by `drift` more per
 * ns. */
struct rank_clock {
    int64_t rank;
    int64_t reference;         /* the smallest rank with which it is connected; itself: its clock stays */
    int64_t at_ns, offset_ns;  /* the median over its collectives */
    int64_t first_ns, last_ns; /* its collectives, by its own clock */
    double drift;              /* 0 if none is clear */
    int64_t spread_ns;         /* the median distance from the line */
    row_t n;                   /* collectives from which it was found; 0: none connects it */
    bool by_messages;          /* only messages or uneven exchanges connect it: it is rough */
};

/* A row for each rank of the table, by rank, in the arena. */
enum sutra_status rank_clocks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                   struct arena *arena, struct rank_clock **clocks, row_t *n,
                                   struct sutra_error *error);

/* A time of the rank by the clock of its reference. */
int64_t rank_clock_time(const struct rank_clock *clock, int64_t ns);

/* Whether the clock is off by clearly more than its spread somewhere among its collectives. */
bool rank_clock_is_off(const struct rank_clock *clock);

/* The index of a rank in the list, which contains it. O(log n). */
row_t rank_clock_index(const struct rank_clock *clocks, row_t n, int64_t rank);

/* Counts impossible calls: they end before the last rank arrives at their collective, by more than `tolerance_ns`.
 * `clocks` NULL: by the ranks' own clocks; only clocks that are off are corrected. */
uint64_t rank_clocks_impossible(const struct collective_calls *calls, const struct collective_matches *matches,
                                const struct rank_clock *clocks, row_t n, int64_t tolerance_ns);

/* By index: whether a clock is to be corrected, in the arena. Clocks that are off are, unless this results in more
 * impossible calls. n_impossible: their number before and after, or NULL. NULL: out of memory. */
bool *rank_clocks_set(const struct collective_calls *calls, const struct collective_matches *matches,
                      const struct rank_clock *clocks, row_t n, struct arena *arena, uint64_t n_impossible[2]);

/*
 * Waits between ranks, by one clock.
 *
 *     rank 0  |-- waits ----|== transfer ==|
 *     rank 1       |- waits |==============|          second-latest: so early could all be without rank 2
 *     rank 2                |==============|          arrives last: shortest duration
 *
 * A rank is late, a straggler, if the other ranks wait for it, on average, for at least STRAGGLER_PERCENT of the time.
 * There are late ranks only if the ranks wait STRAGGLER_TIMES as long for the latest one as for half of all ranks, and
 * if at least half of all waits are for late ranks. Cost: O(n log ranks) for n calls.
 */

#define STRAGGLER_PERCENT 5
#define STRAGGLER_TIMES   3

/* Ends of ranks that waited for each other lie no further apart; else the clocks are unknown, or the calls are not of
 * one collective. */
#define ENDS_AGREE_NS 100000

/* The part of a rank that is analyzed, by its own clock. */
struct rank_window {
    int64_t from_ns, to_ns;
};

/* Collectives of a job. */
struct job_collectives {
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const struct rank_clock *clocks;
    const bool *clock_set; /* by index of the clock, from rank_clocks_set() */
    row_t n_clocks;
    const struct rank_window *windows; /* by index of the clock; NULL: all counts */
};

/* A time of a call by the common clock. */
int64_t job_time(const struct job_collectives *job, const struct collective_call *call, int64_t ns);

/* A match, by the common clock. */
struct collective_moments {
    row_t first, last;            /* indices in it of the first and the last rank to arrive */
    int64_t first_ns, arrival_ns; /* of these */
    int64_t before_ns;            /* arrival of the second-latest rank */
    int64_t first_end_ns, last_end_ns;
    int64_t transfer_ns; /* the shortest duration, without a wait */
    row_t shortest;      /* its index */
    double wait_ns;      /* sum over all ranks */
};

struct collective_moments collective_moments_of(const struct job_collectives *job,
                                                const struct collective_match *match);

/* Whether all ranks of a match wait for the last one, within their windows. */
bool collective_synchronizes(const struct job_collectives *job, const struct collective_match *match,
                             const struct collective_moments *moments);

/* Of a rank, by index of its clock. */
struct rank_waits {
    uint64_t n, n_last, n_first;
    double in_ns, own_wait_ns;
    double late_ns;              /* sum of its arrivals, each after the first rank's */
    double wait_caused_ns;       /* mean wait of the other ranks for it */
    double total_wait_caused_ns; /* their summed wait */
};

/* Adds a match to sums, which are zeros at first; returns whether its ranks wait for each other. */
bool rank_waits_add(const struct job_collectives *job, const struct collective_match *match,
                    const struct collective_moments *moments, struct rank_waits *waits);

/* The index of the rank for which the others wait most. n > 0. */
row_t find_straggler_candidate(const struct rank_waits *waits, row_t n);

/* Sets late[i] for each rank: whether it is late in a time span. Returns the number of late ranks. n > 0. If more than
 * half of the ranks cause long waits, only those are late for which the others wait more than 1 / STRAGGLER_TIMES as
 * long as for the latest one: at most half. */
row_t find_late_ranks(const struct rank_waits *waits, row_t n, double span_ns, bool *late);

/* Texts name at most LATE_NAMED late ranks: rows[0] is the one for which the others wait most. Returns their number. */
#define LATE_NAMED 3
row_t find_latest_ranks(const struct rank_waits *waits, row_t n, const bool *late, row_t rows[LATE_NAMED]);

#endif
