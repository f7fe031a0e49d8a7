/*
 * timeline_kernels.c - finds the dependencies of each kernel and its ready time, and makes the chain of CPU nodes.
 *
 *     ready = the latest of: the cut at its launch, the end of the preceding kernel of its stream, the ends of the
 *             kernels that its stream waits for
 *
 * A short time between ready and start is launch latency and becomes a part of the duration. A long time has another
 * cause: a kernel of another stream that ended just then, or the CPU.
 */
#include <math.h>
#include <string.h>

#include "base/shared.h"
#include "columns/column.h"
#include "simulate/timeline.h"

/* A cut may be this much later than the start of a kernel. */
#define LATE_CUT_US 2.0
/* The maximum number of kernels of other streams that are inspected (more rarely end within LATENCY_US), and of
 * overlapping kernels of one stream. */
#define CANDIDATES_MAX 256

void timeline_edge(struct timeline_edges *edges, row_t node, row_t dep) {
    if (edges->n == edges->capacity) {
        edges->failed = true;
        return;
    }
    edges->node[edges->n] = node;
    edges->dep[edges->n++] = dep;
}

/* ---- Launches that need a cut ---- */

bool timeline_find_launch_cuts(const struct timeline_work *work, const struct timeline_queues *queues,
                               const struct timeline_chain *chain, struct timeline_launch_cuts *launches) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    launches->n = 0;
    launches->time = arena_alloc(work->arena, kernels->n, sizeof *launches->time);
    launches->op = arena_alloc(work->arena, kernels->n, sizeof *launches->op);
    launches->order = arena_alloc(work->arena, kernels->n, sizeof *launches->order);
    double *stream_end = arena_alloc(work->arena, kernels->n_streams, sizeof *stream_end);
    if (work->arena->failed)
        return false;
    for (uint32_t s = 0; s < kernels->n_streams; s++)
        stream_end[s] = work->origin;
    for (row_t i = 0; i < kernels->n && chain->n; i++) {
        row_t kernel = queues->by_start[i];
        row_t node = times_below(chain->cut, chain->n, kernels->launch_start[kernel]);
        double cut = chain->cut[node < chain->n ? node : chain->n - 1], *before = &stream_end[kernels->stream[kernel]];
        if (cut > kernels->start[kernel] + LATE_CUT_US && cut > *before + LATE_CUT_US) {
            launches->time[launches->n] = fmin(kernels->launch_end[kernel], kernels->start[kernel]);
            launches->op[launches->n++] = queues->launch_op[kernel];
        }
        *before = fmax(*before, kernels->end[kernel]);
    }
    const double *keys[] = {launches->time};
    return timeline_sort(work, launches->n, keys, 1, launches->order);
}

/* ---- Ready times ---- */

struct readying {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_chain *chain;
    const struct timeline_deps *deps;
    const row_t *by_end;    /* kernels by (end, id) */
    const double *end_time; /* of by_end[] */
    row_t *stream_last;     /* per stream: its preceding kernel, or ROW_NONE */
    row_t *before;          /* per kernel: the preceding kernel of its stream */
    double *done;           /* as in timeline_ready_kernels() */
    struct timeline_edges *edges;
    struct timeline_report *report;
};

/* The CPU node that the kernel waits for: the first cut at or after the start of its launch, moved to later cuts up
 * to the end of the launch and before the start of the kernel. */
static row_t launching_node(const struct readying *readying, row_t kernel) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    const struct timeline_chain *chain = readying->chain;
    row_t first = times_below(chain->cut, chain->n, kernels->launch_start[kernel]);
    row_t up_to_end = times_up_to(chain->cut, chain->n, kernels->launch_end[kernel]);
    row_t before_start = times_below(chain->cut, chain->n, kernels->start[kernel]);
    row_t last = MIN(up_to_end, before_start);
    if (first >= chain->n)
        return chain->n - 1;
    return last > first + 1 ? last - 1 : first;
}

/* Adds an edge to a kernel. Returns its end, or `ready` if `ready` is later. */
static double wait_for_kernel(const struct readying *readying, row_t kernel, row_t awaited, double ready) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    timeline_edge(readying->edges, kernel, awaited);
    readying->done[awaited] = fmin(readying->done[awaited], kernels->start[kernel]);
    return fmax(ready, kernels->end[awaited]);
}

/* The last kernel of the same stream that had ended when this one started. Kernels of a stream overlap if a graph or
 * another kernel launched them. */
static row_t stream_before(const struct readying *readying, row_t kernel) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    row_t *last = &readying->stream_last[kernels->stream[kernel]], before = *last;
    readying->before[kernel] = before;
    *last = kernel;
    for (row_t n_inspected = 0; before != ROW_NONE && n_inspected < CANDIDATES_MAX; n_inspected++) {
        if (kernels->end[before] <= kernels->start[kernel] + EARLY_START_US)
            return before;
        before = readying->before[before];
    }
    return ROW_NONE;
}

/* A kernel of another stream, launched earlier, that ended just before this one started. */
static row_t find_likely_cause(const struct readying *readying, row_t kernel) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    row_t ended = times_up_to(readying->end_time, kernels->n, kernels->start[kernel]);
    for (row_t n_inspected = 0; ended-- > 0 && n_inspected < CANDIDATES_MAX; n_inspected++) {
        row_t other = readying->by_end[ended];
        if (kernels->end[other] <= kernels->start[kernel] - LATENCY_US)
            break;
        if (kernels->stream[other] != kernels->stream[kernel] && timeline_is_earlier(kernels, other, kernel) &&
            kernels->launch_start[other] < kernels->launch_start[kernel])
            return other;
    }
    return ROW_NONE;
}

static double kernel_ready(const struct readying *readying, row_t kernel) {
    double start = readying->work->input->kernels.start[kernel];

    /* The dependencies that the traces record: launch, stream, stream waits. */
    double ready = readying->work->origin;
    if (readying->chain->n) {
        row_t node = launching_node(readying, kernel);
        timeline_edge(readying->edges, kernel, timeline_chain_row(readying->work, node));
        ready = fmax(ready, readying->chain->cut[node]);
    }
    row_t before = stream_before(readying, kernel);
    if (before != ROW_NONE)
        ready = wait_for_kernel(readying, kernel, before, ready);
    for (row_t h = readying->deps->first[kernel]; h != ROW_NONE; h = readying->deps->list[h].next)
        ready = wait_for_kernel(readying, kernel, readying->deps->list[h].awaited, ready);

    if (start - ready > LATENCY_US) {
        /* If the traces do not explain the wait, infer its cause. */
        const struct timeline_kernels *kernels = &readying->work->input->kernels;
        const struct timeline_chain *chain = readying->chain;
        row_t awaited = find_likely_cause(readying, kernel);
        if (awaited != ROW_NONE) {
            ready = wait_for_kernel(readying, kernel, awaited, ready);
            readying->report->n_inferred++;
        }
        row_t cuts = times_below(chain->cut, chain->n, kernels->start[kernel]);
        if (kernels->start[kernel] - ready > LATENCY_US && cuts && chain->cut[cuts - 1] > ready) {
            timeline_edge(readying->edges, kernel, timeline_chain_row(readying->work, cuts - 1));
            ready = chain->cut[cuts - 1];
            readying->report->n_clocked++;
        }
    }
    if (start - ready > LATENCY_US) {
        readying->report->n_late++;
        readying->report->late_us += start - ready;
    }
    return fmin(ready, start);
}

bool timeline_ready_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                            const struct timeline_deps *deps, const struct timeline_chain *chain, double *ready,
                            double *done, struct timeline_edges *edges, struct timeline_report *report) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    struct readying readying = {
        .work = work, .queues = queues, .deps = deps, .chain = chain, .edges = edges, .report = report, .done = done};
    readying.stream_last = rows_none(work->arena, kernels->n_streams);
    readying.before = arena_alloc(work->arena, kernels->n, sizeof *readying.before);
    row_t *by_end = arena_alloc(work->arena, kernels->n, sizeof *by_end);
    double *end_time = arena_alloc(work->arena, kernels->n, sizeof *end_time);
    const double *keys[] = {kernels->end};
    if (work->arena->failed || !timeline_sort(work, kernels->n, keys, 1, by_end))
        return false;
    for (row_t i = 0; i < kernels->n; i++)
        end_time[i] = kernels->end[by_end[i]];
    readying.by_end = by_end;
    readying.end_time = end_time;
    memcpy(done, kernels->end, kernels->n * sizeof *done);
    for (row_t i = 0; i < kernels->n; i++)
        ready[queues->by_start[i]] = kernel_ready(&readying, queues->by_start[i]);
    return !edges->failed;
}

/*
 * ---- One chain of CPU nodes through all threads: nodes last from cut to cut ----
 *
 *     boundaries by time   | op a cut | wait at | until | op b cut |       at one time: launches and gaps first, then
 *     nodes                [ a        ][ b part ]         [ b      ]       waits, then resumptions, then operator cuts
 *
 * Where the CPU waits, the next node has no duration for the wait, but depends on the kernels. If other threads ran
 * meanwhile, or launched something that this part depends on, the time until then becomes a node, so that a kernel
 * never depends on a node after the wait for it.
 */

enum boundary_kind { AT_GAP, AT_WAIT, AT_RESUMPTION, AT_CUT };

static void add_boundary(struct timeline_boundaries *boundaries, enum boundary_kind kind, double time, row_t of) {
    boundaries->time[boundaries->n] = time;
    boundaries->kind[boundaries->n] = (uint8_t)kind;
    boundaries->of[boundaries->n++] = of;
}

/* Sorting is stable, so boundaries are added kind by kind. Starts are only needed if gaps become nodes, and not
 * where an operator ends, whose self time lasts until then. */
bool timeline_list_boundaries(const struct timeline_work *work, const struct timeline_order *ops,
                              const struct timeline_waits *waits, struct timeline_boundaries *boundaries) {
    const row_t n_ops = work->input->ops.n, n_begins = isinf(work->input->options.min_gap_us) ? 0 : n_ops;
    const size_t most = (size_t)n_ops + n_begins + (size_t)waits->n * 2;
    *boundaries = (struct timeline_boundaries){
        .time = arena_alloc(work->arena, most, sizeof *boundaries->time),
        .kind = arena_alloc(work->arena, most, sizeof *boundaries->kind),
        .of = arena_alloc(work->arena, most, sizeof *boundaries->of),
        .order = arena_alloc(work->arena, most, sizeof *boundaries->order),
    };
    if (work->arena->failed || most > ROW_LIMIT)
        return false;
    for (row_t i = 0; i < n_begins; i++)
        if (!ops->is_abutting[ops->order[i]])
            add_boundary(boundaries, AT_GAP, work->input->ops.start[ops->order[i]], ops->order[i]);
    for (row_t i = 0; i < waits->n; i++)
        add_boundary(boundaries, AT_WAIT, waits->at[i], i);
    for (row_t i = 0; i < waits->n; i++)
        add_boundary(boundaries, AT_RESUMPTION, waits->until[i], i);
    for (row_t i = 0; i < n_ops; i++)
        add_boundary(boundaries, AT_CUT, ops->cut[ops->order[i]], ops->order[i]);
    const double *keys[] = {boundaries->time};
    return timeline_sort(work, boundaries->n, keys, 1, boundaries->order);
}

struct chaining {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_waits *waits;
    struct timeline_chain *chain;
    bool *is_used; /* per operator: its first part exists */
    double now;    /* the time up to which nodes exist */
    row_t n_waits; /* waits that nodes depend on */
};

static double last_cut(const struct chaining *chaining) {
    const struct timeline_chain *chain = chaining->chain;
    return chain->n ? chain->cut[chain->n - 1] : -INFINITY;
}

/* Whether the next node waits for resumptions. */
static bool is_waiting(const struct chaining *chaining) {
    return chaining->n_waits > chaining->chain->first_wait[chaining->chain->n];
}

/* Adds a node from now until the time. */
static void add_node(struct chaining *chaining, enum timeline_role role, row_t op, double time) {
    struct timeline_chain *chain = chaining->chain;
    row_t i = chain->n;
    int64_t duration = timeline_us(chaining->work, time) - timeline_us(chaining->work, chaining->now);
    chain->role[i] = (uint8_t)(op == ROW_NONE && role == NODE_OP ? NODE_GAP : role);
    chain->op[i] = op;
    chain->is_first[i] = role == NODE_OP && op != ROW_NONE && !chaining->is_used[op];
    if (chain->is_first[i])
        chaining->is_used[op] = true;
    chain->start[i] = chaining->now;
    chain->duration_us[i] = (uint64_t)MAX(duration, 0);
    chain->cut[i] = fmax(time, last_cut(chaining));
    chain->first_wait[++chain->n] = chaining->n_waits;
    chaining->now = fmax(chaining->now, time);
}

/* Whether a kernel was launched after the last cut and up to now. */
static bool has_launched(const struct chaining *chaining, double time) {
    const double *launches = chaining->queues->launch_time;
    row_t n = chaining->work->input->kernels.n;
    row_t next = times_up_to(launches, n, last_cut(chaining));
    return next < n && launches[next] <= time;
}

bool timeline_chain_ops(const struct timeline_work *work, const struct timeline_order *ops,
                        const struct timeline_boundaries *boundaries, const struct timeline_queues *queues,
                        const struct timeline_waits *waits, const struct timeline_launch_cuts *launches,
                        struct timeline_chain *chain) {
    size_t most = (size_t)boundaries->n + launches->n + 1;
    *chain = (struct timeline_chain){
        .role = arena_alloc(work->arena, most, sizeof(uint8_t)),
        .op = arena_alloc(work->arena, most, sizeof(row_t)),
        .is_first = arena_alloc(work->arena, most, sizeof(bool)),
        .start = arena_alloc(work->arena, most, sizeof(double)),
        .cut = arena_alloc(work->arena, most, sizeof(double)),
        .duration_us = arena_alloc(work->arena, most, sizeof(uint64_t)),
        .first_wait = arena_zeros(work->arena, most + 1, sizeof(row_t)),
        .waits = arena_alloc(work->arena, waits->n, sizeof(row_t)),
    };
    struct chaining chaining = {.work = work,
                                .queues = queues,
                                .waits = waits,
                                .chain = chain,
                                .is_used = arena_zeros(work->arena, work->input->ops.n, sizeof(bool)),
                                .now = work->origin};
    if (work->arena->failed || (size_t)boundaries->n + launches->n >= ROW_LIMIT)
        return false;

    /* At one time launches precede all other boundaries. */
    row_t launch = 0;
    for (row_t i = 0; i <= boundaries->n; i++) {
        row_t boundary = i < boundaries->n ? boundaries->order[i] : 0,
              of = i < boundaries->n ? boundaries->of[boundary] : 0;
        double time = i < boundaries->n ? boundaries->time[boundary] : INFINITY;
        for (; launch < launches->n && launches->time[launches->order[launch]] <= time; launch++) {
            double cut = launches->time[launches->order[launch]];
            if (cut > chaining.now)
                add_node(&chaining, NODE_OP, launches->op[launches->order[launch]], cut);
        }
        if (i == boundaries->n)
            break;
        switch ((enum boundary_kind)boundaries->kind[boundary]) {
        case AT_GAP:
            /* A gap that is too long for the next node becomes a node. */
            if (time - chaining.now > chaining.work->input->options.min_gap_us) {
                add_node(&chaining, NODE_OP_GAP, ROW_NONE, time);
                chaining.chain->n_gaps++;
            }
            break;
        case AT_WAIT:
            if (time > chaining.now || chaining.chain->n == 0 || chaining.waits->last_launch[of] > last_cut(&chaining))
                add_node(&chaining, NODE_OP, chaining.waits->op_at[of], time);
            break;
        case AT_RESUMPTION:
            if (last_cut(&chaining) > chaining.waits->at[of] || has_launched(&chaining, time))
                add_node(&chaining, NODE_OP, chaining.waits->op_until[of], time);
            chaining.chain->waits[chaining.n_waits++] = of;
            chaining.now = fmax(chaining.now, time);
            break;
        case AT_CUT:
            /* The end of an operator makes no node if its last part has ended. */
            if (!chaining.is_used[of] || time > chaining.now || is_waiting(&chaining))
                add_node(&chaining, NODE_OP, of, time);
            break;
        }
    }
    if (work->input->ops.n &&
        (is_waiting(&chaining) || timeline_us(work, ops->last_end) > timeline_us(work, chaining.now)))
        add_node(&chaining, NODE_GAP, ROW_NONE, ops->last_end);
    return true;
}

/* A gap ends where an operator starts: it belongs to the operator that ran then. */
bool timeline_find_gap_owners(const struct timeline_work *work, const struct timeline_order *ops,
                              struct timeline_chain *chain) {
    struct arena_mark mark = arena_mark(work->arena);
    struct owner_queries queries = owner_queries_alloc(work->arena, (row_t)chain->n_gaps);
    row_t *gaps = arena_alloc(work->arena, chain->n_gaps, sizeof *gaps), n = 0;
    bool done = !work->arena->failed;
    for (row_t i = 0; i < chain->n && done; i++)
        if (chain->role[i] == NODE_OP_GAP) {
            queries.time[n] = chain->cut[i];
            queries.thread[n] = THREAD_ALL;
            gaps[n++] = i;
        }
    done = done && timeline_find_owners(work, ops, &queries);
    for (row_t i = 0; i < n && done; i++) {
        chain->op[gaps[i]] = queries.op[i];
        if (queries.op[i] == ROW_NONE)
            chain->role[gaps[i]] = NODE_GAP;
    }
    arena_release(work->arena, mark);
    return done;
}
