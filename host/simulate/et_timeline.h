/*
 * et_timeline.h - converts the measured timeline to the nodes of an .et file.
 *
 *     plain nodes   id, type, name, attributes      \
 *                                                    --> nodes that reproduce the measured time
 *     timeline      parts, durations, dependencies  /
 *
 * Nodes keep their own fields. Parts of operators and kernels are copies with new ids; rests are nodes "[rest]
 * operator" or "[gap]". Nodes without times get no duration and follow the operator with the next lower id. GPU nodes
 * get the attribute kernel_exec_ns: their execution time without launch latency.
 */
#ifndef SIMULATE_ET_TIMELINE_H
#define SIMULATE_ET_TIMELINE_H

#include "context/context.h"
#include "facts/collectives.h"
#include "simulate/et_format.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"

/* Sets the trait KERNEL_COMMUNICATES of kernels, and first_new_id. */
void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input);

/* Fills `made`, which the caller initialized; its texts are in the memory of `plain` or in its own arena.
 * SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status et_timeline_make(struct et_nodes *made, const struct et_nodes *plain,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error);

/*
 * The .et file of a rank, changed for its job:
 *
 *     rank alone    a -> b -> [allreduce: its wait and its transfer]
 *     in the job    [start] -> a -> b -> [allreduce: its transfer]      match 12, of 8 ranks, with its number of bytes
 *     for ASTRA-sim [start] -> a -> b -> [meet] -> [allreduce as a broadcast: its transfer]
 *
 * The wait for other ranks is in no node's duration, since it depends on these ranks: the simulator of the job starts
 * the transfers of a matched collective when the last rank is ready. ASTRA-sim does so by itself with the nodes [meet],
 * which cost nothing if its network has no latency, and replays broadcasts with their durations.
 *
 * Attributes of a node: "meeting", the number of its matched collective in the job; "meeting_kind", such as
 * "all-reduce"; "meeting_ranks", the number of ranks of the group; and "meeting_bytes".
 */

#define MEETING_NONE UINT64_MAX /* not matched */

/* A collective on a rank. */
struct meeting_node {
    uint64_t node; /* its id in the file of the rank alone */
    uint64_t meeting;
    enum comm_kind kind;
    uint32_t n_ranks, n_files; /* of the group; of these, ranks with files */
    uint32_t group;            /* number for ASTRA-sim; 0: all ranks */
    uint64_t bytes;
    uint64_t duration_us, run_ns;
    bool has_before; /* the preceding collective of the communication resource of the rank */
    uint64_t before;
};

/* A rank in its job. */
struct rank_meetings {
    bool astra;
    bool per_stream; /* the file is for simulators with a resource per stream, and records it: "gpu" is "streams" */
    bool has_start;  /* the rank has CPU nodes; the first one follows [start] */
    uint64_t first_node, start_us;
    int64_t ahead_us;           /* clock of the rank less clock of the job */
    struct meeting_node *nodes; /* by ascending id */
    row_t n;
};

/* Fills `made`, which the caller initialized; its texts are in the memory of `alone` or in its own arena. Nodes of
 * `alone` ascend by id. SUTRA_DATA: a node is not in the file. SUTRA_SYSTEM: out of memory. O(n). */
enum sutra_status et_meet(struct et_nodes *made, const struct et_nodes *alone, const struct rank_meetings *rank,
                          struct sutra_error *error);

#endif
