/*
 * straggler.h - the straggler among the ranks of a job.
 *
 *     rank 0             |-| all-to-all      arrives last: shortest duration
 *     rank 1   |-----------| all-to-all
 *     rank 3       |-------| all-to-all
 *
 * Input: the collectives of all ranks, which are matched by their recorded number, or else by their order. The rule for
 * a straggler is in analyze/rank_clocks.h; it is applied to the windows of the overviews. The shortest duration of a
 * collective is its transfer, so that a wait for a rank is not reported as slow links.
 */
#ifndef ANALYZE_OVERVIEW_STRAGGLER_H
#define ANALYZE_OVERVIEW_STRAGGLER_H

#include "analyze/overview/findings.h"
#include "analyze/rank_clocks.h"
#include "analyze/table.h"

struct rank_collectives {
    int64_t rank;
    struct rank_window window; /* by the clock of `calls` */
    row_t n_steps;
    struct collective_calls calls;
    double link;         /* peak of the links of its GPU, bytes per second; 0: unknown */
    double wait_percent; /* output: part of the window in which it waits for the straggler */
};

/* Reads the collectives of a rank; `collectives->calls` needs collective_calls_free() in any case. */
enum sutra_status rank_collectives_read(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error);

/* Updates the window after the overview was cropped. */
void rank_collectives_crop(const struct overview *overview, struct rank_collectives *collectives);

struct job_findings {
    bool is_late;
    struct overview_finding late; /* if is_late: the straggler */
    bool links_used;              /* by a large collective once all ranks have arrived: links are not slow */
};

/* Columns of the table of waits: a row for each rank with collectives. */
enum { WAITS_RANK, WAITS_N, WAITS_WAITED, WAITS_FOR, WAITS_LAST, WAITS_FIRST };

/* `ranks` ascend. Appends rows to `waits` (may be NULL). */
enum sutra_status find_job_straggler(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                     struct job_findings *found, struct sutra_table *waits, struct sutra_error *error);

#endif
