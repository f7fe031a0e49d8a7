/*
 * timeline.c - runs the stages of timeline_stages.h and puts their results into nodes.
 *
 *     places   0 .. kernels - 1       the last part of each kernel, since others depend on its end
 *              then                   the chain of CPU nodes
 *              then                   the other parts of kernels
 */
#include "simulate/timeline.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "columns/row_list.h"
#include "simulate/timeline_stages.h"

/* ---- Calls ---- */

struct timeline_calls timeline_calls_take(struct arena *arena, size_t n) {
    return (struct timeline_calls){
        .start = arena_take(arena, n, sizeof(double)),
        .end = arena_take(arena, n, sizeof(double)),
        .before = arena_take(arena, n, sizeof(double)),
        .stream = arena_take(arena, n, sizeof(uint32_t)),
        .thread = arena_take(arena, n, sizeof(uint32_t)),
    };
}

void timeline_calls_add(struct timeline_calls *calls, struct timeline_call call) {
    row_t i = calls->n++;
    calls->start[i] = call.start;
    calls->end[i] = call.end;
    calls->before[i] = call.before;
    calls->stream[i] = call.stream;
    calls->thread[i] = call.thread;
}

/* ---- Edges ---- */

/* Edges that a kernel may have besides those of its orders: from its launch, its stream, another stream, and the
 * clock. */
#define KERNEL_EDGES 4

static bool take_edges(struct arena *arena, uint64_t capacity, struct timeline_edges *edges) {
    *edges = (struct timeline_edges){
        .capacity = capacity,
        .node = arena_take(arena, capacity, sizeof *edges->node),
        .dep = arena_take(arena, capacity, sizeof *edges->dep),
    };
    return !arena->failed;
}

/* Edges as a list for each node. */
static bool list_deps(struct arena *arena, const struct timeline_edges *edges, struct timeline_nodes *nodes) {
    nodes->first_dep = arena_zeros(arena, (size_t)nodes->n + 1, sizeof *nodes->first_dep);
    nodes->deps = arena_take(arena, edges->n, sizeof *nodes->deps);
    if (arena->failed)
        return false;
    for (uint64_t i = 0; i < edges->n; i++)
        nodes->first_dep[edges->node[i]]++;
    uint64_t end = 0;
    for (row_t i = 0; i <= nodes->n; i++) {
        end += nodes->first_dep[i];
        nodes->first_dep[i] = end;
    }
    for (uint64_t i = 0; i < edges->n; i++)
        nodes->deps[--nodes->first_dep[edges->node[i]]] = edges->dep[i];

    uint64_t n_kept = 0;
    for (row_t i = 0; i < nodes->n; i++) {
        row_t *list = nodes->deps + nodes->first_dep[i];
        uint64_t n = rows_sort_unique(list, nodes->first_dep[i + 1] - nodes->first_dep[i]);
        memmove(nodes->deps + n_kept, list, n * sizeof *list);
        nodes->first_dep[i] = n_kept;
        n_kept += n;
    }
    nodes->first_dep[nodes->n] = n_kept;
    nodes->n_deps = n_kept;
    return true;
}

/* ---- Nodes ---- */

static bool take_nodes(struct arena *arena, row_t n, struct timeline_nodes *nodes) {
    *nodes = (struct timeline_nodes){
        .n = n,
        .id = arena_take(arena, n, sizeof *nodes->id),
        .role = arena_take(arena, n, sizeof *nodes->role),
        .of = arena_take(arena, n, sizeof *nodes->of),
        .start = arena_take(arena, n, sizeof *nodes->start),
        .duration_us = arena_take(arena, n, sizeof *nodes->duration_us),
        .run_us = arena_zeros(arena, n, sizeof *nodes->run_us),
    };
    return !arena->failed;
}

/* The chain: each node waits for the one before, and for the kernels at whose end the processor went on. */
static void put_chain(const struct timeline_work *work, const struct timeline_chain *chain,
                      const struct timeline_waits *waits, struct timeline_nodes *nodes, struct timeline_edges *edges,
                      uint64_t *next_id) {
    for (row_t i = 0; i < chain->n; i++) {
        row_t place = timeline_chain_place(work, i);
        nodes->role[place] = chain->role[i];
        nodes->of[place] = chain->op[i];
        nodes->id[place] = chain->is_first[i] ? work->input->ops.id[chain->op[i]] : (*next_id)++;
        nodes->start[place] = chain->start[i];
        nodes->duration_us[place] = chain->duration_us[i];
        if (i)
            timeline_edge(edges, place, place - 1);
        for (row_t w = chain->first_wait[i]; w < chain->first_wait[i + 1]; w++)
            for (uint64_t k = waits->first[chain->waits[w]]; k < waits->first[chain->waits[w] + 1]; k++)
                timeline_edge(edges, place, waits->kernels[k]);
    }
}

static void put_kernel(const struct timeline_work *work, row_t place, row_t kernel, double start, double end,
                       struct timeline_nodes *nodes) {
    int64_t duration = timeline_us(work, end) - timeline_us(work, start);
    nodes->role[place] = NODE_KERNEL;
    nodes->of[place] = kernel;
    nodes->start[place] = start;
    nodes->duration_us[place] = duration > 0 ? (uint64_t)duration : 0;
    nodes->run_us[place] = fmax(0, end - fmax(start, work->input->kernels.start[kernel]));
}

/* Kernels as they are. */
static void put_kernels(const struct timeline_work *work, const struct timeline_spans *spans,
                        struct timeline_nodes *nodes) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    for (row_t k = 0; k < kernels->n; k++) {
        put_kernel(work, k, k, spans->ready[k], spans->done[k], nodes);
        nodes->id[k] = kernels->id[k];
    }
}

/* Kernels in parts: each waits for the one before it and for the kernel that ran in between. first_part[k]: where the
 * first part of kernel k has come to. */
static void put_parts(const struct timeline_work *work, const struct timeline_parts *parts, row_t place,
                      struct timeline_nodes *nodes, struct timeline_edges *edges, row_t *first_part,
                      uint64_t *next_id) {
    row_t before = ROW_NONE;
    for (row_t i = 0; i < parts->n; i++) {
        row_t kernel = parts->kernel[i], at = parts->is_last[i] ? kernel : place++;
        put_kernel(work, at, kernel, parts->start[i], parts->end[i], nodes);
        nodes->id[at] = parts->is_last[i] ? work->input->kernels.id[kernel] : (*next_id)++;
        if (parts->is_first[i])
            first_part[kernel] = at;
        else
            timeline_edge(edges, at, before);
        if (parts->after[i] != ROW_NONE)
            timeline_edge(edges, at, parts->after[i]);
        before = at;
    }
}

/* ---- All of it ---- */

static void find_origin(struct timeline_work *work, struct timeline_report *report) {
    const struct timeline_ops *ops = &work->input->ops;
    const struct timeline_kernels *kernels = &work->input->kernels;
    double first = INFINITY, last = -INFINITY;
    for (row_t i = 0; i < ops->n; i++) {
        first = fmin(first, ops->start[i]);
        last = fmax(last, ops->end[i]);
    }
    for (row_t k = 0; k < kernels->n; k++) {
        first = fmin(first, kernels->start[k]);
        last = fmax(last, kernels->end[k]);
    }
    bool is_empty = ops->n == 0 && kernels->n == 0;
    work->origin = is_empty ? 0 : first;
    report->origin = work->origin;
    report->measured_us = is_empty ? 0 : last - first;
}

/* The chain, made twice: the first one shows which launches come too late without a cut of their own. */
static bool make_chain(const struct timeline_work *work, const struct timeline_order *ops,
                       const struct timeline_queues *queues, const struct timeline_waits *waits,
                       struct timeline_chain *chain, struct timeline_report *report) {
    struct timeline_launch_cuts launches = {0};
    struct timeline_boundaries boundaries;
    if (!timeline_list_boundaries(work, ops, waits, &boundaries) ||
        !timeline_chain_ops(work, ops, &boundaries, queues, waits, &launches, chain) ||
        !timeline_find_launch_cuts(work, queues, chain, &launches) ||
        !timeline_chain_ops(work, ops, &boundaries, queues, waits, &launches, chain) ||
        !timeline_own_rests(work, ops, chain))
        return false;
    report->n_launch_cuts = launches.n;
    report->n_rests = chain->n_rests;
    return true;
}

static bool put_all(const struct timeline_work *work, const struct timeline_queues *queues,
                    const struct timeline_held *held, const struct timeline_waits *waits,
                    const struct timeline_chain *chain, struct timeline_nodes *nodes, struct timeline_report *report) {
    const row_t n_kernels = work->input->kernels.n;
    const uint64_t n_awaited = waits->n ? waits->first[waits->n] : 0;
    uint64_t next_id = work->input->first_new_id, capacity = chain->n + n_awaited + held->n;
    struct timeline_edges edges;
    struct timeline_parts parts = {0};
    struct timeline_spans spans;
    row_t *first_part = arena_take(work->arena, n_kernels, sizeof *first_part);
    if (!take_edges(work->arena, capacity + (uint64_t)n_kernels * (KERNEL_EDGES + 4), &edges) ||
        !timeline_ready_kernels(work, queues, held, chain, &spans, &edges, report))
        return false;
    if (!work->input->options.per_stream && !timeline_share_gpu(work, queues, &spans, &parts))
        return false;
    report->n_parts = parts.n ? parts.n - n_kernels : 0;
    if (!take_nodes(work->arena, n_kernels + chain->n + (row_t)report->n_parts, nodes))
        return false;
    uint64_t n_kernel_edges = edges.n;
    put_chain(work, chain, waits, nodes, &edges, &next_id);
    if (work->input->options.per_stream) {
        put_kernels(work, &spans, nodes);
    } else {
        put_parts(work, &parts, n_kernels + chain->n, nodes, &edges, first_part, &next_id);
        for (uint64_t i = 0; i < n_kernel_edges; i++)
            edges.node[i] = first_part[edges.node[i]];
    }
    return !edges.failed && list_deps(work->arena, &edges, nodes);
}

enum sutra_status timeline_build(const struct timeline_input *input, const struct engine *engine, struct arena *arena,
                                 struct timeline_nodes *nodes, struct timeline_report *report,
                                 struct sutra_error *error) {
    struct timeline_work work = {.input = input, .engine = engine, .arena = arena};
    struct timeline_order ops = {0};
    struct timeline_queues queues = {0};
    struct timeline_held held = {0};
    struct timeline_waits waits = {0};
    struct timeline_chain chain = {0};
    *report = (struct timeline_report){0};
    find_origin(&work, report);
    bool done = timeline_order_ops(&work, &ops) && timeline_queue_kernels(&work, &ops, &queues) &&
                timeline_find_held(&work, &queues, &held, report) &&
                timeline_find_waits(&work, &ops, &queues, &held, &waits, report) &&
                make_chain(&work, &ops, &queues, &waits, &chain, report) &&
                put_all(&work, &queues, &held, &waits, &chain, nodes, report);
    return done ? SUTRA_OK : error_memory(error);
}
