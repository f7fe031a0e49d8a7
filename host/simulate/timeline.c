/*
 * timeline.c - runs the stages of timeline_stages.h and puts their results into nodes.
 *
 *     places   0 .. kernels - 1       the last part of each kernel, since others depend on its end
 *              then                   the chain of CPU nodes
 *              then                   the other parts of kernels
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "columns/numbers.h"
#include "columns/rows.h"
#include "simulate/timeline.h"

/*
 * Operators of the processor: their order, their cuts, and which of them was running at a moment; in
 * come operators with times, out go rows.
 */

bool timeline_sort(const struct timeline_work *work, row_t n, const double *const *keys, int n_keys, row_t *order) {
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *sort_keys = arena_take(work->arena, n, sizeof *sort_keys);
    bool done = !work->arena->failed;
    for (row_t i = 0; done && i < n; i++)
        order[i] = i;
    for (int k = 0; done && k < n_keys; k++) {
        for (row_t i = 0; i < n; i++)
            sort_keys[i] = double_sort_key(keys[k][order[i]]);
        struct sort_keys_step step = {sort_keys, order, n};
        done = !work->engine->sort_keys(work->engine->state, &step, NULL);
    }
    arena_release(work->arena, mark);
    return done;
}

/* An operator's cut is known when the next one of its thread has been seen. */
static bool cut_ops(const struct timeline_work *work, struct timeline_order *made) {
    const struct timeline_ops *ops = &work->input->ops;
    struct arena_mark mark = arena_mark(work->arena);
    row_t *last = arena_take(work->arena, ops->n_threads, sizeof *last);
    if (work->arena->failed)
        return false;
    memset(last, 0xff, ops->n_threads * sizeof *last);
    for (row_t i = 0; i < ops->n; i++) {
        row_t op = made->order[i], before = last[ops->thread[op]];
        if (before != ROW_NONE && ops->start[op] < ops->end[before])
            made->cut[before] = ops->start[op];
        made->cut[op] = ops->end[op];
        made->is_abutting[op] = before != ROW_NONE && ops->start[op] == ops->end[before];
        last[ops->thread[op]] = op;
    }
    arena_release(work->arena, mark);
    return true;
}

static bool timeline_order_ops(const struct timeline_work *work, struct timeline_order *made) {
    const struct timeline_ops *ops = &work->input->ops;
    made->order = arena_take(work->arena, ops->n, sizeof *made->order);
    made->cut = arena_take(work->arena, ops->n, sizeof *made->cut);
    made->is_abutting = arena_take(work->arena, ops->n, sizeof *made->is_abutting);
    double *falling_end = arena_take(work->arena, ops->n, sizeof *falling_end);
    if (work->arena->failed)
        return false;
    made->last_end = -INFINITY;
    for (row_t i = 0; i < ops->n; i++) {
        falling_end[i] = -ops->end[i];
        made->last_end = fmax(made->last_end, ops->end[i]);
    }
    const double *keys[] = {falling_end, ops->start};
    return timeline_sort(work, ops->n, keys, 2, made->order) && cut_ops(work, made);
}

/* ---- Owners ---- */

struct owner_queries owner_queries_take(struct arena *arena, row_t n) {
    return (struct owner_queries){
        .n = n,
        .time = arena_take(arena, n, sizeof(double)),
        .thread = arena_take(arena, n, sizeof(uint32_t)),
        .op = arena_take(arena, n, sizeof(row_t)),
    };
}

/* Operators that have begun and may still run, the innermost last; those that end no later than a later one are out of
 * it. So their ends fall from the first to the last. */
struct open_ops {
    row_t *rows;
    row_t n;
};

static void open_op(struct open_ops *open, const double *end, row_t op) {
    while (open->n && end[open->rows[open->n - 1]] <= end[op])
        open->n--;
    open->rows[open->n++] = op;
}

/* The last one that has not ended before the time, or ROW_NONE. */
static row_t running_op(const struct open_ops *open, const double *end, double time) {
    struct bisection at = {0, open->n};
    while (at.low < at.high)
        bisect(&at, end[open->rows[bisect_middle(at)]] >= time);
    return at.low ? open->rows[at.low - 1] : ROW_NONE;
}

/* Room for the open operators of each thread, and of all of them at threads[n_threads]. */
static struct open_ops *take_open_ops(const struct timeline_work *work) {
    const struct timeline_ops *ops = &work->input->ops;
    struct open_ops *threads = arena_zeros(work->arena, (size_t)ops->n_threads + 1, sizeof *threads);
    row_t *rows = arena_take(work->arena, (size_t)ops->n * 2, sizeof *rows);
    if (work->arena->failed)
        return NULL;
    for (row_t i = 0; i < ops->n; i++)
        threads[ops->thread[i]].n++;
    for (uint32_t t = 0; t < ops->n_threads; t++) {
        threads[t].rows = rows;
        rows += threads[t].n;
        threads[t].n = 0;
    }
    threads[ops->n_threads].rows = rows;
    return threads;
}

/* Goes through the moments and the operators in the order of time. */
static void sweep_owners(const struct timeline_ops *ops, const row_t *order, const row_t *moments,
                         struct open_ops *threads, struct owner_queries *queries) {
    struct open_ops *all = &threads[ops->n_threads];
    row_t begun = 0, begun_before = 0;
    for (row_t i = 0; i < queries->n; i++) {
        row_t query = moments[i];
        double time = queries->time[query];
        uint32_t thread = queries->thread[query];
        for (; begun < ops->n && ops->start[order[begun]] <= time; begun++)
            open_op(&threads[ops->thread[order[begun]]], ops->end, order[begun]);
        for (; begun_before < ops->n && ops->start[order[begun_before]] < time; begun_before++)
            open_op(all, ops->end, order[begun_before]);
        queries->op[query] = thread == THREAD_UNKNOWN
                                 ? ROW_NONE
                                 : running_op(thread == THREAD_ALL ? all : &threads[thread], ops->end, time);
    }
}

bool timeline_find_owners(const struct timeline_work *work, const struct timeline_order *made,
                          struct owner_queries *queries) {
    struct arena_mark mark = arena_mark(work->arena);
    row_t *moments = arena_take(work->arena, queries->n, sizeof *moments);
    struct open_ops *threads = take_open_ops(work);
    const double *keys[] = {queries->time};
    bool done = threads && !work->arena->failed && timeline_sort(work, queries->n, keys, 1, moments);
    if (done)
        sweep_owners(&work->input->ops, made->order, moments, threads, queries);
    arena_release(work->arena, mark);
    return done;
}

/*
 * Kernels that ran side by side, for a simulator whose GPU runs one at a time; in come the moments
 * at which kernels became ready and their ends, out go parts that do not overlap.
 *
 *     measured   stream 7   [ a                ]           each moment belongs to the kernel that ends first
 *                stream 8        [ b    ]
 *     parts                 [ a ][ b    ][ a   ]           parts below 2 us join the next part of their kernel
 *
 * Computation and communication have a resource each; communication of a job stays whole, since it meets that of other
 * ranks. One sweep with a heap of the running kernels.
 */

/* Parts that are shorter are not worth a node. */
#define SHORTEST_PART_US 2.0

/* A stretch of time in which one kernel ran; those of a kernel are a list. */
struct gpu_stretch {
    double start, end;
    row_t after; /* the kernel that ran before, or ROW_NONE */
    row_t next;  /* of the same kernel, or ROW_NONE */
};

struct gpu_sharing {
    const struct timeline_kernels *kernels;
    const double *ready, *done;
    row_t *first, *last; /* per kernel: its stretches */
    struct gpu_stretch *stretches;
    row_t n_stretches;
    struct row_heap heap; /* positions in waiting[] of the kernels that have begun, by (end, position) */
    const row_t *waiting; /* kernels by the moment at which they are ready */
};

/* Of positions in waiting[]. */
static bool ends_before(const void *of, row_t a, row_t b) {
    const struct gpu_sharing *sharing = of;
    double end_a = sharing->done[sharing->waiting[a]], end_b = sharing->done[sharing->waiting[b]];
    return end_a != end_b ? end_a < end_b : a < b;
}

/* The kernel runs from `start` to `end`, after `before`. */
static void run_kernel(struct gpu_sharing *sharing, row_t kernel, row_t before, double start, double end) {
    row_t last = sharing->last[kernel];
    if (last != ROW_NONE && before == kernel) {
        sharing->stretches[last].end = end;
        return;
    }
    row_t made = sharing->n_stretches++;
    sharing->stretches[made] = (struct gpu_stretch){start, end, before, ROW_NONE};
    *(last == ROW_NONE ? &sharing->first[kernel] : &sharing->stretches[last].next) = made;
    sharing->last[kernel] = made;
}

/* Shares one resource out to n kernels. At each moment at which one begins or ends the next stretch begins, so there
 * are at most two for each. */
static void share_resource(struct gpu_sharing *sharing, row_t n, double origin) {
    double now = origin;
    row_t begun = 0, before = ROW_NONE;
    while (begun < n || sharing->heap.n) {
        if (!sharing->heap.n)
            now = fmax(now, sharing->ready[sharing->waiting[begun]]);
        while (begun < n && sharing->ready[sharing->waiting[begun]] <= now)
            row_heap_push(&sharing->heap, begun++, ends_before, sharing);
        row_t kernel = sharing->waiting[sharing->heap.rows[0]];
        double end = sharing->done[kernel];
        double until = begun < n ? fmin(end, sharing->ready[sharing->waiting[begun]]) : end;
        if ((before == kernel && sharing->last[kernel] != ROW_NONE) || until > now || end <= now)
            run_kernel(sharing, kernel, before, now, fmax(until, now));
        before = kernel;
        now = fmax(now, until);
        if (end <= now)
            row_heap_pop(&sharing->heap, ends_before, sharing);
        if (!sharing->heap.n)
            before = ROW_NONE;
    }
}

/* Each of n kernels is one stretch. */
static void leave_whole(struct gpu_sharing *sharing, row_t n) {
    for (row_t i = 0; i < n; i++)
        run_kernel(sharing, sharing->waiting[i], ROW_NONE, sharing->ready[sharing->waiting[i]],
                   sharing->done[sharing->waiting[i]]);
}

/* ---- From stretches to parts ---- */

/* The kernel that ran before a stretch, if it is another one, which was done by then; else ROW_NONE. There is no ring:
 * a kernel that waits for this one is not ready before this one is done, so that it cannot run before a stretch of
 * it. */
static row_t done_before(const struct gpu_sharing *sharing, row_t kernel, const struct gpu_stretch *stretch) {
    row_t other = stretch->after;
    bool is_done = other != ROW_NONE && other != kernel && sharing->done[other] <= stretch->start;
    return is_done ? other : ROW_NONE;
}

static void add_part(struct timeline_parts *parts, row_t kernel, const struct gpu_stretch *part, bool is_first) {
    row_t i = parts->n++;
    parts->kernel[i] = kernel;
    parts->start[i] = part->start;
    parts->end[i] = part->end;
    parts->after[i] = part->after;
    parts->is_first[i] = is_first;
    parts->is_last[i] = false;
}

/* The parts of a kernel: its stretches, where a short one gives its time to the next. */
static void make_parts(const struct gpu_sharing *sharing, row_t kernel, struct timeline_parts *parts) {
    struct gpu_stretch part = {.next = sharing->first[kernel]};
    bool is_first = true;
    double given = 0;
    while (part.next != ROW_NONE) {
        part = sharing->stretches[part.next];
        part.after = done_before(sharing, kernel, &part);
        part.start -= given;
        given = part.end - part.start;
        if (part.next != ROW_NONE && given < SHORTEST_PART_US)
            continue;
        add_part(parts, kernel, &part, is_first);
        is_first = false;
        given = 0;
    }
    parts->is_last[parts->n - 1] = true;
}

static bool take_parts(struct arena *arena, size_t most, struct timeline_parts *parts) {
    *parts = (struct timeline_parts){
        .kernel = arena_take(arena, most, sizeof *parts->kernel),
        .start = arena_take(arena, most, sizeof *parts->start),
        .end = arena_take(arena, most, sizeof *parts->end),
        .after = arena_take(arena, most, sizeof *parts->after),
        .is_first = arena_take(arena, most, sizeof *parts->is_first),
        .is_last = arena_take(arena, most, sizeof *parts->is_last),
    };
    return !arena->failed;
}

/* Kernels by the moment at which they are ready, of equal ones as by_start[] has them; those of one resource. */
static row_t pick_waiting(const struct timeline_kernels *kernels, const row_t *by_ready, bool communicates,
                          row_t *waiting) {
    row_t n = 0;
    for (row_t i = 0; i < kernels->n; i++)
        if (((kernels->traits[by_ready[i]] & KERNEL_COMMUNICATES) != 0) == communicates)
            waiting[n++] = by_ready[i];
    return n;
}

/* Rows in the order of `order` and, first, of rising keys. */
static bool sort_ordered(const struct timeline_work *work, const row_t *order, const double *key, row_t *sorted) {
    const row_t n = work->input->kernels.n;
    double *in_order = arena_take(work->arena, n, sizeof *in_order);
    if (work->arena->failed)
        return false;
    for (row_t i = 0; i < n; i++)
        in_order[i] = key[order[i]];
    const double *keys[] = {in_order};
    if (!timeline_sort(work, n, keys, 1, sorted))
        return false;
    for (row_t i = 0; i < n; i++)
        sorted[i] = order[sorted[i]];
    return true;
}

static bool timeline_share_gpu(const struct timeline_work *work, const struct timeline_queues *queues,
                               const struct timeline_spans *spans, struct timeline_parts *parts) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    const size_t n = kernels->n;
    struct gpu_sharing sharing = {
        .kernels = kernels,
        .ready = spans->ready,
        .done = spans->done,
        .first = arena_take(work->arena, n, sizeof(row_t)),
        .last = arena_take(work->arena, n, sizeof(row_t)),
        .stretches = arena_take(work->arena, 2 * n, sizeof(struct gpu_stretch)),
        .heap.rows = arena_take(work->arena, n, sizeof(row_t)),
    };
    row_t *sorted = arena_take(work->arena, n, sizeof *sorted), *waiting = arena_take(work->arena, n, sizeof *waiting);
    if (!take_parts(work->arena, 2 * n, parts) || !sort_ordered(work, queues->by_start, spans->ready, sorted))
        return false;
    memset(sharing.first, 0xff, n * sizeof *sharing.first);
    memset(sharing.last, 0xff, n * sizeof *sharing.last);
    sharing.waiting = waiting;
    share_resource(&sharing, pick_waiting(kernels, sorted, false, waiting), work->origin);
    const row_t n_communicating = pick_waiting(kernels, sorted, true, waiting);
    if (work->input->options.of_job)
        leave_whole(&sharing, n_communicating);
    else
        share_resource(&sharing, n_communicating, work->origin);
    if (!sort_ordered(work, queues->by_start, spans->done, sorted))
        return false;
    for (row_t i = 0; i < kernels->n; i++)
        make_parts(&sharing, sorted[i], parts);
    return true;
}

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
