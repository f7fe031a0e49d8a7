/*
 * timeline.c - runs the stages of timeline.h and converts their results to nodes.
 *
 *     rows     0 .. kernels - 1       the last part of each kernel, since dependents wait for its end
 *              then                   the chain of CPU nodes
 *              then                   the other parts of kernels
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/rows.h"
#include "simulate/timeline.h"

/* ---- Operators: their order, their cuts, and the operator that ran at a time ---- */

bool timeline_sort(const struct timeline_work *work, row_t n, const double *const *keys, int n_keys, row_t *order) {
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *sort_keys = arena_alloc(work->arena, n, sizeof *sort_keys);
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

static bool timeline_order_ops(const struct timeline_work *work, struct timeline_order *made) {
    const struct timeline_ops *ops = &work->input->ops;
    made->order = arena_alloc(work->arena, ops->n, sizeof *made->order);
    made->cut = arena_alloc(work->arena, ops->n, sizeof *made->cut);
    made->is_abutting = arena_alloc(work->arena, ops->n, sizeof *made->is_abutting);
    double *negative_end = arena_alloc(work->arena, ops->n, sizeof *negative_end);
    if (work->arena->failed)
        return false;
    made->last_end = -INFINITY;
    for (row_t i = 0; i < ops->n; i++) {
        negative_end[i] = -ops->end[i];
        made->last_end = fmax(made->last_end, ops->end[i]);
    }
    const double *keys[] = {negative_end, ops->start};
    if (!timeline_sort(work, ops->n, keys, 2, made->order))
        return false;

    /* An operator's cut is known at the next operator of its thread. */
    struct arena_mark mark = arena_mark(work->arena);
    row_t *last = rows_none(work->arena, ops->n_threads);
    if (work->arena->failed)
        return false;
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

/* ---- Owners ---- */

struct owner_queries owner_queries_alloc(struct arena *arena, row_t n) {
    return (struct owner_queries){
        .n = n,
        .time = arena_alloc(arena, n, sizeof(double)),
        .thread = arena_alloc(arena, n, sizeof(uint32_t)),
        .op = arena_alloc(arena, n, sizeof(row_t)),
    };
}

/* Operators that have started and may still run, the innermost last. Operators that end no later than a later one are
 * removed, so the ends descend. */
struct open_ops {
    row_t *rows;
    row_t n;
};

static void open_op(struct open_ops *open, const double *end, row_t op) {
    while (open->n && end[open->rows[open->n - 1]] <= end[op])
        open->n--;
    open->rows[open->n++] = op;
}

/* The last operator that has not ended before the time, or ROW_NONE. */
static row_t running_op(const struct open_ops *open, const double *end, double time) {
    struct bisection at = {0, open->n};
    while (at.low < at.high)
        bisect(&at, end[open->rows[bisect_middle(at)]] >= time);
    return at.low ? open->rows[at.low - 1] : ROW_NONE;
}

bool timeline_find_owners(const struct timeline_work *work, const struct timeline_order *made,
                          struct owner_queries *queries) {
    const struct timeline_ops *ops = &work->input->ops;
    struct arena_mark mark = arena_mark(work->arena);
    row_t *by_time = arena_alloc(work->arena, queries->n, sizeof *by_time);
    struct open_ops *threads = arena_zeros(work->arena, (size_t)ops->n_threads + 1, sizeof *threads);
    row_t *rows = arena_alloc(work->arena, (size_t)ops->n * 2, sizeof *rows);
    const double *keys[] = {queries->time};
    if (work->arena->failed || !timeline_sort(work, queries->n, keys, 1, by_time)) {
        arena_release(work->arena, mark);
        return false;
    }

    /* The open operators of each thread, and of all threads. */
    struct open_ops *all = &threads[ops->n_threads];
    for (row_t i = 0; i < ops->n; i++)
        threads[ops->thread[i]].n++;
    for (uint32_t t = 0; t < ops->n_threads; t++) {
        threads[t].rows = rows;
        rows += threads[t].n;
        threads[t].n = 0;
    }
    all->rows = rows;

    /* Sweep the queries and the operators in time order. */
    row_t n_started = 0, n_started_before = 0;
    for (row_t i = 0; i < queries->n; i++) {
        row_t query = by_time[i];
        double time = queries->time[query];
        uint32_t thread = queries->thread[query];
        for (; n_started < ops->n && ops->start[made->order[n_started]] <= time; n_started++)
            open_op(&threads[ops->thread[made->order[n_started]]], ops->end, made->order[n_started]);
        for (; n_started_before < ops->n && ops->start[made->order[n_started_before]] < time; n_started_before++)
            open_op(all, ops->end, made->order[n_started_before]);
        queries->op[query] = thread == THREAD_UNKNOWN
                                 ? ROW_NONE
                                 : running_op(thread == THREAD_ALL ? all : &threads[thread], ops->end, time);
    }
    arena_release(work->arena, mark);
    return true;
}

/*
 * ---- Kernels that overlap, for a simulator whose GPU runs one kernel at a time ----
 *
 *     measured   stream 7   [ a                ]           each time belongs to the running kernel that ends first
 *                stream 8        [ b    ]
 *     parts                 [ a ][ b    ][ a   ]           parts below 2 us join the next part of their kernel
 *
 * Computation and communication have a resource each. Communication of a job is not cut, since it synchronizes with
 * other ranks. One sweep with a heap of the running kernels.
 */

/* Shorter parts get no node of their own. */
#define SHORTEST_PART_US 2.0

/* An interval in which one kernel ran; the intervals of a kernel are a list. */
struct gpu_interval {
    double start, end;
    row_t after; /* the kernel that ran before, or ROW_NONE */
    row_t next;  /* of the same kernel, or ROW_NONE */
};

struct gpu_sharing {
    const struct timeline_kernels *kernels;
    const double *ready, *done;
    row_t *first, *last; /* per kernel: its intervals */
    struct gpu_interval *intervals;
    row_t n_intervals;
    struct row_heap heap; /* positions in waiting[] of the kernels that have started, by (end, position) */
    const row_t *waiting; /* kernels by ready time */
};

/* Compares positions in waiting[]. */
static bool ends_before(const void *of, row_t a, row_t b) {
    const struct gpu_sharing *sharing = of;
    double end_a = sharing->done[sharing->waiting[a]], end_b = sharing->done[sharing->waiting[b]];
    return end_a != end_b ? end_a < end_b : a < b;
}

/* Adds the interval from `start` to `end`, after kernel `before`. */
static void run_kernel(struct gpu_sharing *sharing, row_t kernel, row_t before, double start, double end) {
    row_t last = sharing->last[kernel];
    if (last != ROW_NONE && before == kernel) {
        sharing->intervals[last].end = end;
        return;
    }
    row_t made = sharing->n_intervals++;
    sharing->intervals[made] = (struct gpu_interval){start, end, before, ROW_NONE};
    *(last == ROW_NONE ? &sharing->first[kernel] : &sharing->intervals[last].next) = made;
    sharing->last[kernel] = made;
}

/* Shares one resource among n kernels. A new interval starts whenever a kernel starts or ends, so there are at most
 * two per kernel. */
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

/* ---- From intervals to parts ---- */

/* Lists the kernels of one resource by ready time, ties in the order of by_start[]. */
static row_t pick_waiting(const struct timeline_kernels *kernels, const row_t *by_ready, bool communicates,
                          row_t *waiting) {
    row_t n = 0;
    for (row_t i = 0; i < kernels->n; i++)
        if (((kernels->traits[by_ready[i]] & KERNEL_COMMUNICATES) != 0) == communicates)
            waiting[n++] = by_ready[i];
    return n;
}

/* Sorts rows by ascending key, ties in the order of `order`. */
static bool sort_ordered(const struct timeline_work *work, const row_t *order, const double *key, row_t *sorted) {
    const row_t n = work->input->kernels.n;
    double *in_order = arena_alloc(work->arena, n, sizeof *in_order);
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
                               const double *ready, const double *done, struct timeline_parts *parts) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    const size_t n = kernels->n;
    struct gpu_sharing sharing = {
        .kernels = kernels,
        .ready = ready,
        .done = done,
        .first = rows_none(work->arena, n),
        .last = rows_none(work->arena, n),
        .intervals = arena_alloc(work->arena, 2 * n, sizeof(struct gpu_interval)),
        .heap.rows = arena_alloc(work->arena, n, sizeof(row_t)),
    };
    row_t *sorted = arena_alloc(work->arena, n, sizeof *sorted),
          *waiting = arena_alloc(work->arena, n, sizeof *waiting);
    size_t most = 2 * n;
    *parts = (struct timeline_parts){
        .kernel = arena_alloc(work->arena, most, sizeof *parts->kernel),
        .start = arena_alloc(work->arena, most, sizeof *parts->start),
        .end = arena_alloc(work->arena, most, sizeof *parts->end),
        .after = arena_alloc(work->arena, most, sizeof *parts->after),
        .is_first = arena_alloc(work->arena, most, sizeof *parts->is_first),
        .is_last = arena_alloc(work->arena, most, sizeof *parts->is_last),
    };
    if (work->arena->failed || !sort_ordered(work, queues->by_start, ready, sorted))
        return false;
    sharing.waiting = waiting;
    share_resource(&sharing, pick_waiting(kernels, sorted, false, waiting), work->origin);
    const row_t n_communicating = pick_waiting(kernels, sorted, true, waiting);
    if (work->input->options.of_job) {
        /* Each of n kernels is one interval. */
        for (row_t i = 0; i < n_communicating; i++)
            run_kernel(&sharing, sharing.waiting[i], ROW_NONE, sharing.ready[sharing.waiting[i]],
                       sharing.done[sharing.waiting[i]]);
    } else {
        share_resource(&sharing, n_communicating, work->origin);
    }
    if (!sort_ordered(work, queues->by_start, done, sorted))
        return false;
    for (row_t i = 0; i < kernels->n; i++) {
        struct gpu_interval part = {.next = sharing.first[sorted[i]]};
        bool is_first = true;
        double given = 0;
        while (part.next != ROW_NONE) {
            part = sharing.intervals[part.next];
            /* The kernel that ran before an interval, if it is another kernel that was done by then; else ROW_NONE.
             * There is no cycle: a kernel that waits for this one is not ready before this one is done, so it cannot
             * run before an interval of this one. */
            row_t other = part.after;
            bool is_done = other != ROW_NONE && other != sorted[i] && sharing.done[other] <= part.start;
            part.after = is_done ? other : ROW_NONE;
            part.start -= given;
            given = part.end - part.start;
            if (part.next != ROW_NONE && given < SHORTEST_PART_US)
                continue;
            row_t p = parts->n++;
            parts->kernel[p] = sorted[i];
            parts->start[p] = part.start;
            parts->end[p] = part.end;
            parts->after[p] = part.after;
            parts->is_first[p] = is_first;
            parts->is_last[p] = false;
            is_first = false;
            given = 0;
        }
        parts->is_last[parts->n - 1] = true;
    }
    return true;
}

/* ---- Calls ---- */

struct timeline_calls timeline_calls_alloc(struct arena *arena, size_t n) {
    return (struct timeline_calls){
        .start = arena_alloc(arena, n, sizeof(double)),
        .end = arena_alloc(arena, n, sizeof(double)),
        .before = arena_alloc(arena, n, sizeof(double)),
        .stream = arena_alloc(arena, n, sizeof(uint32_t)),
        .thread = arena_alloc(arena, n, sizeof(uint32_t)),
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

/* Edges of a kernel in addition to its stream waits: from its launch, its stream, another stream, and the CPU clock. */
#define KERNEL_EDGES 4

/* Converts the edges to one list of dependencies per node. */
static bool list_deps(struct arena *arena, const struct timeline_edges *edges, struct timeline_nodes *nodes) {
    nodes->first_dep = arena_zeros(arena, (size_t)nodes->n + 1, sizeof *nodes->first_dep);
    nodes->deps = arena_alloc(arena, edges->n, sizeof *nodes->deps);
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

static void set_kernel_node(const struct timeline_work *work, row_t place, row_t kernel, double start, double end,
                            struct timeline_nodes *nodes) {
    int64_t duration = timeline_us(work, end) - timeline_us(work, start);
    nodes->role[place] = NODE_KERNEL;
    nodes->of[place] = kernel;
    nodes->start[place] = start;
    nodes->duration_us[place] = (uint64_t)MAX(duration, 0);
    nodes->run_us[place] = fmax(0, end - fmax(start, work->input->kernels.start[kernel]));
}

/* The kernels of a rank of a job for a resource per stream: not cut, and without dependencies on kernels that share the
 * GPU. `edges` are from timeline_ready_kernels(). False: out of memory. */
static bool add_stream_kernels(const struct timeline_work *work, const struct timeline_edges *edges,
                               const double *ready, const double *done, struct timeline_nodes *nodes) {
    const row_t n_kernels = work->input->kernels.n;
    struct timeline_nodes *made = arena_alloc(work->arena, 1, sizeof *made);
    if (!made)
        return false;
    *made = (struct timeline_nodes){
        .n = n_kernels,
        .id = nodes->id,
        .role = nodes->role,
        .of = nodes->of,
        .start = arena_alloc(work->arena, n_kernels, sizeof *made->start),
        .duration_us = arena_alloc(work->arena, n_kernels, sizeof *made->duration_us),
        .run_us = arena_alloc(work->arena, n_kernels, sizeof *made->run_us),
    };
    nodes->per_stream = made;
    if (work->arena->failed)
        return false;
    for (row_t k = 0; k < n_kernels; k++)
        set_kernel_node(work, k, k, ready[k], done[k], made);
    return list_deps(work->arena, edges, made);
}

/* The chain: each node waits for the preceding node, and for the kernels at whose end the CPU resumed. */
static void add_chain_nodes(const struct timeline_work *work, const struct timeline_chain *chain,
                            const struct timeline_waits *waits, struct timeline_nodes *nodes,
                            struct timeline_edges *edges, uint64_t *next_id) {
    for (row_t i = 0; i < chain->n; i++) {
        row_t place = timeline_chain_row(work, i);
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

/* Kernels in parts: each part waits for the preceding part and for the kernel that ran in between. first_part[k]: the
 * row of the first part of kernel k. */
static void add_part_nodes(const struct timeline_work *work, const struct timeline_parts *parts, row_t place,
                           struct timeline_nodes *nodes, struct timeline_edges *edges, row_t *first_part,
                           uint64_t *next_id) {
    row_t before = ROW_NONE;
    for (row_t i = 0; i < parts->n; i++) {
        row_t kernel = parts->kernel[i], at = parts->is_last[i] ? kernel : place++;
        set_kernel_node(work, at, kernel, parts->start[i], parts->end[i], nodes);
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

/* ---- The stages in order ---- */

static bool make_nodes(const struct timeline_work *work, const struct timeline_queues *queues,
                       const struct timeline_deps *kernel_deps, const struct timeline_waits *waits,
                       const struct timeline_chain *chain, struct timeline_nodes *nodes,
                       struct timeline_report *report) {
    const row_t n_kernels = work->input->kernels.n;
    const uint64_t n_wait_kernels = waits->n ? waits->first[waits->n] : 0;
    uint64_t next_id = work->input->first_new_id, capacity = chain->n + n_wait_kernels + kernel_deps->n;
    struct timeline_parts parts = {0};
    double *ready = arena_alloc(work->arena, n_kernels, sizeof *ready);
    double *done = arena_alloc(work->arena, n_kernels, sizeof *done);
    row_t *first_part = arena_alloc(work->arena, n_kernels, sizeof *first_part);
    uint64_t most_edges = capacity + (uint64_t)n_kernels * (KERNEL_EDGES + 4);
    struct timeline_edges edges = {
        .capacity = most_edges,
        .node = arena_alloc(work->arena, most_edges, sizeof *edges.node),
        .dep = arena_alloc(work->arena, most_edges, sizeof *edges.dep),
    };
    if (work->arena->failed || !timeline_ready_kernels(work, queues, kernel_deps, chain, ready, done, &edges, report) ||
        (!work->input->options.per_stream && !timeline_share_gpu(work, queues, ready, done, &parts)))
        return false;
    report->n_parts = parts.n ? parts.n - n_kernels : 0;
    row_t n = n_kernels + chain->n + (row_t)report->n_parts;
    *nodes = (struct timeline_nodes){
        .n = n,
        .id = arena_alloc(work->arena, n, sizeof *nodes->id),
        .role = arena_alloc(work->arena, n, sizeof *nodes->role),
        .of = arena_alloc(work->arena, n, sizeof *nodes->of),
        .start = arena_alloc(work->arena, n, sizeof *nodes->start),
        .duration_us = arena_alloc(work->arena, n, sizeof *nodes->duration_us),
        .run_us = arena_zeros(work->arena, n, sizeof *nodes->run_us),
    };
    if (work->arena->failed)
        return false;
    if (work->input->options.of_job && !work->input->options.per_stream &&
        !add_stream_kernels(work, &edges, ready, done, nodes))
        return false;
    uint64_t n_kernel_edges = edges.n;
    add_chain_nodes(work, chain, waits, nodes, &edges, &next_id);
    nodes->first_part_id = next_id;
    if (work->input->options.per_stream) {
        /* Kernels that are not cut. */
        const struct timeline_kernels *kernels = &work->input->kernels;
        for (row_t k = 0; k < kernels->n; k++) {
            set_kernel_node(work, k, k, ready[k], done[k], nodes);
            nodes->id[k] = kernels->id[k];
        }
    } else {
        add_part_nodes(work, &parts, n_kernels + chain->n, nodes, &edges, first_part, &next_id);
        for (uint64_t i = 0; i < n_kernel_edges; i++)
            edges.node[i] = first_part[edges.node[i]];
    }
    return !edges.failed && list_deps(work->arena, &edges, nodes);
}

enum sutra_status timeline_build(const struct timeline_input *input, const struct engine *engine, struct arena *arena,
                                 struct timeline_nodes *nodes, struct timeline_report *report,
                                 struct sutra_error *error) {
    const struct timeline_ops *ops = &input->ops;
    const struct timeline_kernels *kernels = &input->kernels;
    struct timeline_work work = {.input = input, .engine = engine, .arena = arena};
    struct timeline_order order = {0};
    struct timeline_queues queues = {0};
    struct timeline_deps kernel_deps = {0};
    struct timeline_waits waits = {0};
    struct timeline_chain chain = {0};
    struct timeline_launch_cuts launches = {0};
    struct timeline_boundaries boundaries;
    *report = (struct timeline_report){0};

    /* The origin is the first start. */
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
    report->origin = work.origin = is_empty ? 0 : first;
    report->measured_us = is_empty ? 0 : last - first;

    /* The chain is made twice: the first one shows which launches are too late without a cut of their own. */
    bool done = timeline_order_ops(&work, &order) && timeline_queue_kernels(&work, &order, &queues) &&
                timeline_find_deps(&work, &queues, &kernel_deps, report) &&
                timeline_find_waits(&work, &order, &queues, &kernel_deps, &waits, report) &&
                timeline_list_boundaries(&work, &order, &waits, &boundaries) &&
                timeline_chain_ops(&work, &order, &boundaries, &queues, &waits, &launches, &chain) &&
                timeline_find_launch_cuts(&work, &queues, &chain, &launches) &&
                timeline_chain_ops(&work, &order, &boundaries, &queues, &waits, &launches, &chain) &&
                timeline_find_gap_owners(&work, &order, &chain);
    report->n_launch_cuts = launches.n;
    report->n_gaps = chain.n_gaps;
    done = done && make_nodes(&work, &queues, &kernel_deps, &waits, &chain, nodes, report);
    return done ? SUTRA_OK : error_memory(error);
}
