/*
 * replay.h - simulates the nodes of a job: a node starts when its dependencies have ended and its resource is free, and
 * occupies the resource for its duration.
 *
 *     rank 0   cpu  [ a ][ b    ][ c ]            a, b, c ... nodes: rows of the graph of the rank
 *              gpu       [ d ]........[ e  ]      ... e depends on c
 *              link           [ f wait | move ]   f and g match: both transfer once both have started
 *     rank 1   link  [ g      wait     | move ]
 *     rank 2         [ r wait        | ]              a receive: ends when its message arrives
 *     rank 3   link         [ send   ]                its send ends without the receiver
 *
 * These are ASTRA-sim's rules, to the nanosecond. When a node ends, first its dependents become ready, then each idle
 * resource starts the ready node with the lowest row. Nodes that start simultaneously do so in row order, and end in
 * the order in which they started, nodes of a lower rank first. A node without duration takes 1 ns. Members of a match
 * occupy their resource from their start, and all run from the time at which the last member starts. A send delivers
 * its message when it ends; its receive ends then, or at its own start if that is later.
 *
 * Cost: O((nodes + dependencies) log nodes), 40 bytes per node.
 */
#ifndef SIMULATE_REPLAY_H
#define SIMULATE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/threads.h"
#include "columns/numbers.h"
#include "match/steps.h"
#include "sutra/error.h"

#define NO_MATCH   UINT32_MAX
#define TIME_NEVER UINT64_MAX

/* What a node does without a matched collective. */
enum node_role {
    ROLE_NONE,
    ROLE_SENDS,    /* delivers the message of its match when it ends */
    ROLE_RECEIVES, /* ends when the message of its match is delivered */
    ROLE_MEMORY,   /* loads or stores; of no effect in a replay */
};

/* The nodes of a rank. Rows ascend by id, the order that simulators prefer. */
struct replay_graph {
    row_t n;
    const uint64_t *dur_ns;
    const uint32_t *resource; /* the resource of a node, below n_resources */
    uint32_t n_resources;
    const row_t *n_waits;         /* number of dependencies of a node */
    const uint64_t *first_waiter; /* n + 1: waiters[first_waiter[i]] .. depend on node i, once per dependency */
    const row_t *waiters;
    const uint32_t *matched_collective; /* its index in the job, or NO_MATCH; NULL: no node has one */
    const uint8_t *role; /* enum node_role; NULL: sends and receives wait for each other, as members of a collective */
};

struct replay_job {
    uint32_t n_ranks;
    const struct replay_graph *ranks;
    uint32_t n_matched_collectives; /* each node that names a match is a member */
    const struct pool *pool;        /* checked for cancellation; NULL: never cancelled */
};

/* A node of the job. */
struct replay_node {
    uint32_t rank;
    row_t row; /* ROW_NONE: no node */
};

/* The result of a rank; the caller owns the arrays, one element per node. */
struct replay_times {
    uint64_t *start_ns;        /* when it occupied its resource; TIME_NEVER: never */
    uint64_t *run_ns;          /* when it ran: after its start if it waited for its match; or TIME_NEVER */
    uint64_t *end_ns;          /* TIME_NEVER: it never ran */
    struct replay_node *cause; /* the node whose end or arrival at run_ns let this node run; of several, the last */
    row_t n_ran;
    uint64_t finish_ns; /* end of its last node */
};

/* Allocates the arrays for n nodes. False: out of memory. */
bool replay_times_alloc(struct replay_times *times, row_t n, struct arena *arena);

/* Runs the job. Nodes that never become ready keep TIME_NEVER, so n_ran < n. SUTRA_SYSTEM: out of memory. */
enum sutra_status replay(const struct replay_job *job, struct replay_times *times, struct sutra_error *error);

/*
 * The slack of each node of a simulated rank: by how much its duration can grow without a later end of the rank.
 *
 *     cpu   [ a ][ b ]......[ d ]|          b may end when d starts; d, the last node, has no slack
 *     gpu        [ c ......... ] |          d waits for c, which has no slack
 *
 * Slack of a node: the latest time at which it may end so that each successor still starts no later than it may, less
 * its end. Its successors are its dependents and the next node of its resource, so the order of the nodes of a resource
 * is kept. If one node runs longer by exactly its slack, the end stays; if it runs longer, the end moves by the excess.
 */

/* slack_ns[]: one element per node, from a run of the graph alone, in which all nodes ran. False: out of memory. O(n
 * log n + dependencies). */
bool replay_slack(const struct replay_graph *graph, const struct replay_times *times, const struct engine *engine,
                  struct arena *arena, uint64_t *slack_ns);

#endif
