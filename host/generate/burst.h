/*
 * burst.h - a small deterministic source of random numbers (the splitmix64 sequence): one 64-bit counter that is
 * stepped by the golden ratio and mixed. Good enough to make traces look irregular, and the same on every machine.
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
 * What the ranks of a made-up job do together.
 *
 * A collective of a group has a number in it, from 0; of which kind and size it is follows from group and number, so
 * that all members agree without being asked. Each rank launches it when its own program is there. It begins on a rank
 * when that rank's stream is free, and ends on all of them when the last one has begun and the data have moved:
 *
 *     rank 0   launch [ waits .......... | moves ]
 *     rank 1            launch  [ waits  | moves ]
 *     rank 2                      launch [ moves ]     the same end, but for some hundred nanoseconds
 *
 * Nothing of a step depends on that end before all ranks meet (steps.c). So the ends of a step are settled when each
 * rank has played its part of it, and kept; then a rank's files can be written alone.
 */

/* The groups that a rank is in: all ranks; it and its neighbour; and messages between these two, which are counted for
 * themselves. */
enum collective_set { SET_WORLD, SET_PAIR, SET_MESSAGES, N_COLLECTIVE_SETS };

struct collective {
    enum collective_set set;
    enum collective_kind kind; /* as this rank does it */
    int64_t turn;              /* its number in the group */
    int64_t n_in, n_out;       /* elements */
    int64_t duration;          /* nanoseconds from when the last rank has begun */
};

/* What all ranks share. */
struct collective_ends {
    struct arena arena;
    int64_t *list; /* for each collective: an end for each group of its set */
    uint64_t n, capacity;
};

/* A rank of a job. */
struct job_member {
    const struct generate_job_options *job;
    uint32_t rank;
    struct random noise;
    struct collective_ends *ends;
    struct template kernels[N_COLLECTIVE_KINDS];
    int64_t turns[N_COLLECTIVE_SETS]; /* the next ones */
    struct collective next;           /* the one that is being launched */
    uint64_t at;                      /* where its ends are */
    bool is_settled;                  /* all ends are known */
    struct arena arena;               /* of the templates, and of the following: collectives of this step */
    struct collective *launched;
    int64_t *ready; /* when they could begin */
    uint64_t n_launched, launched_capacity, ready_capacity;
};

/* False: out of memory. */
bool job_member_make(struct job_member *member, const struct generate_job_options *job, uint32_t rank,
                     struct collective_ends *ends);

/* How many ranks the host of this rank has. */
uint32_t job_member_neighbours(const struct job_member *member);
/* Writes the member "distributedInfo" of a device trace. */
void job_member_write_info(const struct job_member *member, struct output *output);

/* Before a pass. */
void job_member_rewind(struct job_member *member, bool is_settled);

/* Draws the collective that all ranks launch next. */
void collective_draw(struct job_member *member, struct random *program);

/* Settles the ends of what all ranks have launched since the last time; clocks[rank] is when its stream is free, and
 * becomes so again, ends[rank] when the rank's last one ends. False: out of memory. */
bool collectives_settle(struct job_member *members, int64_t *clocks, int64_t *ends);

/* A stream is free so long after a collective. */
#define COLLECTIVE_GAP_NS 700

#endif
