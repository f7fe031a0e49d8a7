/*
 * stragglers.h - which ranks come late: from what each rank has to what all of them have.
 *
 *     rank 0 -- hta_collectives.c --> collectives, spans --+
 *     rank 1 -- hta_collectives.c --> collectives, spans --+-- hta_stragglers.c --> the reference's metric and lists
 *                                                          `-- hta_lateness.c ----> who comes late, who waits
 */
#ifndef ANALYZE_HTA_STRAGGLERS_H
#define ANALYZE_HTA_STRAGGLERS_H

#include "analyze/hta/hta.h"

/* Columns of a rank's tables. Times are nanoseconds of the trace's own clock; a step without rows begins at
 * INT64_MAX. */
enum {
    COLLECTIVE_STREAM,
    COLLECTIVE_STEP,
    COLLECTIVE_NAME,
    COLLECTIVE_GROUP, /* the ranks of its group as the trace tells them, or "" */
    COLLECTIVE_INDEX, /* of the event in the file */
    COLLECTIVE_START,
    COLLECTIVE_DUR
};
enum { SPAN_STEP, SPAN_NAMED, SPAN_FIRST, SPAN_LAST };

/* A collective of a rank. */
struct rank_collective {
    int64_t rank, stream, step, index, start_ns, dur_ns;
    uint32_t name, group; /* among the strings */
    uint64_t place;       /* in the order of ranks and their rows; then among the equal ones of its rank */
};

/* What all ranks have, by rising rank. */
struct hta_stragglers {
    struct strings strings;
    struct rank_collective *list; /* all collectives */
    uint64_t n;
    int64_t *steps; /* those that rows are named after, rising, */
    uint64_t n_steps;
    int64_t first_ns, last_ns; /* of the rows that are in them, */
    uint64_t n_steps_seen;     /* of which there are so many */
    int64_t base_ns;           /* the first row of all ranks */

    struct rank_collective *metric; /* the collectives by which the reference judges, by rank and step */
    uint64_t n_metric;
    double step_us; /* the mean step */
    bool compat;
};

/* Takes all ranks in, and of the steps only those in only[0..n_only) (NULL: all); false: out of memory. All results
 * but the strings are in the arena. */
bool stragglers_take(struct hta_stragglers *stragglers, const struct sutra_hta *const *ranks, size_t n_ranks,
                     const int64_t *only, size_t n_only, struct arena *arena);

/* Chooses the metric. */
bool stragglers_choose(struct hta_stragglers *stragglers, struct arena *arena);

/* The candidates in the order in which the reference lists them; returns how many there are. */
uint64_t stragglers_list(const struct hta_stragglers *stragglers, uint64_t n_candidates, int64_t *ranks,
                         struct arena *arena);

/* The tables. */
void stragglers_add_metric(const struct hta_stragglers *stragglers, struct sutra_table *table);

/* hta_lateness.c: ours; false: out of memory. Without communication on two ranks the table has no rows. */
bool lateness_add(struct hta_stragglers *stragglers, struct sutra_table *table, struct arena *arena);

#endif
