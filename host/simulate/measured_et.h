/*
 * measured_et.h - converts plain nodes to nodes that reproduce the measured time, and checks the result by one
 * simulation.
 *
 *     linked traces --linked_timeline--\
 *                                       timeline --timeline--> nodes --et_timeline--> .et nodes --replay--> time
 *     ET+ -----------et_plus_timeline-----/
 *
 * The nodes of a rank of a job are not simulated, since their times depend on other ranks. Instead the times at which
 * its communication was ready and done are reported.
 */
#ifndef SIMULATE_MEASURED_ET_H
#define SIMULATE_MEASURED_ET_H

#include "context/context.h"
#include "facts/collectives.h"
#include "simulate/et_format.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

/*
 * ---- The measured timeline as nodes of an .et file (et_timeline.c) ----
 *
 *     plain nodes   id, type, name, attributes      \
 *                                                    --> nodes that reproduce the measured time
 *     timeline      parts, durations, dependencies  /
 *
 * Nodes keep their own fields. Parts of operators and kernels are copies with new ids; gaps are nodes "[rest]
 * operator" or "[gap]". Nodes without times get no duration and follow the operator with the next lower id. GPU nodes
 * get the attribute kernel_exec_ns: their execution time without launch latency. The metadata gets "gpu": "one", or
 * "streams" for a resource per stream.
 */

/* Sets the trait KERNEL_COMMUNICATES of kernels, and first_new_id. */
void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input);

struct et_maker;

/* Nodes in outline, and the plain node of each, or ROW_NONE; in the arena of the nodes. */
struct measured_nodes {
    struct et_nodes nodes;
    const row_t *plain;
};

/* Fills `made`, whose nodes the caller initialized, from plain nodes in outline and their maker, which knows operations
 * of kernels. Names are in the memory of `plain` or in the arena of `made`. With `streams` (else NULL; only of a rank
 * of a job with one resource) also fills these nodes: the kernels that differ for a resource per stream, to replace the
 * nodes with their ids. Their metadata has the attribute first_part: nodes with this id and later ones are parts of
 * kernels, which a resource per stream does not need. SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status et_timeline_make(struct measured_nodes *made, struct measured_nodes *streams,
                                   const struct et_nodes *plain, const struct et_maker *maker,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error);

/*
 * The .et file of a rank, changed for its job:
 *
 *     rank alone    a -> b -> [allreduce: its wait and its transfer]
 *     in the job    [start] -> a -> b -> [allreduce: its transfer]      match 12, of 8 ranks, with its number of bytes
 *     for ASTRA-sim [start] -> a -> b -> [meet] -> [allreduce as a broadcast: its transfer]
 *     its network   [start] -> a -> b -> [alpha] -> [meet] -> [allreduce: bytes that take the rest of the transfer]
 *
 * The wait for other ranks is in no node's duration, since it depends on these ranks: the simulator of the job starts
 * the transfers of a matched collective when the last rank is ready. ASTRA-sim does so by itself with the nodes [meet],
 * which cost nothing if its network has no latency, and replays broadcasts with their durations. For ASTRA-sim's
 * network model a broadcast [alpha] replays the latency, which no bandwidth scales, and the collective has the size
 * that takes the rest of its duration. Without [meet] after it, early ranks would leave ASTRA-sim's ring early.
 *
 * Attributes of a node: "meeting", the number of its matched collective in the job; "meeting_kind", such as
 * "all-reduce"; "meeting_ranks", the number of ranks of the group; and "meeting_bytes". If the trace of a rank records no
 * collectives, the durations of its communication contain waits, and its metadata has "meetings": 0.
 */

#define NOT_MATCHED UINT64_MAX /* not matched */

/* A collective on a rank. */
struct matched_collective {
    uint64_t node; /* its id in the file of the rank alone */
    uint64_t matched_collective;
    enum comm_kind kind;
    uint32_t n_ranks, n_files; /* of the group; of these, ranks with files */
    uint32_t group;            /* its number; 0: all ranks */
    uint64_t bytes, op_bytes;  /* by the arguments of the kernel; by the tensors of its operator; 0: not recorded */
    uint64_t duration_us, run_ns;
    /* In ASTRA-sim's network model: the part of the duration that bandwidth scales, and the comm_size that takes it. */
    bool is_modeled;
    uint64_t moving_us, moving_ns, size;
    bool has_before; /* the preceding collective of the communication resource of the rank */
    uint64_t before;
};

/* A rank in its job. */
struct matched_collectives {
    bool astra;
    bool per_stream; /* the file is for simulators with a resource per stream, and records it: "gpu" is "streams", else
                        "one" */
    uint32_t ranks_per_host; /* recorded as "ranks_per_host"; 0: unknown, not recorded */
    uint32_t all_ranks;      /* number of the group of all ranks for ASTRA-sim; 0: none */
    bool has_start;          /* the rank has CPU nodes; the first one follows [start] */
    uint64_t first_node, start_us;
    int64_t ahead_us;                 /* clock of the rank less clock of the job */
    struct matched_collective *nodes; /* by ascending id */
    row_t n;
};

/* Fills `made`, which the caller initialized; its texts are in the memory of `alone` or in its own arena. Nodes of
 * `alone` ascend by id. SUTRA_DATA: a node is not in the file. SUTRA_SYSTEM: out of memory. O(n). */
enum sutra_status et_make_for_job(struct et_nodes *made, const struct et_nodes *alone,
                                  const struct matched_collectives *rank, struct sutra_error *error);

/* ---- Conversion and check (measured_et.c) ---- */

struct measured_report {
    struct timeline_report timeline;
    double simulated_us;  /* by our own replay of the nodes */
    uint64_t n_never_ran; /* nodes that the replay did not run; not 0 only by a bug */
    row_t departs;        /* the first node that differs from the measured time, or ROW_NONE */
    double departs_us;    /* simulated less measured start */
};

/* Times of a rank for its job: whole microseconds since `origin`, as in the durations of the nodes. */
struct rank_marks {
    double origin, end; /* first start and last end, as in the trace */
    uint64_t first_id;  /* of the first CPU node, if any */
    bool has_ops;
    row_t n; /* kernels that communicate */
    uint64_t *id;
    row_t *event; /* of the device trace */
    int64_t *ready_us, *done_us;
    int64_t *bytes; /* comm_size: of the tensors of the operator; 0: not recorded */
};

/* A rank of a job: its collectives (input), and their times (output, in the arena). */
struct rank_of_job {
    const row_t *events; /* rows of the device trace, ascending: kernels of collectives */
    row_t n_events;
    struct arena *arena;
    bool needs_streams;
    struct measured_nodes streams; /* the kernels for a resource per stream, if needed; see et_timeline_make() */
    struct rank_marks marks;
};

/* sutra_converted_run_faithful() for a rank of a job, without simulation; job NULL: for a rank alone. */
enum sutra_status converted_make_measured(struct sutra_context *context, struct sutra_converted *converted,
                                          const struct sutra_linked *linked,
                                          const struct sutra_faithful_options *options, struct rank_of_job *job,
                                          struct sutra_faithful_report *report, struct sutra_error *error);

#endif
