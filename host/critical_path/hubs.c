/*
 * hubs.c - implements hubs.h: the edge count of a graph with hubs, the segment tree, and the hubs themselves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/column.h"
#include "critical_path/graph.h"
#include "critical_path/hubs.h"

/*
 * The number of edges of a graph in which each hub is replaced by its edges, and repeated edges count once.
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
    bool ok = !scratch->failed;
    if (ok) {
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
    }
    arena_release(scratch, mark);
    return ok;
}

/* ---- Segment tree: O(log n) per kernel, per hub that becomes ready, and per query ---- */

/* Missing kernels of a hub that is ready or waits for none: more than there can be kernels. */
#define NOT_WAITING ((uint32_t)1 << 31)

static void pull(struct hub_tree *tree, uint32_t at) {
    uint32_t left = tree->min_missing[2 * at], right = tree->min_missing[2 * at + 1];
    tree->min_missing[at] = MIN(left, right) - tree->removed[at];
}

void hub_tree_alloc(struct hub_tree *tree, const struct hubs *hubs, const double *distance, struct arena *arena) {
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

uint32_t hub_tree_remove(struct hub_tree *tree, node_t end, const struct hub_source *source) {
    remove_below(tree, end, source, 1, 0, tree->n_leaves);
    tree->n_ready = 0;
    list_ready(tree, 1, 0);
    return tree->n_ready;
}

node_t hub_tree_farthest(const struct hub_tree *tree, uint32_t hub) {
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

void hubs_free(struct hubs *hubs) {
    tuples_free(&hubs->devices);
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

bool hubs_settle(struct hubs *hubs, const double *ends, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);

    /* Number the hubs by device. first[d] is the first hub of device d. */
    uint32_t *first = arena_alloc(scratch, hubs->devices.n, sizeof *first);
    uint32_t *next = arena_alloc(scratch, hubs->devices.n, sizeof *next), n = hubs->n, n_before = 0;
    uint32_t *position = arena_alloc(scratch, n, sizeof *position);
    bool ok = !scratch->failed;
    for (uint32_t device = 0; device < hubs->devices.n && ok; device++) {
        first[device] = next[device] = n_before;
        n_before += hubs->n_of_device[device];
    }
    for (uint32_t hub = 0; hub < n && ok; hub++)
        position[hub] = next[hubs->device[hub]]++;
    ok = ok && move_column(hubs->to, sizeof *hubs->to, position, n, scratch) &&
         move_column(hubs->edge, sizeof *hubs->edge, position, n, scratch) &&
         move_column(hubs->limit, sizeof *hubs->limit, position, n, scratch) &&
         move_column(hubs->device, sizeof *hubs->device, position, n, scratch);
    if (!ok) {
        arena_release(scratch, mark);
        return false;
    }

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
