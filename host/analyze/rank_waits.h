/*
 * rank_waits.h - who waits for whom: collectives of ranks by one clock, what each rank waits in them and is waited for,
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
#ifndef ANALYZE_RANK_WAITS_H
#define ANALYZE_RANK_WAITS_H

#include "analyze/rank_clocks.h"
#include "facts/collective_kind.h"

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
