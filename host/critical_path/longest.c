/*
 * longest.c - the longest path through the graph, by weight.
 *
 * Nodes in topological order (Kahn's, first in first out); each takes the first of its incoming edges that gives the
 * greatest distance; then back from the first node of the greatest distance. O(nodes + edges), and O(log hubs) for each
 * kernel and hub: hub_tree.c knows how many kernels a hub still waits for, and the farthest of them.
 */
#include "base/error.h"
#include "critical_path/hub_tree.h"
#include "critical_path/path_search.h"

struct longest {
    node_t *order, n;    /* topological */
    uint32_t *n_missing; /* per node: incoming edges from nodes that are not in the order yet */
    double *distance;
    uint32_t *edge; /* per node: the edge that it was reached by, + 1; or 0 */
    struct hub_tree hubs;
};

#define IN_ORDER UINT32_MAX /* as n_missing: the node has its place */

/* The stream of a node's row, unless the reference would not look at it. */
static bool same_stream(const struct path_rows *rows, const struct graph *graph, uint32_t edge) {
    row_t from = node_event(graph, graph->from[edge]), to = node_event(graph, graph->to[edge]);
    return on_stream(rows, from) && rows->stream[from] == rows->stream[to];
}

/* A weight of -1 comes from rounding; less than that the reference refuses, until HTA 0.6 takes it for 0, too. */
static enum sutra_status check_edges(const struct path_work *work, const struct path_rows *rows, struct graph *graph) {
    uint32_t backwards = UINT32_MAX, on_one_stream = UINT32_MAX;
    for (uint32_t edge = graph->n_edges; edge-- > 0;) {
        if (graph->weight[edge] < -1 && !work->rules.newer)
            backwards = edge;
        if (graph->type[edge] == EDGE_SYNC && !edge_is_hub(graph, edge) && same_stream(rows, graph, edge))
            on_one_stream = edge;
        if (graph->weight[edge] == -1 || (work->rules.newer && graph->weight[edge] < -1) ||
            (work->rules.extended && graph->weight[edge] < 0))
            graph->weight[edge] = 0;
    }
    if (work->rules.extended)
        return SUTRA_OK;
    if (backwards != UINT32_MAX)
        return stop_empty(work, "event %u starts before event %u, which it depends on",
                          node_event(graph, graph->to[backwards]), node_event(graph, graph->from[backwards]));
    if (on_one_stream != UINT32_MAX)
        return stop_empty(work, "event %u depends on event %u of its own stream",
                          node_event(graph, graph->to[on_one_stream]), node_event(graph, graph->from[on_one_stream]));
    return SUTRA_OK;
}

/* The node at the beginning of an edge: for a hub the farthest that it waits for; NODE_NONE: there is none. */
static node_t edge_begin(const struct graph *graph, const struct longest *longest, uint32_t edge) {
    return edge_is_hub(graph, edge) ? hub_tree_farthest(&longest->hubs, edge_hub(graph, edge)) : graph->from[edge];
}

/* The distance of a node all of whose incoming edges come from nodes that have theirs. */
static void measure(const struct graph *graph, struct longest *longest, node_t node) {
    double best = -1;
    bool any = false;
    for (uint32_t k = graph->into_start[node]; k < graph->into_start[node + 1]; k++) {
        uint32_t edge = graph->into[k];
        node_t from = edge_begin(graph, longest, edge);
        double distance = from == NODE_NONE ? 0 : longest->distance[from] + graph->weight[edge];
        if (from == NODE_NONE || (any && !(distance > best)))
            continue;
        any = true;
        best = distance;
        longest->edge[node] = edge + 1;
    }
    longest->distance[node] = best >= 0 ? best : 0;
    if (!(best >= 0))
        longest->edge[node] = 0;
}

/* Counts an edge less for each node that edges lead to, then gives those that miss none their places. In two passes,
 * as a call that waits twice is reached twice, and its place is that of the first time. */
static void release_next(const struct graph *graph, struct longest *longest, const struct edge_lists *leaving) {
    struct edge_lists lists = *leaving;
    for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists))
        longest->n_missing[graph->to[edge]]--;
    lists = *leaving;
    for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
        node_t next = graph->to[edge];
        if (longest->n_missing[next] != 0)
            continue;
        longest->n_missing[next] = IN_ORDER;
        longest->order[longest->n++] = next;
    }
}

static void leave(const struct graph *graph, struct longest *longest, node_t node) {
    struct edge_lists leaving = {{graph->out + graph->out_start[node], NULL},
                                 {graph->out + graph->out_start[node + 1], NULL}};
    const struct hub_source *source = node_source(graph, node);
    if (source && source->begin < source->end) {
        uint32_t n = hub_tree_leave(&longest->hubs, node, source);
        leaving.list[1] = longest->hubs.ready;
        leaving.end[1] = longest->hubs.ready + n;
    }
    release_next(graph, longest, &leaving);
}

static void count_missing(const struct graph *graph, struct longest *longest) {
    for (node_t node = 0; node < graph_nodes(graph); node++)
        longest->n_missing[node] = graph->into_start[node + 1] - graph->into_start[node];
    for (uint32_t hub = 0; hub < graph->hubs.n; hub++)
        longest->n_missing[graph->hubs.to[hub]] -= graph->hubs.n_from[hub] == 0;
}

/* Begins with the nodes that no edge leads to: by number, or, where `nodes` is not NULL, as they stand there. */
static void measure_all(const struct graph *graph, struct longest *longest, const node_t *nodes) {
    count_missing(graph, longest);
    for (node_t i = 0; i < graph_nodes(graph); i++) {
        node_t node = nodes ? nodes[i] : i;
        if (longest->n_missing[node] == 0)
            longest->order[longest->n++] = node;
    }
    for (node_t i = 0; i < longest->n; i++) {
        measure(graph, longest, longest->order[i]);
        leave(graph, longest, longest->order[i]);
    }
}

static enum sutra_status trace_back(const struct path_work *work, const struct graph *graph,
                                    const struct longest *longest, struct path_nodes *path) {
    node_t end = NODE_NONE, n = 1;
    for (node_t i = 0; i < longest->n; i++)
        if (end == NODE_NONE || longest->distance[longest->order[i]] > longest->distance[end])
            end = longest->order[i];
    if (end == NODE_NONE || (!longest->edge[end] && !work->rules.extended))
        return stop_crash(work, "the critical path has no edge");
    for (node_t node = end; longest->edge[node]; node = edge_begin(graph, longest, longest->edge[node] - 1))
        n++;
    path->node = arena_take(work->results, n, sizeof *path->node);
    path->edge = arena_take(work->results, n, sizeof *path->edge);
    if (!path->node || !path->edge)
        return error_memory(work->error);
    path->n = n;
    for (node_t node = end; n-- > 0; node = n ? edge_begin(graph, longest, longest->edge[node] - 1) : node) {
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
    hub_tree_take(&longest.hubs, &graph->hubs, longest.distance, &work->scratch);
    enum sutra_status status = graph_index(graph, &work->scratch) ? work_taken(work) : error_memory(work->error);
    if (!status)
        status = check_edges(work, rows, graph);
    node_t *nodes = work->rules.newer ? arena_take(&work->scratch, n, sizeof *nodes) : NULL;
    if (!status && work->rules.newer)
        status = nodes ? nodes_by_time(work, rows, graph, nodes) : error_memory(work->error);
    if (!status) {
        measure_all(graph, &longest, nodes);
        status =
            longest.n < n ? stop_empty(work, "the dependencies form a cycle") : trace_back(work, graph, &longest, path);
    }
    arena_release(&work->scratch, mark);
    return status;
}
