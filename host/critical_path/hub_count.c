/*
 * hub_count.c - how many edges a graph with hubs has, as if each were spelt out and repetitions counted once.
 *
 * Edges repeat where a call has several rows of synchronisation: two hubs, or a hub and plain edges. Kernel u leads to
 * hub c and to the hub p of the same call before it if its range holds both:
 *
 *     begin(u) <= p and c < end(u)      =   those with begin <= p, less those of them with end <= c
 *
 * The latter are counted by going through the hubs with a Fenwick tree over begins, to which each kernel is added when
 * its range ends. O(n log n).
 */
#include <stdlib.h>

#include "base/bisect.h"
#include "columns/column.h"
#include "critical_path/graph.h"

struct hub_count {
    const struct graph *graph;
    uint32_t *list, n;   /* the hubs of one call, rising */
    uint32_t *previous;  /* per hub: the one before of its call and device, or HUB_NONE */
    uint32_t *ended;     /* Fenwick tree over begins, counted from 1 */
    uint32_t *n_begun;   /* per hub: kernels whose range begins at or before it */
    uint32_t *first_end; /* per hub: a kernel whose range ends there, + 1; or 0 */
    uint32_t *next_end;  /* per kernel: the next such */
    uint64_t n_repeated;
    bool any;
};

static int compare_numbers(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void list_hubs(struct hub_count *count, node_t node) {
    const struct graph *graph = count->graph;
    count->n = 0;
    for (uint32_t i = graph->into_start[node]; i < graph->into_start[node + 1]; i++)
        if (edge_is_hub(graph, graph->into[i]))
            count->list[count->n++] = edge_hub(graph, graph->into[i]);
    if (count->n > 1)
        qsort(count->list, count->n, sizeof *count->list, compare_numbers);
}

/* Whether one of the listed hubs stands for an edge from the node. */
static bool is_listed(const struct hub_count *count, node_t from) {
    const struct graph *graph = count->graph;
    if (from / 2 < graph->n_cpu_pairs || !node_is_end(from))
        return false;
    struct hub_source source = graph->hubs.sources[from / 2 - graph->n_cpu_pairs];
    struct bisection at = {0, count->n};
    while (at.low < at.high)
        bisect(&at, count->list[bisect_middle(at)] < source.begin);
    return at.low < count->n && count->list[at.low] < source.end;
}

/* Counts plain edges into the node that a hub stands for as well, and notes which hubs have one before. */
static void look_at(struct hub_count *count, node_t node) {
    const struct graph *graph = count->graph;
    uint32_t begin = graph->into_start[node], end = graph->into_start[node + 1];
    if (end - begin < 2)
        return;
    list_hubs(count, node);
    for (uint32_t i = begin; count->n && i < end; i++)
        if (!edge_is_hub(graph, graph->into[i]))
            count->n_repeated += is_listed(count, graph->from[graph->into[i]]);
    for (uint32_t i = 1; i < count->n; i++)
        if (graph->hubs.device[count->list[i]] == graph->hubs.device[count->list[i - 1]]) {
            count->previous[count->list[i]] = count->list[i - 1];
            count->any = true;
        }
}

static void sort_ranges(struct hub_count *count) {
    const struct hubs *hubs = &count->graph->hubs;
    for (uint32_t i = 0; i < hubs->n_sources; i++) {
        struct hub_source source = hubs->sources[i];
        if (source.begin < hubs->n)
            count->n_begun[source.begin]++;
        if (source.end < hubs->n) {
            count->next_end[i] = count->first_end[source.end];
            count->first_end[source.end] = i + 1;
        }
    }
    for (uint32_t hub = 1; hub < hubs->n; hub++)
        count->n_begun[hub] += count->n_begun[hub - 1];
}

static void count_pairs(struct hub_count *count) {
    const struct hubs *hubs = &count->graph->hubs;
    sort_ranges(count);
    for (uint32_t hub = 0; hub < hubs->n; hub++) {
        for (uint32_t i = count->first_end[hub]; i; i = count->next_end[i - 1])
            for (uint32_t at = hubs->sources[i - 1].begin + 1; at <= hubs->n; at += at & -at)
                count->ended[at]++;
        if (count->previous[hub] == HUB_NONE)
            continue;
        uint64_t n_ended = 0;
        for (uint32_t at = count->previous[hub] + 1; at; at &= at - 1)
            n_ended += count->ended[at];
        count->n_repeated += count->n_begun[count->previous[hub]] - n_ended;
    }
}

static void count_take(struct hub_count *count, struct arena *scratch) {
    const struct hubs *hubs = &count->graph->hubs;
    count->list = arena_take(scratch, hubs->n, sizeof *count->list);
    count->previous = rows_none(scratch, hubs->n);
    count->ended = arena_zeros(scratch, (size_t)hubs->n + 1, sizeof *count->ended);
    count->n_begun = arena_zeros(scratch, hubs->n, sizeof *count->n_begun);
    count->first_end = arena_zeros(scratch, hubs->n, sizeof *count->first_end);
    count->next_end = arena_take(scratch, hubs->n_sources, sizeof *count->next_end);
}

bool graph_count_edges(const struct graph *graph, struct arena *scratch, uint64_t *n_edges) {
    struct arena_mark mark = arena_mark(scratch);
    struct hub_count count = {.graph = graph};
    *n_edges = graph->n_edges;
    if (graph->hubs.n > 0)
        count_take(&count, scratch);
    bool ok = !scratch->failed;
    if (ok && graph->hubs.n > 0) {
        for (node_t node = 0; node < graph_nodes(graph); node++)
            look_at(&count, node);
        if (count.any)
            count_pairs(&count);
        for (uint32_t hub = 0; hub < graph->hubs.n; hub++)
            *n_edges += graph->hubs.n_from[hub];
        *n_edges -= graph->hubs.n + count.n_repeated;
    }
    arena_release(scratch, mark);
    return ok;
}
