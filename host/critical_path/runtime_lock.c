/*
 * runtime_lock.c - calls that wait for the lock of CUDA's runtime, which HTA 0.6 takes these three
 * for: cudaHostAlloc, cudaLaunchKernel and cudaMemcpyAsync.
 *
 *     thread 0      [A ............ B]           whoever ends first had the lock first
 *     thread 1         [C ..... D]               starts lead to the next end, ends to the next one: A>D, C>D, D>B
 *
 * An end takes all starts that no end has taken. O(n), and a sort of the nodes.
 */
#include "base/error.h"
#include "critical_path/path_search.h"

enum sutra_status nodes_by_time(struct path_work *work, const struct path_rows *rows, const struct graph *graph,
                                node_t *nodes) {
    struct arena_mark mark = arena_mark(&work->scratch);
    size_t n = graph_nodes(graph);
    uint64_t *keys = arena_take(&work->scratch, n, sizeof *keys);
    enum sutra_status status = work_taken(work);
    node_t filled = 0;
    for (row_t event = 0; event < work->events->n && !status; event++) {
        node_t start = event_start(graph, event);
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

bool runtime_lock_is_shared(const struct path_rows *rows, const struct graph *graph, node_t from, node_t to) {
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

enum sutra_status runtime_lock_add(struct path_work *work, const struct path_rows *rows, struct graph *graph) {
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
