/*
 * hubs.c - hubs and kernels as they come, then in their order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/column.h"
#include "critical_path/graph.h"
#include "critical_path/hubs.h"

/*
 * How many edges a graph with hubs has, as if each were spelt out and repetitions counted once.
 *
 * Edges repeat where a call has several rows of synchronisation: two hubs, or a hub and plain edges. Kernel u leads to
 * hub c and to the hub p of the same call before it if its range holds both:
 *
 *     begin(u) <= p and c < end(u)      =   those with begin <= p, less those of them with end <= c
 *
 * The latter are counted by going through the hubs with a Fenwick tree over begins, to which each kernel is added when
 * its range ends. O(n log n).
 */

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

/*
 * A segment tree over hubs: O(log n) for a kernel, for a hub that becomes ready, and for a question.
 */

/* Of a hub that is ready, or waits for nothing: more than all kernels can take. */
#define NOT_WAITING ((uint32_t)1 << 31)

static void pull(struct hub_tree *tree, uint32_t at) {
    uint32_t left = tree->least[2 * at], right = tree->least[2 * at + 1];
    tree->least[at] = (left < right ? left : right) - tree->taken[at];
}

void hub_tree_take(struct hub_tree *tree, const struct hubs *hubs, const double *distance, struct arena *arena) {
    *tree = (struct hub_tree){.hubs = hubs, .distance = distance, .n_leaves = 1};
    if (hubs->n == 0)
        return;
    while (tree->n_leaves < hubs->n)
        tree->n_leaves *= 2;
    size_t n = 2 * (size_t)tree->n_leaves;
    tree->least = arena_take(arena, n, sizeof *tree->least);
    tree->taken = arena_zeros(arena, n, sizeof *tree->taken);
    tree->best = arena_take(arena, n, sizeof *tree->best);
    tree->best_stream = arena_take(arena, n, sizeof *tree->best_stream);
    tree->ready = arena_take(arena, hubs->n, sizeof *tree->ready);
    if (arena->failed)
        return;
    for (uint32_t i = 0; i < n; i++)
        tree->best[i] = NODE_NONE;
    for (uint32_t hub = 0; hub < tree->n_leaves; hub++)
        tree->least[tree->n_leaves + hub] = hub < hubs->n && hubs->n_from[hub] ? hubs->n_from[hub] : NOT_WAITING;
    for (uint32_t at = tree->n_leaves; --at > 0;)
        pull(tree, at);
}

/* Whether a kernel's end is to be preferred to another one, or to none. */
static bool is_farther(const struct hub_tree *tree, node_t end, uint32_t stream, node_t other, uint32_t other_stream) {
    if (other == NODE_NONE || end == NODE_NONE)
        return end != NODE_NONE;
    double a = tree->distance[end], b = tree->distance[other];
    return a > b || (a == b && stream < other_stream);
}

struct leaving {
    node_t end;
    uint32_t stream;
    uint32_t from, to; /* hubs */
};

static void leave_all(struct hub_tree *tree, const struct leaving *leaving, uint32_t at) {
    tree->least[at]--;
    tree->taken[at]++;
    if (!is_farther(tree, leaving->end, leaving->stream, tree->best[at], tree->best_stream[at]))
        return;
    tree->best[at] = leaving->end;
    tree->best_stream[at] = leaving->stream;
}

/* Takes the kernel from those of the hubs [low, high] below `at` that it leads to. As deep as the tree is high. */
static void leave_below(struct hub_tree *tree, const struct leaving *leaving, uint32_t at, uint32_t low,
                        uint32_t high) {
    if (leaving->to < low || high < leaving->from)
        return;
    if (leaving->from <= low && high <= leaving->to) {
        leave_all(tree, leaving, at);
        return;
    }
    uint32_t middle = low + (high - low) / 2;
    leave_below(tree, leaving, 2 * at, low, middle);
    leave_below(tree, leaving, 2 * at + 1, middle + 1, high);
    pull(tree, at);
}

/* Lists the hubs below that miss nothing but for what was taken above. */
static void list_ready(struct hub_tree *tree, uint32_t at, uint32_t taken_above) {
    if (tree->least[at] != taken_above)
        return;
    if (at >= tree->n_leaves) {
        tree->ready[tree->n_ready++] = tree->hubs->edge[at - tree->n_leaves];
        tree->least[at] = NOT_WAITING;
        return;
    }
    list_ready(tree, 2 * at, taken_above + tree->taken[at]);
    list_ready(tree, 2 * at + 1, taken_above + tree->taken[at]);
    pull(tree, at);
}

uint32_t hub_tree_leave(struct hub_tree *tree, node_t end, const struct hub_source *source) {
    const struct leaving leaving = {end, source->stream, source->begin, source->end - 1};
    leave_below(tree, &leaving, 1, 0, tree->n_leaves - 1);
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

#define STILL_LAST UINT32_MAX /* the end of a range: no kernel has followed on the stream */

void hubs_take(struct hubs *hubs, struct arena *arena, row_t n_hubs, row_t n_sources) {
    hubs->to = arena_take(arena, n_hubs, sizeof *hubs->to);
    hubs->edge = arena_take(arena, n_hubs, sizeof *hubs->edge);
    hubs->n_from = arena_zeros(arena, n_hubs, sizeof *hubs->n_from);
    hubs->device = arena_take(arena, n_hubs, sizeof *hubs->device);
    hubs->limit = arena_take(arena, n_hubs, sizeof *hubs->limit);
    hubs->sources = arena_take(arena, n_sources, sizeof *hubs->sources);
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

/* place[i] = where hub i goes. Makes first[d] the first hub of device d. */
static void find_places(const struct hubs *hubs, uint32_t *first, uint32_t *next, uint32_t *place) {
    uint32_t n = 0;
    for (uint32_t device = 0; device < hubs->devices.n; device++) {
        first[device] = next[device] = n;
        n += hubs->n_of_device[device];
    }
    for (uint32_t hub = 0; hub < hubs->n; hub++)
        place[hub] = next[hubs->device[hub]]++;
}

static bool move_column(void *column, size_t size, const uint32_t *place, uint32_t n, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    char *to = column, *from = arena_take(scratch, n, size);
    if (from) {
        memcpy(from, to, n * size);
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + place[i] * size, from + i * size, size);
    }
    arena_release(scratch, mark);
    return from != NULL;
}

static bool move_hubs(struct hubs *hubs, const uint32_t *place, struct arena *scratch) {
    return move_column(hubs->to, sizeof *hubs->to, place, hubs->n, scratch) &&
           move_column(hubs->edge, sizeof *hubs->edge, place, hubs->n, scratch) &&
           move_column(hubs->limit, sizeof *hubs->limit, place, hubs->n, scratch) &&
           move_column(hubs->device, sizeof *hubs->device, place, hubs->n, scratch);
}

/* Each limit becomes the least of its own and those behind it of its device. */
static void lower_limits(struct hubs *hubs) {
    for (uint32_t hub = hubs->n; hub-- > 1;)
        if (hubs->device[hub - 1] == hubs->device[hub])
            hubs->limit[hub - 1] = fmin(hubs->limit[hub - 1], hubs->limit[hub]);
}

static void settle_source(const struct hubs *hubs, struct hub_source *source, uint32_t first, const double *end) {
    source->end = first + (source->end == STILL_LAST ? hubs->n_of_device[source->device] : source->end);
    source->begin += first;
    struct bisection at = {source->begin, source->end};
    while (end && at.low < at.high)
        bisect(&at, hubs->limit[bisect_middle(at)] < *end);
    source->begin = at.low;
}

/* Counts by where ranges begin and end. */
static void count_sources(struct hubs *hubs) {
    for (uint32_t i = 0; i < hubs->n_sources; i++) {
        struct hub_source source = hubs->sources[i];
        if (source.begin < hubs->n)
            hubs->n_from[source.begin]++;
        if (source.end < hubs->n)
            hubs->n_from[source.end]--;
    }
    for (uint32_t hub = 1; hub < hubs->n; hub++)
        hubs->n_from[hub] += hubs->n_from[hub - 1];
}

bool hubs_settle(struct hubs *hubs, const double *ends, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    uint32_t *first = arena_take(scratch, hubs->devices.n, sizeof *first);
    uint32_t *next = arena_take(scratch, hubs->devices.n, sizeof *next);
    uint32_t *place = arena_take(scratch, hubs->n, sizeof *place);
    bool ok = !scratch->failed;
    if (ok) {
        find_places(hubs, first, next, place);
        ok = move_hubs(hubs, place, scratch);
    }
    if (ok) {
        lower_limits(hubs);
        for (uint32_t i = 0; i < hubs->n_sources; i++)
            settle_source(hubs, &hubs->sources[i], first[hubs->sources[i].device], ends ? &ends[i] : NULL);
        count_sources(hubs);
    }
    arena_release(scratch, mark);
    return ok;
}
