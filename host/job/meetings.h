/*
 * meetings.h - which collectives of a job's ranks meet, from when on their data moves, and for how long.
 *
 *     rank 0   ready |......wait......|=transfer=|          ready: all that the rank itself keeps it from has ended
 *     rank 1              ready |.....|=transfer=|
 *     rank 2                    ready |=transfer==|         the last one ready lets all begin
 *
 * All times are those of the job's clock, on which collectives end at once; so much later than the first rank each of
 * the others starts. A collective's transfer lasts on each rank from the moment at which the last member is ready to
 * the end on that rank, or to the median end where the rank's own is far from that; its execution is the members'
 * shortest kernel. On ranks with one resource for communication collectives follow each other, on all ranks in the
 * order of their median ends, and are ready when the one before them is done.
 *
 * Cost: O(n log n) in collectives.
 */
#ifndef JOB_MEETINGS_H
#define JOB_MEETINGS_H

#include "analyze/rank_clocks.h"
#include "job/rank_link.h"
#include "simulate/faithful.h"

/* A rank of a simulated job, as its record tells. */
struct meeting_rank {
    int64_t rank;
    struct rank_start start;
};

/* What is known of a job; n ranks by rising number. */
struct meeting_job {
    const struct meeting_rank *ranks;
    size_t n;
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const struct rank_clock *clocks;
    row_t n_clocks;
    int64_t world_size;
    bool per_stream, astra;
};

struct job_meetings {
    struct rank_meetings *ranks; /* as those of the job */
    uint32_t *group_number;      /* per group of the calls: its number for ASTRA-sim; 0: all ranks */
    uint64_t n_meetings;
    uint64_t n_lacking;   /* of them meetings of groups of which ranks have no file, */
    uint64_t n_alone;     /* and collectives that for this reason meet nobody */
    uint64_t n_different; /* of which ranks tell different kinds, so that nobody meets */
    uint64_t n_beside;    /* collectives that ran beside another one of their rank, on one resource */
    row_t n_apart;        /* ranks whose clocks nothing joins with that of the first one */
    double measured_us;   /* of the job: from the first start of a rank to the last end */
};

/* All in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_meetings_find(const struct meeting_job *job, struct arena *arena, struct job_meetings *meetings,
                                    struct sutra_error *error);

#endif
