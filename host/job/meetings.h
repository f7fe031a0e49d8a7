/*
 * meetings.h - when the ranks of a job start each collective together, and how long its transfer takes.
 *
 *     rank 0   ready |......wait......|=transfer=|     ready: everything that the rank itself must finish before is done
 *     rank 1              ready |.....|=transfer=|
 *     rank 2                    ready |=transfer==|    the collective starts when the last rank is ready
 *
 * All times are on the clock of the job, on which a collective ends simultaneously on all ranks. Each rank starts at
 * its offset from the first rank. On each rank, the transfer lasts from the moment at which the last member is ready to
 * the end on this rank, or to the median end if the rank's own end is far from the median. The run time is the shortest
 * kernel of the members. On ranks with one resource for communication, collectives follow each other on all ranks in
 * the order of their median ends, and are ready when the previous collective is done.
 *
 * Cost: O(n log n) in collectives.
 */
#ifndef JOB_MEETINGS_H
#define JOB_MEETINGS_H

#include "analyze/rank_clocks.h"
#include "job/rank_link.h"
#include "simulate/faithful.h"

/* A rank of a simulated job, from its record. */
struct meeting_rank {
    int64_t rank;
    struct rank_start start;
};

/* The input; n ranks in ascending order. */
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
    struct rank_meetings *ranks; /* one per rank of the job */
    uint32_t *group_number;      /* per group of the calls: its number for ASTRA-sim; 0: all ranks */
    uint64_t n_meetings;
    uint64_t n_lacking;   /* matched collectives of groups in which ranks have no file */
    uint64_t n_alone;     /* collectives of one rank, because the other members have no file */
    uint64_t n_different; /* collectives whose members record different kinds; they do not wait for each other */
    uint64_t n_beside;    /* collectives that overlap another collective of their rank, on one resource */
    row_t n_apart;        /* ranks whose clocks no collective connects with the clock of the first rank */
    double measured_us;   /* duration of the job: from the first start of a rank to the last end */
};

/* Allocates the result in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_meetings_find(const struct meeting_job *job, struct arena *arena, struct job_meetings *meetings,
                                    struct sutra_error *error);

#endif
