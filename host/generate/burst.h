/*
 * burst.h - random numbers, and the collectives of a synthetic job.
 *
 * Random numbers: the splitmix64 sequence, the same on every machine: a 64-bit counter, stepped by the golden ratio and
 * mixed.
 */
#ifndef GENERATE_BURST_H
#define GENERATE_BURST_H

#include <stdint.h>

#include "generate/generate.h"
#include "generate/lines.h"
#include "generate/operators.h"

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A number in [0, n), n below 2^32; the bias of the multiplication does not matter here. */
static inline uint32_t random_below(struct random *random, uint32_t n) {
    return (uint32_t)((random_next(random) >> 32) * n >> 32);
}

/* A number in [low, high]. */
static inline int64_t random_between(struct random *random, uint32_t low, uint32_t high) {
    return (int64_t)low + random_below(random, high - low + 1);
}

/*
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

/* Computes the ends of all launched collectives. clocks[rank]: when the rank's stream is free, before and after;
 * ends[rank]: end of the rank's last collective. False: out of memory. */
bool collectives_settle(struct job_member *members, int64_t *clocks, int64_t *ends);

/* Nanoseconds from the end of a collective until its stream is free. */
#define COLLECTIVE_GAP_NS 700

#endif
