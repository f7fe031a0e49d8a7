/*
 * graph.c - implements graph.h: edges, adjacencies and hubs; and finds the longest path.
 *
 *     edges     0: a>b   1: a>c   2: b>c   3: a>b        3 repeats 0: 0 gets its weight, 3 is dropped
 *     into      b: 0     c: 1 2                          counts, prefix sums, and a pass that fills
 *     out of    a: 0 1   b: 2
 *
 * Longest path, by weight: nodes in topological order (Kahn, first in first out). The edge of a node is the first of
 * its incoming edges with the greatest distance. The path goes back from the first node with the greatest distance.
 *
 * Cost: O(nodes + edges), and O(log hubs) per kernel and hub: the hub tree counts the kernels that each hub misses and
 * finds the farthest one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "critical_path/graph.h"
#include "critical_path/path.h"

/*
 * ---- The number of kernels for which each hub still waits, while nodes are ordered one by one ----
 *
 * A segment tree over the hubs. A kernel leads to a range of hubs, which is O(log n) nodes of the tree: each of these
 * nodes subtracts 1 from its missing kernels, and keeps the farthest of its kernels.
 *
 *     min_missing[at]   the minimum of missing kernels of the hubs below, without the removals of the nodes above `at`
 *     removed[at]       number of kernels removed from all hubs below together
 *     best[at]          the farthest of the kernels that lead to all hubs below
 *
 * O(log n) per kernel, per hub that becomes ready, and per query.
 */

struct hub_tree {
    const struct hubs *hubs;
    const double *distance; /* of nodes */
    uint32_t n_leaves;      /* a power of two; the root is 1, children of k are 2k and 2k + 1 */
    uint32_t *min_missing, *removed;
    node_t *best;
    uint32_t *best_stream; /* of best[] */
    uint32_t *ready;       /* edges of hubs that miss no kernel any more, ascending */
    uint32_t n_ready;
};

/* Missing kernels of a hub that is ready or waits for none: more than there can be kernels. */
#define NOT_WAITING ((uint32_t)1 << 31)

static void pull(struct hub_tree *tree, uint32_t at) {
    uint32_t left = tree->min_missing[2 * at], right = tree->min_missing[2 * at + 1];
    tree->min_missing[at] = MIN(left, right) - tree->removed[at];
}

/* Builds the tree in the arena; empty without hubs. Edge numbers of the hubs are read later. */
static void hub_tree_alloc(struct hub_tree *tree, const struct hubs *hubs, const double *distance,
                           struct arena *arena) {
    *tree = (struct hub_tree){.hubs = hubs, .distance = distance, .n_leaves = 1};
    if (hubs->n == 0)
        return;
    while (tree->n_leaves < hubs->n)
        tree->n_leaves *= 2;
    size_t n = 2 * (size_t)tree->n_leaves;
    tree->min_missing = arena_alloc(arena, n, sizeof *tree->min_missing);
    tree->removed = arena_zeros(arena, n, sizeof *tree->removed);
    tree->best = arena_alloc(arena, n, sizeof *tree->best);
    tree->best_stream = arena_alloc(arena, n, sizeof *tree->best_stream);
    tree->ready = arena_alloc(arena, hubs->n, sizeof *tree->ready);
    if (arena->failed)
        return;
    for (uint32_t i = 0; i < n; i++)
        tree->best[i] = NODE_NONE;
    for (uint32_t hub = 0; hub < tree->n_leaves; hub++)
        tree->min_missing[tree->n_leaves + hub] = hub < hubs->n && hubs->n_from[hub] ? hubs->n_from[hub] : NOT_WAITING;
    for (uint32_t at = tree->n_leaves; --at > 0;)
        pull(tree, at);
}

/* Whether one kernel end precedes another kernel end, or none, in the order of distance and stream. */
static bool is_farther(const struct hub_tree *tree, node_t end, uint32_t stream, node_t other, uint32_t other_stream) {
    if (other == NODE_NONE || end == NODE_NONE)
        return end != NODE_NONE;
    double a = tree->distance[end], b = tree->distance[other];
    return a > b || (a == b && stream < other_stream);
}

/* Removes the kernel with this end from its hubs in [low, high), the range of node `at`. Depth: height of the tree. */
static void remove_below(struct hub_tree *tree, node_t end, const struct hub_source *source, uint32_t at, uint32_t low,
                         uint32_t high) {
    if (source->end <= low || high <= source->begin)
        return;
    if (source->begin <= low && high <= source->end) {
        tree->min_missing[at]--;
        tree->removed[at]++;
        if (is_farther(tree, end, source->stream, tree->best[at], tree->best_stream[at])) {
            tree->best[at] = end;
            tree->best_stream[at] = source->stream;
        }
        return;
    }
    uint32_t middle = low + (high - low) / 2;
    remove_below(tree, end, source, 2 * at, low, middle);
    remove_below(tree, end, source, 2 * at + 1, middle, high);
    pull(tree, at);
}

/* Lists the hubs below `at` that miss no kernel, after those removed above. */
static void list_ready(struct hub_tree *tree, uint32_t at, uint32_t removed_above) {
    if (tree->min_missing[at] != removed_above)
        return;
    if (at >= tree->n_leaves) {
        tree->ready[tree->n_ready++] = tree->hubs->edge[at - tree->n_leaves];
        tree->min_missing[at] = NOT_WAITING;
        return;
    }
    list_ready(tree, 2 * at, removed_above + tree->removed[at]);
    list_ready(tree, 2 * at + 1, removed_above + tree->removed[at]);
    pull(tree, at);
}

/* Orders the end of a kernel: returns the number of hubs that now miss no kernel, listed in tree->ready. */
static uint32_t hub_tree_remove(struct hub_tree *tree, node_t end, const struct hub_source *source) {
    remove_below(tree, end, source, 1, 0, tree->n_leaves);
    tree->n_ready = 0;
    list_ready(tree, 1, 0);
    return tree->n_ready;
}

/* The farthest of the ordered kernel ends that lead to the hub, of equal ends the one of the first stream; or
 * NODE_NONE. */
static node_t hub_tree_farthest(const struct hub_tree *tree, uint32_t hub) {
    node_t best = NODE_NONE;
    uint32_t stream = 0;
    for (uint32_t at = tree->n_leaves + hub; at > 0; at /= 2)
        if (is_farther(tree, tree->best[at], tree->best_stream[at], best, stream)) {
            best = tree->best[at];
            stream = tree->best_stream[at];
        }
    return best;
}

/* ---- Adding hubs and kernels, and their final order ---- */

#define STILL_LAST UINT32_MAX /* the end of a range: no kernel followed on the stream */

void hubs_alloc(struct hubs *hubs, struct arena *arena, row_t n_hubs, row_t n_sources) {
    hubs->to = arena_alloc(arena, n_hubs, sizeof *hubs->to);
    hubs->edge = arena_alloc(arena, n_hubs, sizeof *hubs->edge);
    hubs->n_from = arena_zeros(arena, n_hubs, sizeof *hubs->n_from);
    hubs->device = arena_alloc(arena, n_hubs, sizeof *hubs->device);
    hubs->limit = arena_alloc(arena, n_hubs, sizeof *hubs->limit);
    hubs->sources = arena_alloc(arena, n_sources, sizeof *hubs->sources);
    hubs->n_of_device = arena_zeros(arena, (size_t)n_hubs + n_sources, sizeof *hubs->n_of_device);
}

bool hubs_add_source(struct hubs *hubs, value_key device, uint32_t stream, uint32_t before) {
    uint32_t number = tuples_number(&hubs->devices, (struct tuple){{device}});
    if (number == TUPLE_NONE)
        return false;
    uint32_t begin = hubs->n_of_device[number];
    if (before != HUB_NONE)
        hubs->sources[before].end = begin;
    hubs->sources[hubs->n_sources++] = (struct hub_source){begin, STILL_LAST, stream, number};
    return true;
}

uint32_t hubs_add(struct hubs *hubs, value_key device, node_t to, uint32_t edge, double limit) {
    uint32_t number = tuples_number(&hubs->devices, (struct tuple){{device}});
    if (number == TUPLE_NONE)
        return HUB_NONE;
    hubs->to[hubs->n] = to;
    hubs->edge[hubs->n] = edge;
    hubs->limit[hubs->n] = limit;
    hubs->device[hubs->n] = number;
    hubs->n_of_device[number]++;
    return hubs->n++;
}

/* Moves entry i of a column to entry position[i]. */
static bool move_column(void *column, size_t size, const uint32_t *position, uint32_t n, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    char *to = column, *from = arena_alloc(scratch, n, size);
    if (from) {
        memcpy(from, to, n * size);
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + position[i] * size, from + i * size, size);
    }
    arena_release(scratch, mark);
    return from != NULL;
}

/* After all additions: numbers the hubs by device, narrows the ranges to the kernels that end in time, and counts. */
static bool hubs_settle(struct hubs *hubs, const double *ends, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);

    /* Number the hubs by device. first[d] is the first hub of device d. */
    uint32_t *first = arena_alloc(scratch, hubs->devices.n, sizeof *first);
    uint32_t *next = arena_alloc(scratch, hubs->devices.n, sizeof *next), n = hubs->n, n_before = 0;
    uint32_t *position = arena_alloc(scratch, n, sizeof *position);
    if (scratch->failed)
        return false;
    for (uint32_t device = 0; device < hubs->devices.n; device++) {
        first[device] = next[device] = n_before;
        n_before += hubs->n_of_device[device];
    }
    for (uint32_t hub = 0; hub < n; hub++)
        position[hub] = next[hubs->device[hub]]++;
    if (!move_column(hubs->to, sizeof *hubs->to, position, n, scratch) ||
        !move_column(hubs->edge, sizeof *hubs->edge, position, n, scratch) ||
        !move_column(hubs->limit, sizeof *hubs->limit, position, n, scratch) ||
        !move_column(hubs->device, sizeof *hubs->device, position, n, scratch))
        return false;

    /* Each limit becomes the minimum of its own limit and the later limits of its device. */
    for (uint32_t hub = hubs->n; hub-- > 1;)
        if (hubs->device[hub - 1] == hubs->device[hub])
            hubs->limit[hub - 1] = fmin(hubs->limit[hub - 1], hubs->limit[hub]);

    /* Narrow the range of each kernel to the hubs whose limit the kernel meets, and count the kernels of each hub. */
    for (uint32_t i = 0; i < hubs->n_sources; i++) {
        struct hub_source *source = &hubs->sources[i];
        source->end =
            first[source->device] + (source->end == STILL_LAST ? hubs->n_of_device[source->device] : source->end);
        source->begin += first[source->device];
        struct bisection at = {source->begin, source->end};
        while (ends && at.low < at.high)
            bisect(&at, hubs->limit[bisect_middle(at)] < ends[i]);
        source->begin = at.low;
        if (source->begin < hubs->n)
            hubs->n_from[source->begin]++;
        if (source->end < hubs->n)
            hubs->n_from[source->end]--;
    }
    for (uint32_t hub = 1; hub < hubs->n; hub++)
        hubs->n_from[hub] += hubs->n_from[hub - 1];
    arena_release(scratch, mark);
    return true;
}

/* ---- Pairs, edges and adjacencies ---- */

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
    tuples_free(&graph->hubs.devices);
    *graph = (struct graph){0};
}

enum sutra_status nodes_by_time(struct path_work *work, const struct path_rows *rows, const struct graph *graph,
                                node_t *nodes) {
    struct arena_mark mark = arena_mark(&work->scratch);
    size_t n = graph_nodes(graph);
    uint64_t *keys = arena_alloc(&work->scratch, n, sizeof *keys);
    TRY(work_check_memory(work));
    node_t n_listed = 0;
    for (row_t event = 0; event < work->events->n; event++) {
        node_t start = event_start_node(graph, event);
        for (node_t node = start; start != NODE_NONE && node <= start + 1; node++) {
            keys[n_listed] = double_sort_key(node_time(rows, graph, node));
            nodes[n_listed++] = node;
        }
    }
    TRY(work_sort(work, keys, nodes, n_listed));
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}

/* The capacity grown by half, within `limit`; 0 if `capacity` is the limit. */
static uint32_t grown(uint32_t capacity, uint32_t limit) {
    uint64_t wanted = (uint64_t)capacity + capacity / 2 + 1024;
    if (capacity >= limit)
        return 0;
    return (uint32_t)MIN(wanted, limit);
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

static bool graph_add_edge(struct graph *graph, node_t from, node_t to, enum edge_type type, double weight) {
    if (graph->n_edges == graph->edge_capacity && !resize_edges(graph, grown(graph->edge_capacity, EDGE_LIMIT)))
        return false;
    graph->from[graph->n_edges] = from;
    graph->to[graph->n_edges] = to;
    graph->type[graph->n_edges] = (uint8_t)type;
    graph->weight[graph->n_edges++] = weight;
    return true;
}

enum sutra_status work_add_edge(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                node_t from, node_t to, enum edge_type type, bool no_time) {
    if (from == to)
        return stop_crash(work, "event %u depends on itself", node_event(graph, from));
    bool weightless = no_time || type == EDGE_DEPENDENCY || type == EDGE_SYNC;
    double weight = weightless ? 0 : node_time(rows, graph, to) - node_time(rows, graph, from);
    return graph_add_edge(graph, from, to, type, weight) ? SUTRA_OK : error_memory(work->error);
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

/* Lists the edges by one of their nodes, each list in edge order: counts, prefix sums, and a pass that fills. */
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

/* Merges repeated edges and builds both adjacencies; false: out of memory. */
static bool graph_index(struct graph *graph, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    node_t n_nodes = graph_nodes(graph);
    uint32_t *first = arena_zeros(scratch, n_nodes, sizeof *first); /* by node: its last edge that is kept, + 1 */
    uint8_t *repeated = arena_zeros(scratch, graph->n_edges, 1);
    uint32_t n_repeated = 0;
    bool ok = first && repeated && index_by(graph->to, graph->n_edges, n_nodes, &graph->into_start, &graph->into);

    /* Mark edges that repeat an edge, and copy their weight and type to it. */
    for (node_t node = 0; node < n_nodes && ok; node++) {
        uint32_t begin = graph->into_start[node], end = graph->into_start[node + 1];
        for (uint32_t i = begin; end - begin > 1 && i < end; i++) {
            uint32_t edge = graph->into[i];
            if (edge_is_hub(graph, edge))
                continue;
            uint32_t earlier = first[graph->from[edge]];
            if (earlier && graph->to[earlier - 1] == node) {
                graph->weight[earlier - 1] = graph->weight[edge];
                graph->type[earlier - 1] = graph->type[edge];
                repeated[edge] = 1;
                n_repeated++;
            } else {
                first[graph->from[edge]] = edge + 1;
            }
        }
    }
    if (ok && n_repeated > 0) {
        uint32_t n = 0;
        for (uint32_t edge = 0; edge < graph->n_edges; edge++) {
            if (repeated[edge])
                continue;
            graph->from[n] = graph->from[edge];
            graph->to[n] = graph->to[edge];
            if (edge_is_hub(graph, edge))
                graph->hubs.edge[edge_hub(graph, edge)] = n;
            graph->weight[n] = graph->weight[edge];
            graph->type[n++] = graph->type[edge];
        }
        graph->n_edges = n;
        ok = index_by(graph->to, graph->n_edges, n_nodes, &graph->into_start, &graph->into);
    }
    ok = ok && index_by(graph->from, graph->n_edges, n_nodes, &graph->out_start, &graph->out);
    arena_release(scratch, mark);
    return ok;
}

/* ---- Longest path ---- */

struct longest {
    node_t *order, n;    /* topological order */
    uint32_t *n_missing; /* per node: incoming edges from nodes that are not in the order yet */
    double *distance;
    uint32_t *edge; /* per node: the edge with the greatest distance, + 1; or 0 */
    struct hub_tree hubs;
};

#define IN_ORDER UINT32_MAX /* n_missing of an ordered node */

/* Rounds weights of -1 up to 0. HTA fails on smaller weights, and on synchronization within one stream; HTA 0.6 rounds
 * all negative weights up to 0. */
static enum sutra_status check_edges(const struct path_work *work, const struct path_rows *rows, struct graph *graph) {
    uint32_t backwards = UINT32_MAX, on_one_stream = UINT32_MAX;
    for (uint32_t edge = graph->n_edges; edge-- > 0;) {
        double weight = graph->weight[edge];
        if (weight < -1 && !work->rules.newer)
            backwards = edge;
        if (graph->type[edge] == EDGE_SYNC && !edge_is_hub(graph, edge)) {
            row_t from = node_event(graph, graph->from[edge]), to = node_event(graph, graph->to[edge]);
            if (on_stream(rows, from) && rows->stream[from] == rows->stream[to])
                on_one_stream = edge;
        }
        if (weight == -1 || (work->rules.newer && weight < -1) || (work->rules.extended && weight < 0))
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

/* The node at the start of an edge. For a hub: its farthest kernel, or NODE_NONE. */
static node_t edge_begin(const struct graph *graph, const struct longest *longest, uint32_t edge) {
    return edge_is_hub(graph, edge) ? hub_tree_farthest(&longest->hubs, edge_hub(graph, edge)) : graph->from[edge];
}

/* Computes the distance of a node whose predecessors have their distances. */
static void measure_distance(const struct graph *graph, struct longest *longest, node_t node) {
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
    longest->distance[node] = MAX(best, 0);
    if (!(best >= 0))
        longest->edge[node] = 0;
}

/* Removes the edges out of a node, and appends the nodes without missing edges to the order. Two passes, since two
 * edges may lead to a synchronizing call, which keeps its first position. */
static void remove_node(const struct graph *graph, struct longest *longest, node_t node) {
    struct edge_lists all = {{graph->out + graph->out_start[node], NULL},
                             {graph->out + graph->out_start[node + 1], NULL}};
    const struct hub_source *source = node_source(graph, node);
    if (source && source->begin < source->end) {
        uint32_t n = hub_tree_remove(&longest->hubs, node, source);
        all.list[1] = longest->hubs.ready;
        all.end[1] = longest->hubs.ready + n;
    }
    struct edge_lists lists = all;
    for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists))
        longest->n_missing[graph->to[edge]]--;
    lists = all;
    for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
        node_t next = graph->to[edge];
        if (longest->n_missing[next] != 0)
            continue;
        longest->n_missing[next] = IN_ORDER;
        longest->order[longest->n++] = next;
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
    path->node = arena_alloc(work->results, n, sizeof *path->node);
    path->edge = arena_alloc(work->results, n, sizeof *path->edge);
    TRY(arena_status(work->results, work->error));
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
    node_t n = graph_nodes(graph), *nodes = NULL;
    struct longest longest = {.order = arena_alloc(&work->scratch, n, sizeof *longest.order),
                              .n_missing = arena_alloc(&work->scratch, n, sizeof *longest.n_missing),
                              .distance = arena_alloc(&work->scratch, n, sizeof *longest.distance),
                              .edge = arena_zeros(&work->scratch, n, sizeof *longest.edge)};
    hub_tree_alloc(&longest.hubs, &graph->hubs, longest.distance, &work->scratch);
    if (!graph_index(graph, &work->scratch))
        return error_memory(work->error);
    TRY(work_check_memory(work));
    TRY(check_edges(work, rows, graph));
    if (work->rules.newer) {
        nodes = arena_alloc(&work->scratch, n, sizeof *nodes);
        TRY(work_check_memory(work));
        TRY(nodes_by_time(work, rows, graph, nodes));
    }

    /* Order and measure all nodes. Start with the nodes without incoming edges: by time in HTA 0.6, else by number. */
    for (node_t node = 0; node < n; node++)
        longest.n_missing[node] = graph->into_start[node + 1] - graph->into_start[node];
    for (uint32_t hub = 0; hub < graph->hubs.n; hub++)
        longest.n_missing[graph->hubs.to[hub]] -= graph->hubs.n_from[hub] == 0;
    for (node_t i = 0; i < n; i++) {
        node_t node = nodes ? nodes[i] : i;
        if (longest.n_missing[node] == 0)
            longest.order[longest.n++] = node;
    }
    for (node_t i = 0; i < longest.n; i++) {
        measure_distance(graph, &longest, longest.order[i]);
        remove_node(graph, &longest, longest.order[i]);
    }
    if (longest.n < n)
        return stop_empty(work, "the dependencies form a cycle");
    TRY(trace_back(work, graph, &longest, path));
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}

/*
 * ---- The number of edges of a graph in which each hub is replaced by its edges, and repeated edges count once ----
 *
 * Edges repeat if a call has several synchronization rows: two hubs, or a hub and plain edges. Kernel u leads to hub c
 * and to the previous hub p of the same call if its range contains both:
 *
 *     begin(u) <= p and c < end(u)      =   kernels with begin <= p, minus the kernels among them with end <= c
 *
 * A sweep over the hubs counts the latter with a Fenwick tree over begins; a kernel is added when its range ends.
 * O(n log n).
 */
struct hub_count {
    const struct graph *graph;
    uint32_t *list, n;   /* the hubs of one call, ascending */
    uint32_t *previous;  /* per hub: the previous hub of its call and device, or HUB_NONE */
    uint32_t *ended;     /* Fenwick tree over begins, counted from 1 */
    uint32_t *n_begun;   /* per hub: number of kernels whose range begins at or before it */
    uint32_t *first_end; /* per hub: a kernel whose range ends there, + 1; or 0 */
    uint32_t *next_end;  /* per kernel: the next kernel whose range ends at the same hub, + 1; or 0 */
    uint64_t n_repeated;
    bool any;
};

/* Counts the plain edges into the node that a hub represents too, and finds the previous hub of each hub. */
static void count_repeated_edges(struct hub_count *count, node_t node) {
    const struct graph *graph = count->graph;
    uint32_t begin = graph->into_start[node], end = graph->into_start[node + 1];
    if (end - begin < 2)
        return;
    count->n = 0;
    for (uint32_t i = begin; i < end; i++)
        if (edge_is_hub(graph, graph->into[i]))
            count->list[count->n++] = edge_hub(graph, graph->into[i]);
    if (count->n > 1)
        qsort(count->list, count->n, sizeof *count->list, compare_uint32s);
    for (uint32_t i = begin; count->n && i < end; i++) {
        node_t from = graph->from[graph->into[i]];
        if (edge_is_hub(graph, graph->into[i]) || from / 2 < graph->n_cpu_pairs || !node_is_end(from))
            continue;
        struct hub_source source = graph->hubs.sources[from / 2 - graph->n_cpu_pairs];
        struct bisection at = {0, count->n};
        while (at.low < at.high)
            bisect(&at, count->list[bisect_middle(at)] < source.begin);
        count->n_repeated += at.low < count->n && count->list[at.low] < source.end;
    }
    for (uint32_t i = 1; i < count->n; i++)
        if (graph->hubs.device[count->list[i]] == graph->hubs.device[count->list[i - 1]]) {
            count->previous[count->list[i]] = count->list[i - 1];
            count->any = true;
        }
}

bool graph_count_edges(const struct graph *graph, struct arena *scratch, uint64_t *n_edges) {
    const struct hubs *hubs = &graph->hubs;
    *n_edges = graph->n_edges;
    if (hubs->n == 0)
        return true;
    struct arena_mark mark = arena_mark(scratch);
    struct hub_count count = {.graph = graph,
                              .list = arena_alloc(scratch, hubs->n, sizeof *count.list),
                              .previous = rows_none(scratch, hubs->n),
                              .ended = arena_zeros(scratch, (size_t)hubs->n + 1, sizeof *count.ended),
                              .n_begun = arena_zeros(scratch, hubs->n, sizeof *count.n_begun),
                              .first_end = arena_zeros(scratch, hubs->n, sizeof *count.first_end),
                              .next_end = arena_alloc(scratch, hubs->n_sources, sizeof *count.next_end)};
    if (scratch->failed)
        return false;
    for (node_t node = 0; node < graph_nodes(graph); node++)
        count_repeated_edges(&count, node);
    /* Count the edges that two hubs of a call represent. */
    for (uint32_t i = 0; i < hubs->n_sources && count.any; i++) {
        struct hub_source source = hubs->sources[i];
        if (source.begin < hubs->n)
            count.n_begun[source.begin]++;
        if (source.end < hubs->n) {
            count.next_end[i] = count.first_end[source.end];
            count.first_end[source.end] = i + 1;
        }
    }
    for (uint32_t hub = 1; hub < hubs->n; hub++)
        count.n_begun[hub] += count.n_begun[hub - 1];
    for (uint32_t hub = 0; hub < hubs->n && count.any; hub++) {
        for (uint32_t i = count.first_end[hub]; i; i = count.next_end[i - 1])
            for (uint32_t at = hubs->sources[i - 1].begin + 1; at <= hubs->n; at += at & -at)
                count.ended[at]++;
        if (count.previous[hub] == HUB_NONE)
            continue;
        uint64_t n_ended = 0;
        for (uint32_t at = count.previous[hub] + 1; at; at &= at - 1)
            n_ended += count.ended[at];
        count.n_repeated += count.n_begun[count.previous[hub]] - n_ended;
    }
    for (uint32_t hub = 0; hub < hubs->n; hub++)
        *n_edges += hubs->n_from[hub];
    *n_edges -= hubs->n + count.n_repeated;
    arena_release(scratch, mark);
    return true;
}
