/*
 * timeline_kernels.c - what each kernel waits for; in come the chain of CPU nodes and the streams' queues, out go edges
 * and the moment from which on a kernel could have run.
 *
 *     ready = the last of: the cut at its launch, the end of the stream's kernel before it, the ends of the kernels
 *             that its stream was told to wait for
 *
 * What lies between that and its start is launch latency where it is short, and becomes a part of its duration. Where
 * it is long something else held the kernel up: a kernel of another stream that ended just then, or the processor.
 */
#include <math.h>
#include <string.h>

#include "simulate/timeline_stages.h"

/* A cut may be so much later than the start of a kernel. */
#define LATE_CUT_US 2.0
/* Kernels of other streams that are looked at, at most, that many seldom end within LATENCY_US; and kernels of a stream
 * that overlap. */
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

static bool cut_is_late(double cut, double start, double before) {
    return cut > start + LATE_CUT_US && cut > before + LATE_CUT_US;
}

bool timeline_find_launch_cuts(const struct timeline_work *work, const struct timeline_queues *queues,
                               const struct timeline_chain *chain, struct timeline_launch_cuts *launches) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    launches->n = 0;
    launches->time = arena_take(work->arena, kernels->n, sizeof *launches->time);
    launches->op = arena_take(work->arena, kernels->n, sizeof *launches->op);
    launches->order = arena_take(work->arena, kernels->n, sizeof *launches->order);
    double *stream_end = arena_take(work->arena, kernels->n_streams, sizeof *stream_end);
    if (work->arena->failed)
        return false;
    for (uint32_t s = 0; s < kernels->n_streams; s++)
        stream_end[s] = work->origin;
    for (row_t i = 0; i < kernels->n && chain->n; i++) {
        row_t kernel = queues->by_start[i];
        row_t node = times_below(chain->cut, chain->n, kernels->launch_start[kernel]);
        double cut = chain->cut[node < chain->n ? node : chain->n - 1], *before = &stream_end[kernels->stream[kernel]];
        if (cut_is_late(cut, kernels->start[kernel], *before)) {
            launches->time[launches->n] = fmin(kernels->launch_end[kernel], kernels->start[kernel]);
            launches->op[launches->n++] = queues->launch_op[kernel];
        }
        *before = fmax(*before, kernels->end[kernel]);
    }
    const double *keys[] = {launches->time};
    return timeline_sort(work, launches->n, keys, 1, launches->order);
}

/* ---- When kernels could begin ---- */

struct readying {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_chain *chain;
    const struct timeline_held *held;
    const row_t *by_end;    /* kernels by (end, id) */
    const double *end_time; /* of these */
    row_t *stream_last;     /* per stream: its kernel before, or ROW_NONE */
    row_t *before;          /* per kernel: the same */
    double *done;           /* as in timeline_spans */
    struct timeline_edges *edges;
    struct timeline_report *report;
};

/* The CPU node that the kernel waits for: that of the first cut at or after its launch's start, moved on to later cuts
 * up to the launch's end and before the kernel's start. */
static row_t launching_node(const struct readying *readying, row_t kernel) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    const struct timeline_chain *chain = readying->chain;
    row_t first = times_below(chain->cut, chain->n, kernels->launch_start[kernel]);
    row_t up_to_end = times_up_to(chain->cut, chain->n, kernels->launch_end[kernel]);
    row_t before_start = times_below(chain->cut, chain->n, kernels->start[kernel]);
    row_t last = up_to_end < before_start ? up_to_end : before_start;
    if (first >= chain->n)
        return chain->n - 1;
    return last > first + 1 ? last - 1 : first;
}

/* Adds an edge to a kernel, and gives when it ends, or `ready` if that is later. */
static double wait_for_kernel(const struct readying *readying, row_t kernel, row_t awaited, double ready) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    timeline_edge(readying->edges, kernel, awaited);
    readying->done[awaited] = fmin(readying->done[awaited], kernels->start[kernel]);
    return fmax(ready, kernels->end[awaited]);
}

/* The last kernel of the same stream that had ended when this one began: a stream's kernels may overlap, where they are
 * launched by a graph or by each other. */
static row_t stream_before(const struct readying *readying, row_t kernel) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    row_t *last = &readying->stream_last[kernels->stream[kernel]], before = *last;
    readying->before[kernel] = before;
    *last = kernel;
    for (row_t looked = 0; before != ROW_NONE && looked < CANDIDATES_MAX; looked++) {
        if (kernels->end[before] <= kernels->start[kernel] + EARLY_START_US)
            return before;
        before = readying->before[before];
    }
    return ROW_NONE;
}

/* What the traces say. */
static double recorded_ready(const struct readying *readying, row_t kernel) {
    double ready = readying->work->origin;
    if (readying->chain->n) {
        row_t node = launching_node(readying, kernel);
        timeline_edge(readying->edges, kernel, timeline_chain_place(readying->work, node));
        ready = fmax(ready, readying->chain->cut[node]);
    }
    row_t before = stream_before(readying, kernel);
    if (before != ROW_NONE)
        ready = wait_for_kernel(readying, kernel, before, ready);
    for (row_t h = readying->held->first[kernel]; h != ROW_NONE; h = readying->held->list[h].next)
        ready = wait_for_kernel(readying, kernel, readying->held->list[h].awaited, ready);
    return ready;
}

/* A kernel of another stream, launched before, that ended just before this one began. */
static row_t likely_awaited(const struct readying *readying, row_t kernel) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    row_t ended = times_up_to(readying->end_time, kernels->n, kernels->start[kernel]);
    for (row_t looked = 0; ended-- > 0 && looked < CANDIDATES_MAX; looked++) {
        row_t other = readying->by_end[ended];
        if (kernels->end[other] <= kernels->start[kernel] - LATENCY_US)
            break;
        if (kernels->stream[other] != kernels->stream[kernel] && timeline_is_earlier(kernels, other, kernel) &&
            kernels->launch_start[other] < kernels->launch_start[kernel])
            return other;
    }
    return ROW_NONE;
}

/* What explains a longer wait than the traces do, if anything does. */
static double explained_ready(const struct readying *readying, row_t kernel, double ready) {
    const struct timeline_kernels *kernels = &readying->work->input->kernels;
    const struct timeline_chain *chain = readying->chain;
    row_t awaited = likely_awaited(readying, kernel);
    if (awaited != ROW_NONE) {
        ready = wait_for_kernel(readying, kernel, awaited, ready);
        readying->report->n_inferred++;
    }
    row_t cuts = times_below(chain->cut, chain->n, kernels->start[kernel]);
    if (kernels->start[kernel] - ready > LATENCY_US && cuts && chain->cut[cuts - 1] > ready) {
        timeline_edge(readying->edges, kernel, timeline_chain_place(readying->work, cuts - 1));
        ready = chain->cut[cuts - 1];
        readying->report->n_clocked++;
    }
    return ready;
}

static double kernel_ready(const struct readying *readying, row_t kernel) {
    double start = readying->work->input->kernels.start[kernel];
    double ready = recorded_ready(readying, kernel);
    if (start - ready > LATENCY_US)
        ready = explained_ready(readying, kernel, ready);
    if (start - ready > LATENCY_US) {
        readying->report->n_late++;
        readying->report->late_us += start - ready;
    }
    return fmin(ready, start);
}

/* Kernels by their ends, and the ends. */
static bool sort_ends(const struct timeline_work *work, struct readying *readying) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    row_t *by_end = arena_take(work->arena, kernels->n, sizeof *by_end);
    double *end_time = arena_take(work->arena, kernels->n, sizeof *end_time);
    const double *keys[] = {kernels->end};
    if (work->arena->failed || !timeline_sort(work, kernels->n, keys, 1, by_end))
        return false;
    for (row_t i = 0; i < kernels->n; i++)
        end_time[i] = kernels->end[by_end[i]];
    readying->by_end = by_end;
    readying->end_time = end_time;
    return true;
}

bool timeline_ready_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                            const struct timeline_held *held, const struct timeline_chain *chain,
                            struct timeline_spans *spans, struct timeline_edges *edges,
                            struct timeline_report *report) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    struct readying readying = {
        .work = work, .queues = queues, .held = held, .chain = chain, .edges = edges, .report = report};
    spans->ready = arena_take(work->arena, kernels->n, sizeof *spans->ready);
    readying.done = spans->done = arena_take(work->arena, kernels->n, sizeof *spans->done);
    readying.stream_last = arena_take(work->arena, kernels->n_streams, sizeof *readying.stream_last);
    readying.before = arena_take(work->arena, kernels->n, sizeof *readying.before);
    if (work->arena->failed || !sort_ends(work, &readying))
        return false;
    memset(readying.stream_last, 0xff, kernels->n_streams * sizeof *readying.stream_last);
    memcpy(spans->done, kernels->end, kernels->n * sizeof *spans->done);
    for (row_t i = 0; i < kernels->n; i++)
        spans->ready[queues->by_start[i]] = kernel_ready(&readying, queues->by_start[i]);
    return !edges->failed;
}
