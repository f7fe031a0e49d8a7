/*
 * stragglers.h - the rank that all others wait for.
 *
 *     rank 0             |-| all-to-all      comes last, and takes the shortest time for it
 *     rank 1   |-----------| all-to-all
 *     rank 3       |-------| all-to-all
 *
 * Collectives of ranks are matched, by what the trace tells of them or else by their order; where they end at once, who
 * comes last holds the others up, whatever its own times look like.
 */
#ifndef ANALYZE_OVERVIEW_STRAGGLERS_H
#define ANALYZE_OVERVIEW_STRAGGLERS_H

#include "analyze/collective_calls.h"
#include "analyze/overview/findings.h"

/* Of one rank. */
struct rank_collectives {
    int64_t rank;
    int64_t from_ns, window_ns; /* its window, by the clock of `calls` */
    row_t n_steps;
    struct collective_calls calls;
    double wait_percent; /* what comes out: of the window, in which it waits for the one that is late */
};

/* Takes the collectives of a rank from its overview; it needs collective_calls_free() in any case. */
enum sutra_status rank_collectives_take(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error);

/* Looks for the rank that is late; *found is whether there is one, and *finding says so. Ranks rise. */
enum sutra_status stragglers_find(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                  struct overview_finding *finding, bool *found, struct sutra_error *error);

#endif
