/*
 * job_collectives.h - the collectives of a synthetic job.
 *
 * Each collective of a group has a number, from 0. Its kind and size are computed from group and number, so that all
 * members agree. Each rank launches it at the time of its own program. A collective starts on a rank when the rank's
 * stream is free, and ends on all ranks after the last rank has started and the data has moved:
 *
 *     rank 0   launch [ waits .......... | moves ]
 *     rank 1            launch  [ waits  | moves ]
 *     rank 2                      launch [ moves ]     the same end, within some hundred nanoseconds
 *
 * Within a step, nothing depends on this end before all ranks synchronize (generator.c). So the ends of a step are
 * computed after each rank has played the step, and kept; then the files of a rank can be written alone.
 */
#ifndef GENERATE_JOB_COLLECTIVES_H
#define GENERATE_JOB_COLLECTIVES_H

#include <stdint.h>

#include "generate/generate.h"
#include "generate/lines.h"
#include "generate/operators.h"
#include "generate/random.h"

/* The groups of a rank: all ranks; the rank and its neighbour; messages between both, which are counted separately. */
enum collective_set { SET_WORLD, SET_PAIR, SET_MESSAGES, N_COLLECTIVE_SETS };

struct collective {
    enum collective_set set;
    enum collective_kind kind; /* on this rank */
    int64_t turn;              /* number in the group */
    int64_t n_in, n_out;       /* elements */
    int64_t duration;          /* nanoseconds after the start of the last rank */
};

/* Ends of collectives, shared by all ranks. */
struct collective_ends {
    struct arena arena;
    int64_t *list; /* per collective: an end per group of its set */
    uint64_t n, capacity;
};

/* A rank of a job. */
struct job_member {
    const struct generate_job_options *job;
    uint32_t rank;
    struct random noise;
    struct collective_ends *ends;
    struct template kernels[N_COLLECTIVE_KINDS];
    int64_t turns[N_COLLECTIVE_SETS]; /* number of the next collective */
    struct collective next;           /* the launched collective */
    uint64_t at;                      /* index of its ends */
    bool is_settled;                  /* all ends are known */
    struct arena arena;               /* of the templates and the following columns: collectives of this step */
    struct collective *launched;
    int64_t *ready; /* earliest start */
    uint64_t n_launched, launched_capacity, ready_capacity;
};

/* False: out of memory. */
bool job_member_make(struct job_member *member, const struct generate_job_options *job, uint32_t rank,
                     struct collective_ends *ends);

/* Number of ranks on the host of this rank. */
uint32_t job_member_neighbours(const struct job_member *member);
/* Writes "distributedInfo" of a device trace. */
void job_member_write_info(const struct job_member *member, struct output *output);

/* Resets the state before a pass. */
void job_member_rewind(struct job_member *member, bool is_settled);

/* Selects the next collective. */
void collective_draw(struct job_member *member, struct random *program);

/* Whether the trace lacks the kernel of the launched collective. */
bool collective_is_lost(const struct job_member *member);

/* The end of the launched collective on this rank, if it can start at `ready` and starts at `start`: `start` while ends
 * are unknown. */
int64_t collective_end(struct job_member *member, int64_t ready, int64_t start);

/* Computes the ends of all launched collectives. clocks[rank]: when the rank's stream is free, before and after;
 * ends[rank]: end of the rank's last collective. False: out of memory. */
bool collectives_settle(struct job_member *members, int64_t *clocks, int64_t *ends);

/* Nanoseconds from the end of a collective until its stream is free. */
#define COLLECTIVE_GAP_NS 700

#endif
