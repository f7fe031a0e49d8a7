/*
 * graph.c - adding nodes and edges, and indexing the edges by both of their ends.
 *
 *     edges     0: a>b   1: a>c   2: b>c   3: a>b        3 repeats 0, which takes its weight; then 3 is dropped
 *     into      b: 0     c: 1 2                          counts, sums of them, and a pass that fills
 *     out of    a: 0 1   b: 2
 */
#include "critical_path/graph.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

bool graph_init(struct graph *graph, row_t n_events) {
    *graph = (struct graph){0};
    graph->pair_of = calloc((size_t)n_events + 1, sizeof *graph->pair_of);
    return graph->pair_of != NULL;
}

void graph_free(struct graph *graph) {
    free(graph->event);
    free(graph->above);
    free(graph->pair_of);
    free(graph->from);
    free(graph->to);
    free(graph->weight);
    free(graph->type);
    free(graph->into_start);
    free(graph->into);
    free(graph->out_start);
    free(graph->out);
    hubs_free(&graph->hubs);
    *graph = (struct graph){0};
}

/* Half as much again, within `limit`; 0 where there is no more. */
static uint32_t grown(uint32_t capacity, uint32_t limit) {
    uint64_t wanted = (uint64_t)capacity + capacity / 2 + 1024;
    if (capacity >= limit)
        return 0;
    return wanted < limit ? (uint32_t)wanted : limit;
}

static bool resize_pairs(struct graph *graph, row_t capacity) {
    if (!capacity || !column_resize(&graph->event, capacity, sizeof *graph->event) ||
        !column_resize(&graph->above, capacity, sizeof *graph->above))
        return false;
    graph->pair_capacity = capacity;
    return true;
}

static bool resize_edges(struct graph *graph, uint32_t capacity) {
    if (!capacity || !column_resize(&graph->from, capacity, sizeof *graph->from) ||
        !column_resize(&graph->to, capacity, sizeof *graph->to) ||
        !column_resize(&graph->weight, capacity, sizeof *graph->weight) ||
        !column_resize(&graph->type, capacity, sizeof *graph->type))
        return false;
    graph->edge_capacity = capacity;
    return true;
}

bool graph_reserve(struct graph *graph, row_t n_pairs) {
    row_t capacity = n_pairs < PAIR_LIMIT - 1 ? n_pairs + 1 : PAIR_LIMIT - 1;
    return resize_pairs(graph, capacity) && resize_edges(graph, capacity * 2);
}

node_t graph_add_pair(struct graph *graph, row_t event, row_t above) {
    if (graph->n_pairs == graph->pair_capacity && !resize_pairs(graph, grown(graph->pair_capacity, PAIR_LIMIT - 1)))
        return NODE_NONE;
    graph->above[graph->n_pairs] = above;
    graph->event[graph->n_pairs++] = event;
    graph->pair_of[event] = graph->n_pairs;
    return (graph->n_pairs - 1) * 2;
}

bool graph_add_edge(struct graph *graph, node_t from, node_t to, enum edge_type type, double weight) {
    if (graph->n_edges == graph->edge_capacity && !resize_edges(graph, grown(graph->edge_capacity, EDGE_LIMIT)))
        return false;
    graph->from[graph->n_edges] = from;
    graph->to[graph->n_edges] = to;
    graph->type[graph->n_edges] = (uint8_t)type;
    graph->weight[graph->n_edges++] = weight;
    return true;
}

bool graph_add_hub(struct graph *graph, uint32_t hub, node_t to, enum edge_type type) {
    return graph_add_edge(graph, HUB_FLAG | hub, to, type, 0);
}

bool graph_settle_hubs(struct graph *graph, const double *ends, struct arena *scratch) {
    if (!hubs_settle(&graph->hubs, ends, scratch))
        return false;
    for (uint32_t hub = 0; hub < graph->hubs.n; hub++)
        graph->from[graph->hubs.edge[hub]] = HUB_FLAG | hub;
    return true;
}

/* Lists the edges by one of their ends, each list in the order of the edges: counts, sums, and a pass that fills. */
static bool index_by(const node_t *end, uint32_t n_edges, node_t n_nodes, uint32_t **starts, uint32_t **list) {
    uint32_t *start = calloc((size_t)n_nodes + 2, sizeof *start);
    uint32_t *edges = malloc(((size_t)n_edges + 1) * sizeof *edges);
    free(*starts);
    free(*list);
    *starts = start;
    *list = edges;
    if (!start || !edges)
        return false;
    for (uint32_t edge = 0; edge < n_edges; edge++)
        if (!(end[edge] & HUB_FLAG))
            start[(size_t)end[edge] + 2]++;
    for (size_t node = 2; node < (size_t)n_nodes + 2; node++)
        start[node] += start[node - 1];
    for (uint32_t edge = 0; edge < n_edges; edge++)
        if (!(end[edge] & HUB_FLAG))
            edges[start[(size_t)end[edge] + 1]++] = edge;
    return true;
}

/* Marks edges that repeat one into the same node, having handed their weight and type to it. first[u] is the edge from
 * u that was seen last. Returns how many there are. */
static uint32_t mark_repetitions(struct graph *graph, uint32_t *first, uint8_t *repeated) {
    uint32_t n_repeated = 0;
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        uint32_t begin = graph->into_start[node], end = graph->into_start[node + 1];
        for (uint32_t i = begin; end - begin > 1 && i < end; i++) {
            uint32_t edge = graph->into[i];
            if (edge_is_hub(graph, edge))
                continue;
            uint32_t seen = first[graph->from[edge]];
            if (seen && graph->to[seen - 1] == node) {
                graph->weight[seen - 1] = graph->weight[edge];
                graph->type[seen - 1] = graph->type[edge];
                repeated[edge] = 1;
                n_repeated++;
            } else {
                first[graph->from[edge]] = edge + 1;
            }
        }
    }
    return n_repeated;
}

static void drop_marked(struct graph *graph, const uint8_t *marked) {
    uint32_t n = 0;
    for (uint32_t edge = 0; edge < graph->n_edges; edge++) {
        if (marked[edge])
            continue;
        graph->from[n] = graph->from[edge];
        graph->to[n] = graph->to[edge];
        if (edge_is_hub(graph, edge))
            graph->hubs.edge[edge_hub(graph, edge)] = n;
        graph->weight[n] = graph->weight[edge];
        graph->type[n++] = graph->type[edge];
    }
    graph->n_edges = n;
}

bool graph_index(struct graph *graph, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    node_t n_nodes = graph_nodes(graph);
    uint32_t *first = arena_zeros(scratch, n_nodes, sizeof *first);
    uint8_t *repeated = arena_zeros(scratch, graph->n_edges, 1);
    bool ok = first && repeated && index_by(graph->to, graph->n_edges, n_nodes, &graph->into_start, &graph->into);
    if (ok && mark_repetitions(graph, first, repeated) > 0) {
        drop_marked(graph, repeated);
        ok = index_by(graph->to, graph->n_edges, n_nodes, &graph->into_start, &graph->into);
    }
    ok = ok && index_by(graph->from, graph->n_edges, n_nodes, &graph->out_start, &graph->out);
    arena_release(scratch, mark);
    return ok;
}
