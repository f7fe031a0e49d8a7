/*
 * cpu_graph.c - the operators of each thread as a chain of nodes: starts and ends in the order of a call stack.
 *
 *     thread   [ a       [ b ]    [ c ]  ]   [ d ]
 *     edges    a. -> b. -> .b -> c. -> .c -> .a -> d. -> .d
 *
 * A thread's rows are sorted by start, longer ones first, and nested as frames of a call stack (frames.c); the chain
 * goes through the frames' beginnings and ends. Cost: sorts of the rows, then O(1) each; nothing recurs, so nesting may
 * be as deep as it likes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "critical_path/path.h"
#include "critical_path/rows.h"

/*
 * Calls that wait for the lock of CUDA's runtime, which HTA 0.6 takes these three
 * for: cudaHostAlloc, cudaLaunchKernel and cudaMemcpyAsync.
 *
 *     thread 0      [A ............ B]           whoever ends first had the lock first
 *     thread 1         [C ..... D]               starts lead to the next end, ends to the next one: A>D, C>D, D>B
 *
 * An end takes all starts that no end has taken. O(n), and a sort of the nodes.
 */

enum sutra_status nodes_by_time(struct path_work *work, const struct path_rows *rows, const struct graph *graph,
                                node_t *nodes) {
    struct arena_mark mark = arena_mark(&work->scratch);
    size_t n = graph_nodes(graph);
    uint64_t *keys = arena_take(&work->scratch, n, sizeof *keys);
    enum sutra_status status = work_taken(work);
    node_t filled = 0;
    for (row_t event = 0; event < work->events->n && !status; event++) {
        node_t start = event_start_node(graph, event);
        for (node_t node = start; start != NODE_NONE && node <= start + 1; node++) {
            keys[filled] = double_sort_key(node_time(rows, graph, node));
            nodes[filled++] = node;
        }
    }
    if (!status)
        status = work_sort(work, keys, nodes, filled);
    arena_release(&work->scratch, mark);
    return status;
}

static bool takes_lock(const struct path_rows *rows, row_t event) {
    return name_has(rows, event, NAME_TAKES_LOCK);
}

static bool runtime_lock_is_shared(const struct path_rows *rows, const struct graph *graph, node_t from, node_t to) {
    return takes_lock(rows, node_event(graph, from)) && takes_lock(rows, node_event(graph, to)) &&
           (!node_is_end(from) || node_is_end(to));
}

/* The starts that no end has taken; the last node was an end. */
struct waiting {
    node_t *start;
    row_t n;
    node_t last_end;
};

static enum sutra_status take_end(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                  struct waiting *waiting, node_t end) {
    enum sutra_status status = SUTRA_OK;
    while (waiting->n > 0 && !status) {
        node_t start = waiting->start[--waiting->n];
        bool own = start / 2 == end / 2;
        status = work_add_edge(work, rows, graph, start, end, own ? EDGE_OPERATOR : EDGE_DEPENDENCY, false);
    }
    if (!status && waiting->last_end != NODE_NONE)
        status = work_add_edge(work, rows, graph, waiting->last_end, end, EDGE_DEPENDENCY, false);
    waiting->last_end = end;
    return status;
}

/* runtime_lock.c: the edges between calls that wait for the lock of CUDA's runtime, of the nodes that are there; and
 * whether two nodes are of such calls, the first no end before the start of the second. */
static enum sutra_status runtime_lock_add(struct path_work *work, const struct path_rows *rows, struct graph *graph) {
    struct arena_mark mark = arena_mark(&work->scratch);
    node_t n = graph_nodes(graph), *nodes = arena_take(&work->scratch, n, sizeof *nodes);
    struct waiting waiting = {arena_take(&work->scratch, n, sizeof *waiting.start), 0, NODE_NONE};
    enum sutra_status status = work_taken(work);
    if (!status)
        status = nodes_by_time(work, rows, graph, nodes);
    for (node_t i = 0; i < n && !status; i++) {
        if (!takes_lock(rows, node_event(graph, nodes[i])))
            continue;
        if (node_is_end(nodes[i])) {
            status = take_end(work, rows, graph, &waiting, nodes[i]);
        } else {
            waiting.start[waiting.n++] = nodes[i];
            waiting.last_end = NODE_NONE;
        }
    }
    arena_release(&work->scratch, mark);
    return status;
}

/* Rows of the window with a pid and a tid, sorted by thread. */
struct threads {
    struct tuples ids; /* (pid, tid) as first seen */
    uint32_t *rank;    /* per such: its number in the order of threads */
    uint8_t *skipped;  /* per such: it is a stream of a GPU */
    row_t *row;        /* starts, in order */
    uint32_t *thread;  /* per row, then per start: its thread's rank */
    row_t n;
};

/* A thread's chain so far: the node before, and the end of the last top-level operator. */
struct chain {
    node_t last, high;
};

/* ---- The order of threads: by pid, then by tid; numbers before strings ---- */

static int compare_values(struct value a, struct value b) {
    if (a.type != b.type)
        return a.type < b.type ? -1 : 1;
    int order = memcmp(a.text, b.text, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Odd ids sort behind integers by their text (see values.h), which puts strings in their order. */
static int compare_ids(const struct values *odd, value_key a, value_key b) {
    bool a_whole = key_is_integer(a), b_whole = key_is_integer(b);
    if (a == b)
        return 0;
    if (a_whole && b_whole)
        return a < b ? -1 : 1;
    if (a_whole || b_whole)
        return a_whole ? -1 : 1;
    return compare_values(values_at(odd, a), values_at(odd, b));
}

struct ranked {
    struct tuple id;
    uint32_t number;
    const struct values *odd;
};

static int compare_ranked(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    int order = compare_ids(a->odd, a->id.part[0], b->id.part[0]);
    return order ? order : compare_ids(a->odd, a->id.part[1], b->id.part[1]);
}

static enum sutra_status rank_threads(struct path_work *work, struct threads *threads) {
    uint32_t n = threads->ids.n;
    threads->rank = arena_take(&work->scratch, n, sizeof *threads->rank);
    struct ranked *list = arena_take(&work->scratch, n, sizeof *list);
    enum sutra_status status = work_taken(work);
    if (status)
        return status;
    for (uint32_t i = 0; i < n; i++)
        list[i] = (struct ranked){threads->ids.list[i], i, &work->context->values};
    qsort(list, n, sizeof *list, compare_ranked);
    for (uint32_t i = 0; i < n; i++)
        threads->rank[list[i].number] = i;
    return SUTRA_OK;
}

/* ---- The rows of each thread ---- */

static bool has_thread(const struct device_events *events, row_t event) {
    value_key pid = events->pid[event], tid = events->tid[event];
    return pid != KEY_ABSENT && pid != KEY_NULL && pid != KEY_UNHASHABLE && tid != KEY_NULL &&
           events->flags[event] & EVENT_HAS_TID;
}

/* ---- Forward and backward in HTA 0.6 ---- */

/* The only thread of operators and annotations whose name has the text; KEY_ABSENT: there is none, or several. */
static value_key only_thread(const struct path_work *work, const struct path_rows *rows,
                             const struct path_window *window, const uint8_t *has) {
    value_key tid = KEY_ABSENT;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (!has[work->events->name[event]] || !category_has(rows, event, CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
            continue;
        if (tid != KEY_ABSENT && tid != work->events->tid[event])
            return KEY_ABSENT;
        tid = work->events->tid[event];
    }
    return tid;
}

static enum sutra_status find_side(struct path_work *work, const struct path_rows *rows,
                                   const struct path_window *window, const char *text, value_key *tid) {
    const struct strings *strings = &work->trace->strings;
    uint8_t *has = arena_take(&work->scratch, strings->n, 1);
    if (!has)
        return error_memory(work->error);
    for (uint32_t string = 0; string < strings->n; string++)
        has[string] = text_compare(strings, string, TEXT_HAS, text);
    *tid = only_thread(work, rows, window, has);
    return SUTRA_OK;
}

/* The thread that one becomes before rows nest: backward that of forward, where there is one of each. */
struct moved_thread {
    value_key from, to;
};

static enum sutra_status find_moved(struct path_work *work, const struct path_rows *rows,
                                    const struct path_window *window, struct moved_thread *moved) {
    *moved = (struct moved_thread){KEY_ABSENT, KEY_ABSENT};
    enum sutra_status status = work->rules.newer ? find_side(work, rows, window, "forward", &moved->to) : SUTRA_OK;
    if (!status && work->rules.newer)
        status = find_side(work, rows, window, "autograd", &moved->from);
    if (moved->to == KEY_ABSENT || moved->to == 0 || moved->from == 0)
        moved->from = KEY_ABSENT;
    return status;
}

/* Numbers the threads; a group of rows of which one is on a stream is none. */
static enum sutra_status number_threads(struct path_work *work, const struct path_rows *rows,
                                        const struct path_window *window, struct threads *threads) {
    const struct device_events *events = work->events;
    bool extended = work->rules.extended;
    struct moved_thread moved;
    enum sutra_status status = find_moved(work, rows, window, &moved);
    if (status)
        return status;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (!has_thread(events, event) || (extended && on_stream(rows, event)))
            continue;
        value_key tid = events->tid[event] == moved.from ? moved.to : events->tid[event];
        struct tuple id = {{events->pid[event], tid}};
        uint32_t number = tuples_number(&threads->ids, id);
        if (number == TUPLE_NONE)
            return error_memory(work->error);
        threads->row[threads->n] = event;
        threads->thread[threads->n++] = number;
    }
    threads->skipped = arena_zeros(&work->scratch, threads->ids.n, 1);
    if (!threads->skipped)
        return error_memory(work->error);
    for (row_t i = 0; i < threads->n; i++)
        if (!extended && rows->stream[threads->row[i]] >= 0)
            threads->skipped[threads->thread[i]] = 1;
    return SUTRA_OK;
}

static enum sutra_status drop_skipped(struct path_work *work, struct threads *threads) {
    enum sutra_status status = rank_threads(work, threads);
    row_t n = 0;
    for (row_t i = 0; i < threads->n && !status; i++) {
        if (threads->skipped[threads->thread[i]])
            continue;
        threads->row[n] = threads->row[i];
        threads->thread[n++] = threads->rank[threads->thread[i]];
    }
    threads->n = n;
    return status;
}

struct tie {
    double dur;
    row_t event;
};

ORDER_BY(compare_ties, struct tie, DESCENDING(dur) ASCENDING(event))

/* Among starts at the same time longer rows go first. */
static enum sutra_status sort_ties(struct path_work *work, const struct path_rows *rows, struct threads *threads) {
    struct tie *ties = arena_take(&work->scratch, threads->n, sizeof *ties);
    if (!ties)
        return error_memory(work->error);
    for (row_t i = 0, begin = 0; i < threads->n; begin = i) {
        for (i = begin; i < threads->n && threads->thread[i] == threads->thread[begin] &&
                        rows->ts[threads->row[i]] == rows->ts[threads->row[begin]];
             i++)
            ties[i - begin] = (struct tie){rows->dur[threads->row[i]], threads->row[i]};
        if (i - begin < 2)
            continue;
        qsort(ties, i - begin, sizeof *ties, compare_ties);
        for (row_t k = begin; k < i; k++)
            threads->row[k] = ties[k - begin].event;
    }
    return SUTRA_OK;
}

/* Sorts the rows by (thread, start). */
static enum sutra_status sort_starts(struct path_work *work, const struct path_rows *rows, struct threads *threads) {
    uint64_t *keys = arena_take(&work->scratch, threads->n, sizeof *keys);
    row_t *order = arena_take(&work->scratch, threads->n, sizeof *order);
    row_t *unsorted = arena_take(&work->scratch, threads->n, sizeof *unsorted);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < threads->n && !status; i++) {
        keys[i] = (uint64_t)rows->ts[unsorted[i] = threads->row[i]];
        order[i] = i;
    }
    if (!status)
        status = work_sort(work, keys, order, threads->n);
    for (row_t i = 0; i < threads->n && !status; i++)
        keys[i] = threads->thread[order[i]];
    if (!status)
        status = work_sort(work, keys, order, threads->n);
    for (row_t i = 0; i < threads->n && !status; i++) {
        threads->row[i] = unsorted[order[i]];
        threads->thread[i] = (uint32_t)keys[i];
    }
    return status;
}

/* ---- Nodes and edges ---- */

/* The reference looks these categories up when it first needs them, and crashes where no row uses them. */
static enum sutra_status check_categories(const struct path_work *work, const struct path_rows *rows,
                                          const struct threads *threads) {
    for (row_t i = 0; i < threads->n && !work->rules.extended && !work->rules.newer; i++) {
        if (threads->row[i] == 0 && !work->rules.first_counts)
            continue;
        if (!(rows->used.category & CATEGORY_CPU_OP))
            return stop_crash(work, "no event has the category cpu_op");
        if (!category_has(rows, threads->row[i], CATEGORY_CPU_OP) && !(rows->used.category & CATEGORY_RUNTIME))
            return stop_crash(work, "no event has the category cuda_runtime: the GPU was not recorded");
    }
    return SUTRA_OK;
}

static enum sutra_status add_begin(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                   struct chain *chain, row_t event, row_t above) {
    node_t start = event_start_node(graph, event);
    enum sutra_status status = SUTRA_OK;
    if (above == ROW_NONE && chain->high != NODE_NONE)
        status = work_add_edge(work, rows, graph, chain->high, start, EDGE_DEPENDENCY, true);
    else if (chain->last != NODE_NONE)
        status = work_add_edge(work, rows, graph, chain->last, start, EDGE_OPERATOR, false);
    chain->last = start;
    return status;
}

static enum sutra_status add_end(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                 struct chain *chain, row_t event, row_t above) {
    node_t end = event_end_node(graph, event);
    bool waits = name_has(rows, event, NAME_BLOCKING);
    enum sutra_status status = work_add_edge(work, rows, graph, chain->last, end, EDGE_OPERATOR, waits);
    chain->last = above == ROW_NONE ? NODE_NONE : end;
    if (above == ROW_NONE)
        chain->high = end;
    return status;
}

/* In HTA 0.6 the chain continues between operators of the top level, and where two calls share the runtime's lock its
 * edges are those of the lock. */
static enum sutra_status add_newer(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                   struct chain *chain, row_t event, row_t above, bool begins) {
    node_t node = begins ? event_start_node(graph, event) : event_end_node(graph, event), last = chain->last;
    bool waits = !begins && name_has(rows, event, NAME_BLOCKING);
    chain->last = node;
    if (last == NODE_NONE || runtime_lock_is_shared(rows, graph, last, node))
        return SUTRA_OK;
    enum edge_type type = begins && above == ROW_NONE ? EDGE_DEPENDENCY : EDGE_OPERATOR;
    return work_add_edge(work, rows, graph, last, node, type, waits);
}

static enum sutra_status add_pairs(const struct path_work *work, const struct frames *frames, struct graph *graph) {
    for (row_t i = 0; i < frames->thread_start[frames->n_threads]; i++)
        if (frames->begins[i] && graph_add_pair(graph, frames->event[i], frames->above[i]) == NODE_NONE)
            return error_memory(work->error);
    return SUTRA_OK;
}

static enum sutra_status add_chains(struct path_work *work, const struct path_rows *rows, const struct frames *frames,
                                    struct graph *graph) {
    enum sutra_status status = add_pairs(work, frames, graph);
    if (!status && work->rules.newer)
        status = runtime_lock_add(work, rows, graph);
    for (uint32_t t = 0; t < frames->n_threads && !status; t++) {
        struct chain chain = {NODE_NONE, NODE_NONE};
        for (row_t i = frames->thread_start[t]; i < frames->thread_start[t + 1] && !status; i++) {
            row_t event = frames->event[i], above = frames->above[i];
            if (work->rules.newer)
                status = add_newer(work, rows, graph, &chain, event, above, frames->begins[i]);
            else
                status = (frames->begins[i] ? add_begin : add_end)(work, rows, graph, &chain, event, above);
        }
    }
    return status;
}

enum sutra_status cpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, struct graph *graph) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct threads threads = {.row = arena_take(&work->scratch, window->n, sizeof *threads.row),
                              .thread = arena_take(&work->scratch, window->n, sizeof *threads.thread)};
    struct frames frames = {0};
    enum sutra_status status = work_taken(work);
    if (!status)
        status = number_threads(work, rows, window, &threads);
    if (!status)
        status = drop_skipped(work, &threads);
    if (!status)
        status = check_categories(work, rows, &threads);
    if (!status)
        status = sort_starts(work, rows, &threads);
    if (!status)
        status = sort_ties(work, rows, &threads);
    if (!status)
        status = frames_find(work, rows, threads.row, threads.thread, threads.n, &frames);
    if (!status && !graph_reserve(graph, window->n))
        status = error_memory(work->error);
    if (!status)
        status = add_chains(work, rows, &frames, graph);
    tuples_free(&threads.ids);
    arena_release(&work->scratch, mark);
    return status;
}
