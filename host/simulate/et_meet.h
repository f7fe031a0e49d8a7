/*
 * et_meet.h - the .et file of a rank, once more as one that meets the other ranks of its job.
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
#ifndef SIMULATE_ET_MEET_H
#define SIMULATE_ET_MEET_H

#include "facts/collective_kind.h"
#include "simulate/et_nodes.h"

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

#endif
