/*
 * faithful.h - from plain nodes to nodes that take the measured time, and the proof: they are simulated once.
 *
 *     linked traces --linked_timeline--\
 *                                       timeline --timeline--> nodes --et_timeline--> .et nodes --replay--> time
 *     ET+ -----------plus_timeline-----/
 *
 * Of a rank of a job the nodes are not simulated, since what they take is only known when it meets the other ranks; in
 * place of that it is told when its communication was ready and when it was done.
 */
#ifndef SIMULATE_FAITHFUL_H
#define SIMULATE_FAITHFUL_H

#include "context/context.h"
#include "facts/collectives.h"
#include "simulate/et_format.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

/*
 * The .et file of a rank, once more as one that meets the other ranks of its job.
 *
 *     rank alone    a -> b -> [allreduce: its wait and its transfer]
 *     in the job    [start] -> a -> b -> [allreduce: its transfer]      meeting 12, of 8 ranks, with so many bytes
 *     for ASTRA-sim [start] -> a -> b -> [meet] -> [allreduce as a broadcast: its transfer]
 *
 * The wait for the other ranks is no node's duration, since it changes with them: who simulates the job lets the nodes
 * of a meeting begin when the last of them is ready. ASTRA-sim does so by itself with the nodes [meet], which cost
 * nothing where its network has no latency, and replays broadcasts with their durations.
 *
 * Attributes of a node: "meeting", a number of the job, if it meets others; "meeting_kind", such as "all-reduce",
 * "meeting_ranks", how many there are in the group, and "meeting_bytes".
 */

#define MEETING_NONE UINT64_MAX /* it meets nobody */

/* A collective on a rank. */
struct meeting_node {
    uint64_t node; /* its id in the file of the rank alone */
    uint64_t meeting;
    enum comm_kind kind;
    uint32_t n_ranks, n_files; /* of the group, and of these that have files */
    uint32_t group;            /* its number to ASTRA-sim; 0: all ranks */
    uint64_t bytes;
    uint64_t duration_us, run_ns;
    bool has_before; /* of the rank's one resource for communication: the collective before it */
    uint64_t before;
};

/* A rank in its job. */
struct rank_meetings {
    bool astra;
    bool per_stream; /* the file is for simulators with a resource for each stream, and says so: "gpu" is "streams" */
    bool has_start;  /* the rank has a node on its processor, whose first one follows the start of the rank */
    uint64_t first_node, start_us;
    int64_t ahead_us;           /* how far its clock is ahead of that of the job */
    struct meeting_node *nodes; /* by rising id */
    row_t n;
};

/* Fills `made`, begun by the caller; its texts lie where those of `alone` do, or in its own arena. Nodes of `alone`
 * stand by rising id. SUTRA_DATA: a node is not there. SUTRA_SYSTEM: out of memory. O(n). */
enum sutra_status et_meet(struct et_nodes *made, const struct et_nodes *alone, const struct rank_meetings *rank,
                          struct sutra_error *error);

struct faithful_report {
    struct timeline_report timeline;
    double simulated_us;  /* by our own replay of the nodes */
    uint64_t n_never_ran; /* nodes that never ran in it: none, but for a mistake of ours */
    row_t departs;        /* node that first departs from the measured time, or ROW_NONE */
    double departs_us;    /* by how much: simulated less measured */
};

/* What a job needs of a rank. Times are whole microseconds since `origin`, as durations of the nodes have them. */
struct rank_marks {
    double origin, end; /* first start and last end, as the trace has them */
    uint64_t first_id;  /* of the first node of the processor, if it has any */
    bool has_ops;
    row_t n; /* kernels that communicate */
    uint64_t *id;
    row_t *event; /* of the device trace */
    int64_t *ready_us, *done_us;
};

/* A rank of a job: what is known to be communication, and what comes out of it, in the arena. */
struct rank_of_job {
    const row_t *events; /* of the device trace, rising: kernels of collectives */
    row_t n_events;
    struct arena *arena;
    struct rank_marks marks;
};

/* sutra_converted_run_faithful() for a rank of a job, of which nothing is simulated; or alone, with NULL. */
enum sutra_status converted_make_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                          const struct sutra_linked *linked,
                                          const struct sutra_faithful_options *options, struct rank_of_job *job,
                                          struct sutra_faithful_report *report, struct sutra_error *error);

#endif
