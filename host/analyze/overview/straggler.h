/*
 * straggler.h - the rank that all others wait for.
 *
 *     rank 0             |-| all-to-all      comes last, and takes the shortest time for it
 *     rank 1   |-----------| all-to-all
 *     rank 3       |-------| all-to-all
 *
 * Collectives of ranks are matched, by what the trace tells of them or else by their order; who of them holds the
 * others up is one rule (analyze/rank_waits.h), which looks at the windows here. The shortest duration of each is that
 * of the transfer, so that waiting for a rank is not taken for slow links.
 */
#ifndef ANALYZE_OVERVIEW_STRAGGLER_H
#define ANALYZE_OVERVIEW_STRAGGLER_H

#include "analyze/overview/findings.h"
#include "analyze/rank_clocks.h"
#include "analyze/table.h"

/* Of one rank. */
struct rank_collectives {
    int64_t rank;
    struct rank_window window; /* by the clock of `calls` */
    row_t n_steps;
    struct collective_calls calls;
    double link;         /* what links of its device give at most, bytes a second; 0: not known */
    double wait_percent; /* what comes out: of the window, in which it waits for the one that is late */
};

/* Takes the collectives of a rank from its overview; it needs collective_calls_free() in any case. */
enum sutra_status rank_collectives_take(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error);

/* Its window again, which may have been cut since. */
void rank_collectives_cut(const struct overview *overview, struct rank_collectives *collectives);

/* What all ranks say together. */
struct job_findings {
    bool is_late;
    struct overview_finding late; /* of the rank that is */
    bool links_used;              /* large collectives are quick once all have come: links are not what is slow */
};

/* Columns of the table of waits, a row for each rank that has collectives. */
enum { WAITS_RANK, WAITS_N, WAITS_WAITED, WAITS_FOR, WAITS_LAST, WAITS_FIRST };
void waits_table_init(struct sutra_table *table);

/* Ranks rise. `waits` (may be NULL) takes the rows. */
enum sutra_status stragglers_find(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                  struct job_findings *found, struct sutra_table *waits, struct sutra_error *error);

#endif
