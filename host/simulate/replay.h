/*
 * replay.h - runs the nodes of a job as a simulator would, in time: a node starts when the nodes that it depends on
 * have ended and its resource is free, and keeps the resource for its duration.
 *
 *     rank 0   cpu  [ a ][ b    ][ c ]            a, b, c ... nodes: rows of the rank's graph
 *              gpu       [ d ]........[ e  ]      ... e depends on c
 *              link           [ f wait | move ]   f and g meet: both move once both have started
 *     rank 1   link  [ g      wait     | move ]
 *
 * These are ASTRA-sim's rules, to the nanosecond: whenever a node ends, first the nodes that waited for it become free,
 * then each idle resource takes the free node with the lowest row; nodes that start at the same moment do so in the
 * order of their rows, and end in the order in which they started, those of a lower rank before those of a higher one.
 * A node without duration takes 1 ns. Members of a meeting hold their resource from their start, and all run from the
 * moment at which the last one starts.
 *
 * Cost: O((nodes + dependencies) log nodes), 40 bytes a node.
 */
#ifndef SIMULATE_REPLAY_H
#define SIMULATE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/threads.h"
#include "columns/row.h"
#include "match/steps.h"
#include "sutra/error.h"

#define NO_MEETING UINT32_MAX
#define TIME_NEVER UINT64_MAX

/* What a rank does. Rows are in the order in which a simulator prefers them: by rising id. */
struct replay_graph {
    row_t n;
    const uint64_t *dur_ns;
    const uint32_t *resource; /* below n_resources: what a node runs on */
    uint32_t n_resources;
    const row_t *n_waits;         /* how many nodes a node depends on */
    const uint64_t *first_waiter; /* n + 1: waiters[first_waiter[i]] .. depend on node i, each as often as it counts */
    const row_t *waiters;
    const uint32_t *meeting; /* number of its meeting, below n_meetings of the job, or NO_MEETING; NULL: none has one */
};

struct replay_job {
    uint32_t n_ranks;
    const struct replay_graph *ranks;
    uint32_t n_meetings;     /* a meeting has as many members as nodes name it */
    const struct pool *pool; /* which may be cancelled; NULL: it may not */
};

/* A node of the job. */
struct replay_node {
    uint32_t rank;
    row_t row; /* ROW_NONE: there is none */
};

/* What became of a rank; arrays of the caller's, one element a node. */
struct replay_times {
    uint64_t *start_ns; /* when it took its resource; TIME_NEVER: it never did */
    uint64_t *run_ns;   /* when it began to run: later than its start where it waited in a meeting; or TIME_NEVER */
    uint64_t *end_ns;   /* TIME_NEVER: it never ran */
    struct replay_node
        *cause; /* the node that ended or met at run_ns, for which it had to wait; of two, the last one */
    row_t n_ran;
    uint64_t finish_ns; /* when the last of its nodes ended */
};

/* Runs the job. Nodes that nothing lets start keep TIME_NEVER: n_ran tells. SUTRA_SYSTEM: out of memory. */
enum sutra_status replay(const struct replay_job *job, struct replay_times *times, struct sutra_error *error);

/*
 * How much longer each node of a rank that was run may take without the rank ending later.
 *
 *     cpu   [ a ][ b ]......[ d ]|          b may end when d would begin; d, at the end of all, has no slack
 *     gpu        [ c ......... ] |          d waits for c, which has none
 *
 * Slack of a node: the latest moment at which it may end so that every node behind it still begins no later than it
 * may, less the moment at which it did end. Behind it are those that wait for it and the next one on its resource; so
 * the order in which the nodes of a resource ran is kept. If one node takes exactly its slack longer, the end stays
 * where it is; if it takes more, the end moves by what is more.
 */

/* slack_ns[], one element a node, from a run of the graph, alone, in which all nodes ran. False: out of memory.
 * O(n log n + dependencies). */
bool replay_slack(const struct replay_graph *graph, const struct replay_times *times, const struct engine *engine,
                  struct arena *arena, uint64_t *slack_ns);

#endif
