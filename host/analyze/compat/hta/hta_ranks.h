/*
 * hta_ranks.h - all ranks: which ranks arrive late at collectives, and the inside of struct sutra_hta_ranks for pages.
 *
 *     rank 0 -- hta_collectives(), hta_spans() --+
 *     rank 1 -- hta_collectives(), hta_spans() --+-- stragglers_collect() --> HTA's metric and lists; table of lateness
 */
#ifndef ANALYZE_COMPAT_HTA_HTA_RANKS_H
#define ANALYZE_COMPAT_HTA_HTA_RANKS_H

#include "analyze/compat/hta/hta.h"
#include "analyze/ranks.h"

/* ---- stragglers.c ---- */

/* Columns of a rank's tables. Times are nanoseconds of the trace's own clock; a step without rows starts at
 * INT64_MAX. */
enum {
    COLLECTIVE_STREAM,
    COLLECTIVE_STEP,
    COLLECTIVE_NAME,
    COLLECTIVE_GROUP, /* the ranks of its group as the trace records them, or "" */
    COLLECTIVE_INDEX, /* of the event in the file */
    COLLECTIVE_START,
    COLLECTIVE_DUR
};
enum { SPAN_STEP, SPAN_NAMED, SPAN_FIRST, SPAN_LAST };

/* A collective of a rank. */
struct rank_collective {
    int64_t rank, stream, step, index, start_ns, dur_ns;
    uint32_t name, group; /* string ids */
    uint64_t order;       /* position among all collectives, by rank and row; then among equal ones of its rank */
};

/* All ranks, ascending. */
struct hta_stragglers {
    struct strings strings;
    struct rank_collective *list; /* all collectives */
    uint64_t n;
    int64_t *steps; /* that rows are named after, ascending */
    uint64_t n_steps;
    int64_t first_ns, last_ns; /* of the rows in these steps */
    uint64_t n_steps_with_rows;
    int64_t base_ns; /* the first row of all ranks */

    struct rank_collective *metric; /* the collectives of HTA's metric, by rank and step */
    uint64_t n_metric;
    double step_us; /* the mean step */
    bool compat;
};

/* Collects the collectives of all ranks, and the steps in only[0..n_only) (NULL: all). False: out of memory. All
 * results but the strings are in the arena. */
bool stragglers_collect(struct hta_stragglers *stragglers, const struct sutra_hta *const *ranks, size_t n_ranks,
                        const int64_t *only, size_t n_only, struct arena *arena);

/* Chooses the metric. */
bool stragglers_choose_metric(struct hta_stragglers *stragglers, struct arena *arena);

/* Lists the candidates in HTA's order; returns their number. */
uint64_t stragglers_list(const struct hta_stragglers *stragglers, uint64_t n_candidates, int64_t *ranks,
                         struct arena *arena);

/* Fills the tables. */
void stragglers_add_metric(const struct hta_stragglers *stragglers, struct sutra_table *table);

/* False: out of memory. Without collectives on two ranks the table is empty. */
bool lateness_add(struct hta_stragglers *stragglers, struct sutra_table *table, struct arena *arena);

/* ---- hta_ranks.c ---- */

/* The tables of the i-th analyzed rank, ascending by rank, without the freed ones; NULL: there is none. */
const struct sutra_hta *hta_ranks_of(const struct sutra_hta_ranks *ranks, size_t i);

const struct hta_stragglers *hta_ranks_stragglers(const struct sutra_hta_ranks *ranks);

/* The stragglers of the steps in only[0..n_only) (NULL: all); false: out of memory. The caller frees the strings. */
bool hta_ranks_find_stragglers(const struct sutra_hta_ranks *ranks, const int64_t *only, size_t n_only,
                               struct hta_stragglers *stragglers, struct arena *arena);

/* The longest queues of all ranks. */
const struct queue_list *hta_ranks_queues(const struct sutra_hta_ranks *ranks);

#endif
