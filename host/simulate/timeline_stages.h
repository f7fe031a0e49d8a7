/*
 * timeline_stages.h - the stages behind timeline_build(), each with what it takes and what it gives.
 *
 *     ops ---order, cuts---> operator cuts ---\
 *     calls, kernels --------> waits -----------> chain of CPU nodes, and when each ends
 *     kernels ---launches that come late--------/            |
 *        \------------------------------------------> ready times, dependencies ---> parts
 *
 * All columns are the arena's. Stages that sort need the engine; they return false where the arena or the engine ran
 * out of memory.
 */
#ifndef SIMULATE_TIMELINE_STAGES_H
#define SIMULATE_TIMELINE_STAGES_H

#include <math.h>

#include "base/bisect.h"
#include "simulate/timeline.h"

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

bool timeline_order_ops(const struct timeline_work *work, struct timeline_order *ops);

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

/* The last kernel of the stream that was launched before the time, or ROW_NONE. */
row_t timeline_last_launched(const struct timeline_work *work, const struct timeline_queues *queues, uint32_t stream,
                             double time);
/* The first one that was launched at that time or later. */
row_t timeline_next_launched(const struct timeline_work *work, const struct timeline_queues *queues, uint32_t stream,
                             double time);

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
row_t timeline_event_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                             const struct timeline_held *held, uint32_t stream, double time,
                             row_t kernels[EVENT_KERNELS_MAX]);

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

bool timeline_share_gpu(const struct timeline_work *work, const struct timeline_queues *queues,
                        const struct timeline_spans *spans, struct timeline_parts *parts);

/* Places of nodes: the last part of kernel k is node k, chain node i is node n_kernels + i, other parts follow. */
static inline row_t timeline_chain_place(const struct timeline_work *work, row_t i) {
    return work->input->kernels.n + i;
}

#endif
