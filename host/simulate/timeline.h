/*
 * timeline.h - converts measured operators, kernels and waits to nodes that reproduce the measured time in a
 * simulation.
 *
 *     measured   thread 1  [ op a     [ op b ]    ]    [synchronize]         calls and kernels with their times
 *                stream 7            [ kernel       ]
 *     cuts                 |  a   |   b  |   a    |  gap  | wait ..|
 *     nodes      cpu       a ---> b ---> a' ----> gap ------------> c       one chain over all threads
 *                gpu              b ---> kernel --------------------^
 *
 * The idea: one CPU executes the cuts of all threads in time order, so each node lasts from one cut to the next and no
 * time is counted twice. Where a call waited for the GPU, the chain continues when the kernel ends instead of after a
 * duration. A kernel starts when the chain reaches the cut at its launch and the preceding kernels have ended.
 * Durations are differences of rounded cuts, so rounding errors do not accumulate.
 *
 * All times are microseconds as in the traces. The caller numbers threads and streams densely. Cost: O(n log n) for n
 * operators, kernels and calls.
 */
#ifndef SIMULATE_TIMELINE_H
#define SIMULATE_TIMELINE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/shared.h"
#include "columns/numbers.h"
#include "match/steps.h"
#include "sutra/error.h"

#define THREAD_UNKNOWN UINT32_MAX
#define STREAM_ANY     UINT32_MAX /* the call synchronizes all streams */

/* CPU operators with times, by ascending id. */
struct timeline_ops {
    row_t n;
    uint32_t n_threads;
    uint64_t *id;
    double *start, *end;
    uint32_t *thread;
};

enum kernel_trait {
    KERNEL_COMMUNICATES = 1,
    KERNEL_COPIES = 2,   /* from or to the host, or between devices */
    KERNEL_PAGEABLE = 4, /* a copy whose host memory is not pinned */
};

/* GPU operators, by ascending id. A kernel without a known launch has its own start as the start and end of its
 * launch. */
struct timeline_kernels {
    row_t n;
    uint32_t n_streams;
    uint64_t *id;
    double *start, *end;
    uint32_t *stream;
    double *launch_start, *launch_end;
    uint32_t *launch_thread; /* index of the thread in `ops`, or THREAD_UNKNOWN */
    row_t *event;            /* row in the device trace; NULL: not from a device trace */
    uint8_t *traits;         /* KERNEL_... bits */
};

/* Synchronizing calls: they wait for all kernels launched before `before` on one stream or on all streams. */
struct timeline_calls {
    row_t n;
    double *start, *end;
    double *before;   /* the start of the call; for a wait for an event: when the event was recorded */
    uint32_t *stream; /* or STREAM_ANY; a number >= n_streams is a stream without kernels */
    uint32_t *thread; /* or THREAD_UNKNOWN */
};

/* One row of timeline_calls. */
struct timeline_call {
    double start, end, before;
    uint32_t stream, thread;
};

/* Allocates columns for n calls; the count starts at 0. The arena records a failed allocation. */
struct timeline_calls timeline_calls_alloc(struct arena *arena, size_t n);
void timeline_calls_add(struct timeline_calls *calls, struct timeline_call call);

/* Streams that wait for an event: kernels launched on `stream` from `call_start` on start after the kernels launched
 * on `awaited` before `record_start`. For a rank of a job, streams without kernels have the highest numbers. */
struct timeline_orders {
    row_t n;
    uint32_t *stream, *awaited;
    double *call_start, *record_start;
    uint32_t n_streams;
    bool recorded; /* the trace records such waits */
    /* If the trace records none: the start times of calls that make a stream wait. */
    row_t n_calls;
    const double *calls;
};

struct timeline_options {
    double min_gap_us; /* longer gaps become nodes: between operators, and in a parent after its children */
    bool per_stream;   /* the simulator has a resource per stream: kernels are not cut where they overlap */
    /* The rank is one of a job: communication is never cut, since it synchronizes with other ranks, and events are
     * followed from stream to stream. */
    bool of_job;
};

struct timeline_input {
    struct timeline_ops ops;
    struct timeline_kernels kernels;
    struct timeline_calls calls;
    struct timeline_orders orders;
    struct timeline_options options;
    uint64_t first_new_id; /* above all ids of the file */
};

/* The part of the measured timeline that a node represents. */
enum timeline_role {
    NODE_OP,     /* a part of operator `of`; its first part has the operator's id */
    NODE_OP_GAP, /* a gap in operator `of`: no recorded child ran */
    NODE_GAP,    /* a gap in no operator */
    NODE_KERNEL, /* a part of kernel `of`; its last part has the kernel's id */
};

/* Nodes in no order; node i depends on nodes deps[first_dep[i]] .. deps[first_dep[i + 1] - 1], which are row numbers
 * of these columns. Dependencies lead backwards in time, so there is no cycle. */
struct timeline_nodes {
    row_t n;
    uint64_t *id;
    uint8_t *role; /* enum timeline_role */
    row_t *of;     /* row of the operator or kernel; ROW_NONE for a gap */
    double *start; /* measured start time */
    uint64_t *duration_us;
    double *run_us;      /* kernels: execution time without launch latency */
    uint64_t *first_dep; /* n + 1 */
    uint64_t n_deps;
    row_t *deps;
    /* Of a rank of a job with one resource: the kernels as they are for a resource per stream, in the rows of their
     * last parts. `id`, `role` and `of` are shared, and only kernels have dependencies. Else NULL. */
    struct timeline_nodes *per_stream;
    uint64_t first_part_id; /* nodes with this id and later ones are the other parts of kernels */
};

struct timeline_report {
    uint64_t n_waits, n_blocking_copies, n_pageable_copies; /* the CPU waits for the GPU */
    uint64_t n_calls_without_kernel;                        /* ignored */
    uint64_t n_launch_cuts;                                 /* operators cut at a launch */
    uint64_t n_gaps, n_parts; /* additional nodes for gaps, and for kernels that share the GPU */
    uint64_t n_orders;        /* kernels that wait for an event of another stream */
    uint64_t n_guessed;       /* waits for another stream that are not recorded, as libraries launch collectives */
    uint64_t n_inferred;      /* unrecorded waits for a kernel of another stream, inferred from times */
    uint64_t n_clocked;       /* kernels that follow the clock of the CPU, */
    uint64_t n_late;          /* or are late for an unknown reason, */
    double late_us;           /* their total delay */
    double origin;            /* time 0 of the simulation */
    double measured_us;       /* from the origin to the last end */
};

/* Makes the nodes; the arena owns their columns. Input without operators yields kernels only. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status timeline_build(const struct timeline_input *input, const struct engine *engine, struct arena *arena,
                                 struct timeline_nodes *nodes, struct timeline_report *report,
                                 struct sutra_error *error);

/*
 * ---- Input (timeline_sources.c) ----
 *
 * Each function fills all of the input but its options; the arena owns the columns. Operators and GPU activity without
 * finite times are skipped. SUTRA_SYSTEM: out of memory. O(n log n).
 */

struct node_graph;
struct sutra_context;
struct sutra_device_trace;
struct sutra_linked;

/* Operators and annotations of the CPU, except profiler steps. The window selects operators by their start and
 * kernels by the start of their launch: from window[0] on and before window[1]. Ids are rows of events. */
enum sutra_status device_timeline_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const double window[2], struct arena *arena, struct timeline_input *input,
                                       struct sutra_error *error);

/* Linked operators and their kernels, with the ids of ET+. first_new_id and the trait KERNEL_COMMUNICATES are left to
 * et_timeline_prepare(). */
enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error);

/*
 * The same from ET+ alone, as far as ET+ records it:
 *
 *     node with times         an operator, or a kernel, memcpy or memset
 *     launch of a kernel      not recorded: in the parent operator, after the preceding launch of its stream, and right
 *                             before the start of the kernel if the stream was idle
 *     sync_dep of an operator a wait for the named kernel, if no operator of the thread started between the end of the
 *                             kernel and its own start; the wait starts at the last start or end before that end
 *     a long interval         without starts and ends of operators, with a kernel that ends shortly before its end: a
 *                             wait for this kernel, too
 *
 * ET+ records neither other waits nor waits between streams. sync_dep also names kernels for which no thread waited
 * right before the operator; they are ignored.
 */
enum sutra_status et_plus_timeline_read(const struct node_graph *graph, struct arena *arena,
                                        struct timeline_input *input, struct sutra_error *error);

/*
 * The stages of timeline_build(), each with its input and output.
 *
 *     ops ---order, cuts---> operator cuts ---\
 *     calls, kernels --------> waits -----------> chain of CPU nodes, and when each ends
 *     kernels ---launches that are late---------/            |
 *        \------------------------------------------> ready times, dependencies ---> parts
 *
 * The arena owns all columns. Stages that sort need the engine; they return false if the arena or the engine runs out
 * of memory.
 */

/* The input of each stage. */
struct timeline_work {
    const struct timeline_input *input;
    const struct engine *engine;
    struct arena *arena;
    double origin; /* time 0 of the simulation: the first start */
};

/* Times farther from the origin are clamped, so that differences fit integers; callers refuse such durations. */
#define TIMELINE_US_MAX 0x1p61

/* Microseconds since the origin, rounded; durations are differences of these. */
static inline int64_t timeline_us(const struct timeline_work *work, double time) {
    return (int64_t)fmax(-TIMELINE_US_MAX, fmin(time - work->origin + 0.5, TIMELINE_US_MAX));
}

/* The number of ascending times below `time`, and the number not above it. */
static inline row_t times_below(const double *times, row_t n, double time) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, times[bisect_middle(at)] < time);
    return at.low;
}

static inline row_t times_up_to(const double *times, row_t n, double time) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, times[bisect_middle(at)] <= time);
    return at.low;
}

/* order[] = rows 0..n-1, stably sorted by ascending key; of several key columns the last is the most significant. */
bool timeline_sort(const struct timeline_work *work, row_t n, const double *const *keys, int n_keys, row_t *order);

/* ---- Operators ---- */

/* Operators by (start, longer first, id), and the cut of each: the start of the next operator of its thread if that
 * operator starts inside of it, else its own end. */
struct timeline_order {
    row_t *order;
    double *cut;       /* per operator */
    bool *is_abutting; /* per operator: it starts when the preceding operator of its thread ends */
    double last_end;   /* of all operators */
};

/* Queries: which operator was running at `time`? */
struct owner_queries {
    row_t n;
    double *time;
    uint32_t *thread; /* its thread; THREAD_UNKNOWN: no answer; or THREAD_ALL */
    row_t *op;        /* answer: the innermost operator, or ROW_NONE */
};

/* The last operator of all threads to start strictly before the time; on a single thread it may start at the time. */
#define THREAD_ALL (UINT32_MAX - 1)

struct owner_queries owner_queries_alloc(struct arena *arena, row_t n);
bool timeline_find_owners(const struct timeline_work *work, const struct timeline_order *ops,
                          struct owner_queries *queries);

/* ---- Launches ---- */

/* Kernels of each stream in launch order: queued[first[s]] .. queued[first[s + 1] - 1]. */
struct timeline_queues {
    row_t *first; /* n_streams + 1 */
    row_t *queued;
    row_t *by_launch;    /* kernels of all streams by (launch, start, id) */
    double *launch_time; /* of by_launch[] */
    row_t *by_start;     /* kernels by (start, end, id) */
    row_t *launch_op;    /* per kernel: the operator that ran on the launching thread, or ROW_NONE */
};

bool timeline_queue_kernels(const struct timeline_work *work, const struct timeline_order *ops,
                            struct timeline_queues *queues);

/* ---- Dependencies between streams ---- */

/* An element of the list of kernels that one kernel waits for. */
struct kernel_dep {
    row_t awaited, next; /* ROW_NONE: end of the list */
};

/* A recorded wait of a stream for one kernel. */
struct stream_wait {
    double time;
    row_t kernel, before; /* the preceding wait of the stream, or ROW_NONE */
};

struct timeline_deps {
    row_t *first; /* per kernel: the first element of list[], or ROW_NONE */
    struct kernel_dep *list;
    uint64_t n, capacity;
    row_t *last_stream_wait; /* per stream, for a rank of a job */
    struct stream_wait *stream_waits;
    uint64_t n_stream_waits, stream_waits_capacity;
};

/* Finds the kernels that wait for kernels of other streams because of stream waits. */
bool timeline_find_deps(const struct timeline_work *work, const struct timeline_queues *queues,
                        struct timeline_deps *deps, struct timeline_report *report);

/* The maximum number of kernels that one event represents. */
#define EVENT_KERNELS_MAX 16

/* ---- Waits ---- */

/* The CPU stops at `at` and resumes at `until`, when kernels[first[i]] .. have ended. */
struct timeline_waits {
    row_t n;
    double *at, *until;
    double *last_launch; /* of these kernels */
    row_t *op_at;        /* the operator that runs at `at`, or ROW_NONE */
    row_t *op_until;
    uint64_t *first; /* n + 1 */
    row_t *kernels;
};

bool timeline_find_waits(const struct timeline_work *work, const struct timeline_order *ops,
                         const struct timeline_queues *queues, const struct timeline_deps *deps,
                         struct timeline_waits *waits, struct timeline_report *report);

/* ---- The chain of CPU nodes ---- */

/* Launches whose kernels would start too late without a cut of their own, and their order by time. */
struct timeline_launch_cuts {
    row_t n;
    double *time;
    row_t *op, *order;
};

/* Boundaries of nodes by time: starts and cuts of operators, and both ends of waits. */
struct timeline_boundaries {
    row_t n;
    double *time;
    uint8_t *kind;
    row_t *of;    /* row of the operator or wait */
    row_t *order; /* by time */
};

bool timeline_list_boundaries(const struct timeline_work *work, const struct timeline_order *ops,
                              const struct timeline_waits *waits, struct timeline_boundaries *boundaries);

/* CPU nodes in their order; node i lasts from the end of node i - 1, or from the end of the kernels it waits for. */
struct timeline_chain {
    row_t n;
    uint8_t *role; /* enum timeline_role */
    row_t *op;
    bool *is_first; /* the operator's first part */
    double *start, *cut;
    uint64_t *duration_us;
    row_t *first_wait; /* n + 1: node i waits for the kernels of waits[first_wait[i]] .. */
    row_t *waits;
    uint64_t n_gaps;
};

/* May be called again for the same boundaries with other launches. The operators of gaps are still ROW_NONE. */
bool timeline_chain_ops(const struct timeline_work *work, const struct timeline_order *ops,
                        const struct timeline_boundaries *boundaries, const struct timeline_queues *queues,
                        const struct timeline_waits *waits, const struct timeline_launch_cuts *launches,
                        struct timeline_chain *chain);

/* Finds the operators of gaps; a gap outside of all operators becomes NODE_GAP. */
bool timeline_find_gap_owners(const struct timeline_work *work, const struct timeline_order *ops,
                              struct timeline_chain *chain);

/* Finds launches that need a cut, by a chain made without launch cuts. */
bool timeline_find_launch_cuts(const struct timeline_work *work, const struct timeline_queues *queues,
                               const struct timeline_chain *chain, struct timeline_launch_cuts *launches);

/* ---- Kernels ---- */

/* The longest launch latency and the longest gap of a stream. A kernel seems to have waited for a kernel that ended
 * at most LATENCY_US before its start. */
#define LATENCY_US 20.0

/* An edge: node `node` depends on node `dep`, both rows of timeline_nodes. */
struct timeline_edges {
    uint64_t n, capacity;
    row_t *node, *dep;
    bool failed; /* out of memory */
};

void timeline_edge(struct timeline_edges *edges, row_t node, row_t dep);

/* A dependent kernel may be recorded as starting this much before the end of the kernel it waits for. */
#define EARLY_START_US 1.0

/* Whether kernel a precedes kernel b in the order of (start, end, id). */
bool timeline_is_earlier(const struct timeline_kernels *kernels, row_t a, row_t b);

/* Sets the interval in which each kernel occupies its stream: `ready` is its start less launch latency, `done` its
 * end, or the start of a dependent kernel that is recorded as starting up to EARLY_START_US earlier. So a kernel is
 * done before its dependents start. Adds its edges. */
bool timeline_ready_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                            const struct timeline_deps *deps, const struct timeline_chain *chain, double *ready,
                            double *done, struct timeline_edges *edges, struct timeline_report *report);

/* Kernels that share the GPU, one running at a time: parts in the order of the ends of their kernels. A part
 * continues the preceding part of its kernel, or is the first. */
struct timeline_parts {
    row_t n;
    row_t *kernel;
    double *start, *end;
    row_t *after; /* the kernel that ran before and that the part waits for, or ROW_NONE */
    bool *is_first, *is_last;
};

/* Rows of nodes: the last part of kernel k is node k, chain node i is node n_kernels + i, the other parts follow. */
static inline row_t timeline_chain_row(const struct timeline_work *work, row_t i) {
    return work->input->kernels.n + i;
}

#endif
