/*
 * longest.c - the longest path through the graph, by weight.
 *
 * Nodes in topological order (Kahn's, first in first out); each takes the first of its incoming edges that gives the
 * greatest distance; then back from the first node of the greatest distance. O(nodes + edges).
 */
#include "base/error.h"
#include "critical_path/path_search.h"

struct longest {
    node_t *order, n;    /* topological */
    uint32_t *n_missing; /* per node: incoming edges from nodes that are not in the order yet */
    double *distance;
    uint32_t *edge; /* per node: the edge that it was reached by, + 1; or 0 */
};

/* The stream of a node's row, unless the reference would not look at it. */
static bool same_stream(const struct path_rows *rows, const struct graph *graph, uint32_t edge) {
    row_t from = node_event(graph, graph->from[edge]), to = node_event(graph, graph->to[edge]);
    return on_stream(rows, from) && rows->stream[from] == rows->stream[to];
}

/* A weight of -1 comes from rounding; less than that the reference refuses. */
static enum sutra_status check_edges(const struct path_work *work, const struct path_rows *rows, struct graph *graph) {
    uint32_t backwards = UINT32_MAX, on_one_stream = UINT32_MAX;
    for (uint32_t edge = graph->n_edges; edge-- > 0;) {
        if (graph->weight[edge] < -1)
            backwards = edge;
        if (graph->type[edge] == EDGE_SYNC && same_stream(rows, graph, edge))
            on_one_stream = edge;
        if (graph->weight[edge] == -1 || (work->rules.extended && graph->weight[edge] < 0))
            graph->weight[edge] = 0;
    }
    if (work->rules.extended)
        return SUTRA_OK;
    if (backwards != UINT32_MAX)
        return stop_empty(work, "event %u would begin before event %u, which it waits for",
                          node_event(graph, graph->to[backwards]), node_event(graph, graph->from[backwards]));
    if (on_one_stream != UINT32_MAX)
        return stop_empty(work, "event %u would wait for event %u on its own stream",
                          node_event(graph, graph->to[on_one_stream]), node_event(graph, graph->from[on_one_stream]));
    return SUTRA_OK;
}

static void sort_nodes(const struct graph *graph, struct longest *longest) {
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        longest->n_missing[node] = graph->into_start[node + 1] - graph->into_start[node];
        if (longest->n_missing[node] == 0)
            longest->order[longest->n++] = node;
    }
    for (node_t i = 0; i < longest->n; i++) {
        node_t node = longest->order[i];
        for (uint32_t k = graph->out_start[node]; k < graph->out_start[node + 1]; k++) {
            node_t next = graph->to[graph->out[k]];
            if (--longest->n_missing[next] == 0)
                longest->order[longest->n++] = next;
        }
    }
}

static void measure(const struct graph *graph, struct longest *longest) {
    for (node_t i = 0; i < longest->n; i++) {
        node_t node = longest->order[i];
        double best = -1;
        for (uint32_t k = graph->into_start[node]; k < graph->into_start[node + 1]; k++) {
            uint32_t edge = graph->into[k];
            double distance = longest->distance[graph->from[edge]] + graph->weight[edge];
            if (k == graph->into_start[node] || distance > best) {
                best = distance;
                longest->edge[node] = edge + 1;
            }
        }
        longest->distance[node] = best >= 0 ? best : 0;
        if (!(best >= 0))
            longest->edge[node] = 0;
    }
}

static enum sutra_status trace_back(const struct path_work *work, const struct graph *graph,
                                    const struct longest *longest, struct path_nodes *path) {
    node_t end = NODE_NONE, n = 1;
    for (node_t i = 0; i < longest->n; i++)
        if (end == NODE_NONE || longest->distance[longest->order[i]] > longest->distance[end])
            end = longest->order[i];
    if (end == NODE_NONE || !longest->edge[end])
        return stop_crash(work, "the critical path has no edge");
    for (node_t node = end; longest->edge[node]; node = graph->from[longest->edge[node] - 1])
        n++;
    path->node = arena_take(work->results, n, sizeof *path->node);
    path->edge = arena_take(work->results, n, sizeof *path->edge);
    if (!path->node || !path->edge)
        return error_memory(work->error);
    path->n = n;
    for (node_t node = end; n-- > 0; node = n ? graph->from[longest->edge[node] - 1] : node) {
        path->node[n] = node;
        if (n > 0)
            path->edge[n - 1] = longest->edge[node] - 1;
    }
    return SUTRA_OK;
}

enum sutra_status longest_path_find(struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                    struct path_nodes *path) {
    struct arena_mark mark = arena_mark(&work->scratch);
    size_t n = graph_nodes(graph);
    struct longest longest = {.order = arena_take(&work->scratch, n, sizeof *longest.order),
                              .n_missing = arena_take(&work->scratch, n, sizeof *longest.n_missing),
                              .distance = arena_take(&work->scratch, n, sizeof *longest.distance),
                              .edge = arena_zeros(&work->scratch, n, sizeof *longest.edge)};
    enum sutra_status status = graph_index(graph, &work->scratch) ? work_taken(work) : error_memory(work->error);
    if (!status)
        status = check_edges(work, rows, graph);
    if (!status) {
        sort_nodes(graph, &longest);
        measure(graph, &longest);
        status = longest.n < n ? stop_empty(work, "what waits for what goes in a circle")
                               : trace_back(work, graph, &longest, path);
    }
    arena_release(&work->scratch, mark);
    return status;
}
