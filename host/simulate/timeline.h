/*
 * timeline.h - from measured operators, kernels and waits to nodes that take the measured time when they are simulated.
 *
 *     measured   thread 1  [ op a     [ op b ]    ]    [synchronize]         calls and kernels with their times
 *                stream 7            [ kernel       ]
 *     cuts                 |  a   |   b  |   a    |  gap  | wait ..|
 *     nodes      cpu       a ---> b ---> a' ----> gap ------------> c       one chain over all threads
 *                gpu              b ---> kernel --------------------^
 *
 * The idea: a processor works through the cuts of all threads in one order, so each node lasts from one cut to the next
 * and no time is counted twice; where a call waited for the GPU, the chain goes on when the kernel ends instead of
 * after a duration; and a kernel starts when the cut at its launch is reached and the kernels before it have ended.
 * Durations are differences of rounded cuts, so that no rounding adds up.
 *
 * All times are microseconds as the traces give them. Threads and streams are numbered densely by the caller. Cost:
 * O(n log n) for n operators, kernels and calls.
 */
#ifndef SIMULATE_TIMELINE_H
#define SIMULATE_TIMELINE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/shared.h"
#include "columns/row.h"
#include "match/steps.h"
#include "sutra/error.h"

#define THREAD_UNKNOWN UINT32_MAX
#define STREAM_ANY     UINT32_MAX /* a call that waits for all streams */

/* CPU operators that have times, by rising id. */
struct timeline_ops {
    row_t n;
    uint32_t n_threads;
    const uint64_t *id;
    const double *start, *end;
    const uint32_t *thread;
};

enum kernel_trait {
    KERNEL_COMMUNICATES = 1,
    KERNEL_COPIES = 2,   /* from or to the host, or between devices */
    KERNEL_PAGEABLE = 4, /* a copy whose host memory is not pinned */
};

/* GPU operators, by rising id. A kernel without a known launch has its own start as the launch's start and end. */
struct timeline_kernels {
    row_t n;
    uint32_t n_streams;
    const uint64_t *id;
    const double *start, *end;
    const uint32_t *stream;
    const double *launch_start, *launch_end;
    const uint32_t *launch_thread; /* that of `ops`, or THREAD_UNKNOWN */
    const row_t *event;            /* of the device trace; NULL: these are not of one */
    uint8_t *traits;               /* KERNEL_... bits */
};

/* Calls that wait for the GPU: for all that was launched before `before` on a stream, or on all of them. */
struct timeline_calls {
    row_t n;
    double *start, *end;
    double *before;   /* the call's start; where it waits for an event: when that was recorded */
    uint32_t *stream; /* or STREAM_ANY; a number >= n_streams is a stream without kernels */
    uint32_t *thread; /* or THREAD_UNKNOWN */
};

/* One of them. */
struct timeline_call {
    double start, end, before;
    uint32_t stream, thread;
};

/* Room for n of them, of which there are none yet; where memory runs out the arena tells. */
struct timeline_calls timeline_calls_take(struct arena *arena, size_t n);
void timeline_calls_add(struct timeline_calls *calls, struct timeline_call call);

/* Streams that are told to wait for an event: kernels launched on `stream` from `call_start` on start after the kernels
 * launched on `awaited` before `record_start`. Of a job, streams without kernels have numbers, too, behind the
 * others. */
struct timeline_orders {
    row_t n;
    const uint32_t *stream, *awaited;
    const double *call_start, *record_start;
    uint32_t n_streams;
    bool told; /* the trace tells such orders at all */
    /* Where it does not: when streams were told to wait for something. */
    row_t n_calls;
    const double *calls;
};

struct timeline_options {
    double rest_us;  /* gaps, and times of a parent after its children, that are longer become nodes of their own */
    bool per_stream; /* the simulator has a resource for each stream: kernels are not cut where they overlap */
    /* The rank is one of a job: communication is never cut, since it meets that of other ranks, and what an event
     * stands for is followed from stream to stream. */
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

/* What a node stands for. */
enum timeline_role {
    NODE_OP,     /* a part of operator `of`; its first part has the operator's id */
    NODE_REST,   /* time in operator `of` in which nothing that was recorded ran */
    NODE_GAP,    /* time in no operator */
    NODE_KERNEL, /* a part of kernel `of`; its last part has the kernel's id */
};

/* Nodes in no order; node i depends on the nodes deps[first_dep[i]] .. deps[first_dep[i + 1] - 1], which are places in
 * these columns. Dependencies lead backwards in time, so there is no cycle. */
struct timeline_nodes {
    row_t n;
    uint64_t *id;
    uint8_t *role; /* enum timeline_role */
    row_t *of;     /* row of the operator or kernel; ROW_NONE for a gap */
    double *start; /* when it begins, measured */
    uint64_t *duration_us;
    double *run_us;      /* of that, for kernels: execution without launch latency */
    uint64_t *first_dep; /* n + 1 */
    uint64_t n_deps;
    row_t *deps;
};

struct timeline_report {
    uint64_t n_waits, n_blocking_copies, n_pageable_copies; /* where the processor waits for the GPU */
    uint64_t n_calls_outside, n_calls_without_kernel;       /* that do not count */
    uint64_t n_launch_cuts;                                 /* operators cut at a launch */
    uint64_t n_rests, n_parts; /* nodes more for rests, and for kernels that share the GPU */
    uint64_t n_orders, n_orders_against_time;
    uint64_t n_guessed;  /* waits for another stream that no record tells, as libraries launch collectives */
    uint64_t n_inferred; /* kernels that wait for one of another stream though no record says so */
    uint64_t n_clocked;  /* kernels held to the processor's clock, */
    uint64_t n_late;     /* or late for no known reason, */
    double late_us;      /* by so much in all */
    double origin;       /* time 0 of the simulation */
    double measured_us;  /* from there to the last end */
};

/* Makes the nodes; their columns are the arena's. Input without any operator gives kernels only. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status timeline_build(const struct timeline_input *input, const struct engine *engine, struct arena *arena,
                                 struct timeline_nodes *nodes, struct timeline_report *report,
                                 struct sutra_error *error);

/*
 * The stages behind timeline_build(), each with what it takes and what it gives.
 *
 *     ops ---order, cuts---> operator cuts ---\
 *     calls, kernels --------> waits -----------> chain of CPU nodes, and when each ends
 *     kernels ---launches that come late--------/            |
 *        \------------------------------------------> ready times, dependencies ---> parts
 *
 * All columns are the arena's. Stages that sort need the engine; they return false where the arena or the engine ran
 * out of memory.
 */

/* What the stages share. */
struct timeline_work {
    const struct timeline_input *input;
    const struct engine *engine;
    struct arena *arena;
    double origin; /* time 0 of the simulation: the first start */
};

/* Farther from the origin is as far, so that differences fit integers: who uses such durations refuses them. */
#define TIMELINE_US_MOST 0x1p61

/* Microseconds since the origin, rounded; durations are differences of these. */
static inline int64_t timeline_us(const struct timeline_work *work, double time) {
    return (int64_t)fmax(-TIMELINE_US_MOST, fmin(time - work->origin + 0.5, TIMELINE_US_MOST));
}

/* How many of the rising times are below this one, and how many are not above it. */
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

/* order[] = rows 0..n-1 stably by rising key, of which there may be several columns: the last one decides first. */
bool timeline_sort(const struct timeline_work *work, row_t n, const double *const *keys, int n_keys, row_t *order);

/* ---- Operators ---- */

/* Operators by (start, longer first, id), and where each is cut: at the start of the next operator of its thread if
 * that begins inside of it, else at its own end. */
struct timeline_order {
    row_t *order;
    double *cut;       /* per operator */
    bool *is_abutting; /* per operator: it begins at the moment at which the one before it on its thread ends */
    double last_end;   /* of all */
};

/* Moments at which somebody asks which operator was running. */
struct owner_queries {
    row_t n;
    double *time;
    uint32_t *thread; /* on which; THREAD_UNKNOWN: none; or THREAD_ALL */
    row_t *op;        /* answer: the innermost operator, or ROW_NONE */
};

/* The operator that began last of all threads, strictly before the moment; on one thread it may begin at the moment. */
#define THREAD_ALL (UINT32_MAX - 1)

/* Room for n queries. */
struct owner_queries owner_queries_take(struct arena *arena, row_t n);
bool timeline_find_owners(const struct timeline_work *work, const struct timeline_order *ops,
                          struct owner_queries *queries);

/* ---- Launches ---- */

/* Kernels of each stream in the order of their launches: queued[first[s]] .. queued[first[s + 1] - 1]. */
struct timeline_queues {
    row_t *first; /* n_streams + 1 */
    row_t *queued;
    row_t *by_launch;    /* kernels of all streams by (launch, start, id) */
    double *launch_time; /* of these */
    row_t *by_start;     /* kernels by (start, end, id) */
    row_t *launch_op;    /* per kernel: the operator that was running on the launch's thread, or ROW_NONE */
};

bool timeline_queue_kernels(const struct timeline_work *work, const struct timeline_order *ops,
                            struct timeline_queues *queues);

/* ---- Streams that wait for streams ---- */

/* A kernel that another one has to wait for; they are lists. */
struct held_kernel {
    row_t awaited, next; /* ROW_NONE: the last one */
};

/* A wait that a stream was told of, for one kernel. */
struct carried_wait {
    double time;
    row_t kernel, before; /* the stream's one before, or ROW_NONE */
};

struct timeline_held {
    row_t *first; /* per kernel: the first of list[] that it waits for, or ROW_NONE */
    struct held_kernel *list;
    uint64_t n, capacity;
    row_t *last_carried; /* per stream, of a job */
    struct carried_wait *carried;
    uint64_t n_carried, carried_capacity;
};

/* Finds the kernels that have to wait for others because their streams were told to. */
bool timeline_find_held(const struct timeline_work *work, const struct timeline_queues *queues,
                        struct timeline_held *held, struct timeline_report *report);

/* The kernels that an event stands for which a stream of a job records at that time: its last one, and those that it
 * was told to wait for since then. Returns how many. */
#define EVENT_KERNELS_MAX 16

/* ---- Waits ---- */

/* The processor stops at `at` and goes on at `until`, when kernels have ended: kernels[first[i]] .. */
struct timeline_waits {
    row_t n;
    double *at, *until;
    double *last_launch; /* of the kernels */
    row_t *op_at;        /* the operator that runs then, or ROW_NONE */
    row_t *op_until;
    uint64_t *first; /* n + 1 */
    row_t *kernels;
};

bool timeline_find_waits(const struct timeline_work *work, const struct timeline_order *ops,
                         const struct timeline_queues *queues, const struct timeline_held *held,
                         struct timeline_waits *waits, struct timeline_report *report);

/* ---- The chain of CPU nodes ---- */

/* Launches whose kernels would start too late without a cut of their own, and their order by time. */
struct timeline_launch_cuts {
    row_t n;
    double *time;
    row_t *op, *order;
};

/* Boundaries of nodes in the order of time: begins and cuts of operators, and both ends of waits. */
struct timeline_boundaries {
    row_t n;
    double *time;
    uint8_t *kind;
    row_t *of;    /* row of the operator or wait */
    row_t *order; /* by time */
};

bool timeline_list_boundaries(const struct timeline_work *work, const struct timeline_order *ops,
                              const struct timeline_waits *waits, struct timeline_boundaries *boundaries);

/* CPU nodes in their order; node i lasts from the end of the one before, or from the end of what it waits for. */
struct timeline_chain {
    row_t n;
    uint8_t *role; /* enum timeline_role */
    row_t *op;
    bool *is_first; /* the operator's first part */
    double *start, *cut;
    uint64_t *duration_us;
    row_t *first_wait; /* n + 1: it waits for the kernels of the waits waits[first_wait[i]] .. */
    row_t *waits;
    uint64_t n_rests;
};

/* May be called again for the same boundaries with other launches. The operators of rests are not yet known: they are
 * ROW_NONE. */
bool timeline_chain_ops(const struct timeline_work *work, const struct timeline_order *ops,
                        const struct timeline_boundaries *boundaries, const struct timeline_queues *queues,
                        const struct timeline_waits *waits, const struct timeline_launch_cuts *launches,
                        struct timeline_chain *chain);

/* Finds the operators of rests; what is in none is a gap. */
bool timeline_own_rests(const struct timeline_work *work, const struct timeline_order *ops,
                        struct timeline_chain *chain);

/* Launches that need a cut, judged by a chain that was made without any. */
bool timeline_find_launch_cuts(const struct timeline_work *work, const struct timeline_queues *queues,
                               const struct timeline_chain *chain, struct timeline_launch_cuts *launches);

/* ---- Kernels ---- */

/* The longest launch latency, or gap of a stream; and how long before the start of a kernel another one may end that it
 * seems to have waited for. */
#define LATENCY_US 20.0

/* An edge: a node depends on another one. Nodes are told by their places in timeline_nodes. */
struct timeline_edges {
    uint64_t n, capacity;
    row_t *node, *dep;
    bool failed; /* out of memory */
};

void timeline_edge(struct timeline_edges *edges, row_t node, row_t dep);

/* From when until when each kernel keeps its stream: `ready` is its start less launch latency, `done` its end, or the
 * start of a kernel that waits for it where that is written down as up to 1 us earlier. So no kernel that another one
 * waits for is done after that one's start. */
struct timeline_spans {
    double *ready, *done;
};

/* What waits for a kernel may be written down as so much earlier than its end. */
#define EARLY_START_US 1.0

/* Whether kernel a comes before kernel b in the order of (start, end, id). */
bool timeline_is_earlier(const struct timeline_kernels *kernels, row_t a, row_t b);

bool timeline_ready_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                            const struct timeline_held *held, const struct timeline_chain *chain,
                            struct timeline_spans *spans, struct timeline_edges *edges, struct timeline_report *report);

/* Kernels that share the GPU, one running at a time: parts in the order of their kernels' ends. A part continues the
 * part before it of the same kernel, or begins it. */
struct timeline_parts {
    row_t n;
    row_t *kernel;
    double *start, *end;
    row_t *after; /* the kernel that ran before it, if the part has to wait for that, or ROW_NONE */
    bool *is_first, *is_last;
};

/* Places of nodes: the last part of kernel k is node k, chain node i is node n_kernels + i, other parts follow. */
static inline row_t timeline_chain_place(const struct timeline_work *work, row_t i) {
    return work->input->kernels.n + i;
}

#endif
