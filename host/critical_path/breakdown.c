/*
 * breakdown.c - attributes the time of the critical path to operators, kernels and kinds of edges, and measures its
 * coverage of the window.
 *
 * An edge between CPU nodes belongs to the operator that runs during the edge: the operator that starts at its first
 * node or ends at its last node; between siblings, their parent.
 *
 *     window   |  a    b                  c        |
 *     path               [ ............ ]
 *               before: a, b             after: c
 *
 * A path starts at the first node without an earlier dependency, which may be late in a step: threads are connected
 * only by synchronization with the GPU. Cost: O(path + strings + nodes).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "critical_path/path.h"
#include "facts/kernel_class.h"
#include "facts/names.h"

/* Summarizes the nodes that start in [begin, end). Only top-level operators and kernels can be the longest event. */
static struct sutra_path_outside summarize_outside(const struct path_search *search, double begin, double end) {
    const struct graph *graph = &search->graph;
    struct sutra_path_outside outside = {.us = fmax(end - begin, 0)};
    for (row_t pair = 0; outside.us > 0 && pair < graph->n_pairs; pair++) {
        bool kernel = pair >= graph->n_cpu_pairs;
        double pair_begin = node_time(&search->rows, graph, pair * 2);
        if (!(pair_begin >= begin && pair_begin < end))
            continue;
        outside.n_operators += !kernel;
        outside.n_kernels += kernel;
        double us = fmin(node_time(&search->rows, graph, pair * 2 + 1), end) - pair_begin;
        if ((!kernel && graph->above[pair] != ROW_NONE) || !(us > outside.longest_us))
            continue;
        outside.longest_us = us;
        outside.longest = event_name(search, graph->event[pair]);
    }
    return outside;
}

/* Reports the share of the window that the path covers, and the events before and after the path. */
static void measure_coverage(const struct path_search *search, struct sutra_critical_path_report *report) {
    const struct path_nodes *path = &search->path;
    double begin = node_time(&search->rows, &search->graph, path->node[0]);
    double end = node_time(&search->rows, &search->graph, path->node[path->n - 1]);

    /* The window is the annotation's time range, else the time range of all nodes. */
    double window_begin = INFINITY, window_end = -INFINITY;
    if (search->window.annotation != ROW_NONE) {
        report->window = *search->window.steps ? search->window.steps : event_name(search, search->window.annotation);
        window_begin = (double)search->window.begin;
        window_end = search->window.end;
    } else {
        for (node_t node = 0; node < graph_nodes(&search->graph); node++) {
            double time = node_time(&search->rows, &search->graph, node);
            window_begin = fmin(window_begin, time);
            window_end = fmax(window_end, time);
        }
    }
    report->window_us = window_end - window_begin;
    report->begin_us = begin - window_begin;
    report->end_us = end - window_begin;
    report->before = summarize_outside(search, window_begin, begin);
    report->after = summarize_outside(search, end, window_end);
}

/* Time and number of edges per name (string id). */
struct name_totals {
    double *us;
    uint64_t *n;
};

enum sutra_path_kind edge_kind(const struct path_search *search, uint32_t edge, row_t *owner) {
    static const enum sutra_path_kind kinds[EDGE_N_TYPES] = {[EDGE_OPERATOR] = SUTRA_PATH_OPERATOR,
                                                             [EDGE_DEPENDENCY] = SUTRA_PATH_DEPENDENCY,
                                                             [EDGE_LAUNCH_DELAY] = SUTRA_PATH_LAUNCH_DELAY,
                                                             [EDGE_KERNEL_DELAY] = SUTRA_PATH_KERNEL_DELAY,
                                                             [EDGE_SYNC] = SUTRA_PATH_SYNC};
    const struct graph *graph = &search->graph;
    *owner = ROW_NONE;
    if (graph->type[edge] != EDGE_OPERATOR)
        return kinds[graph->type[edge]];
    node_t from = graph->from[edge], to = graph->to[edge];
    *owner = !node_is_end(from) ? node_event(graph, from)
             : node_is_end(to)  ? node_event(graph, to)
                                : graph->above[to / 2];
    return from / 2 >= graph->n_cpu_pairs ? SUTRA_PATH_KERNEL : SUTRA_PATH_OPERATOR;
}

static int compare_shares(const void *left, const void *right) {
    const struct sutra_path_share *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

static enum sutra_status list_shares(struct sutra_critical_path *path, const struct name_totals *totals,
                                     struct sutra_error *error) {
    const struct strings *strings = &path->search.trace->strings;
    size_t n = SUTRA_PATH_N_KINDS;
    for (uint32_t string = 0; string < strings->n; string++)
        n += (size_t)(totals[SUTRA_PATH_OPERATOR].n[string] > 0) + (totals[SUTRA_PATH_KERNEL].n[string] > 0);
    path->shares = calloc(n, sizeof *path->shares);
    if (!path->shares)
        return error_memory(error);
    struct sutra_critical_path_report *report = &path->report;
    for (int kind = SUTRA_PATH_OPERATOR; kind <= SUTRA_PATH_KERNEL; kind++)
        for (uint32_t string = 0; string < strings->n; string++)
            if (totals[kind].n[string])
                path->shares[report->n_shares++] =
                    (struct sutra_path_share){(enum sutra_path_kind)kind, strings_text(strings, string),
                                              totals[kind].us[string], totals[kind].n[string]};
    for (int kind = SUTRA_PATH_LAUNCH_DELAY; kind < SUTRA_PATH_N_KINDS; kind++)
        if (report->kind_edges[kind])
            path->shares[report->n_shares++] = (struct sutra_path_share){
                (enum sutra_path_kind)kind, NULL, report->kind_us[kind], report->kind_edges[kind]};
    qsort(path->shares, report->n_shares, sizeof *path->shares, compare_shares);
    report->shares = path->shares;
    return SUTRA_OK;
}

enum sutra_status breakdown_make(struct sutra_critical_path *path, struct sutra_error *error) {
    const struct path_search *search = &path->search;
    size_t n = search->trace->strings.n;
    struct arena *arena = &path->search.arena;
    struct arena_mark mark = arena_mark(arena);
    struct name_totals totals[2];
    for (int i = 0; i < 2; i++)
        totals[i] =
            (struct name_totals){arena_zeros(arena, n, sizeof(double)), arena_zeros(arena, n, sizeof(uint64_t))};
    path->report = (struct sutra_critical_path_report){.n_nodes = graph_nodes(&search->graph),
                                                       .n_path_nodes = search->path.n,
                                                       .extended = search->rules.extended,
                                                       .reason = path->verdict.reason,
                                                       .hta_version = search->rules.newer ? SUTRA_HTA_VERSION_0_6
                                                                                          : SUTRA_HTA_VERSION_0_5};
    TRY(arena_status(arena, error));
    if (!graph_count_edges(&search->graph, arena, &path->report.n_edges))
        return error_memory(error);

    /* Add the time of each edge of the path to the totals of its kind, its name and, for kernels, its resource. */
    const struct strings *strings = &search->trace->strings;
    struct sutra_critical_path_report *report = &path->report;
    for (node_t i = 0; i + 1 < search->path.n; i++) {
        uint32_t edge = search->path.edge[i];
        double us = search->graph.weight[edge];
        row_t owner;
        enum sutra_path_kind kind = edge_kind(search, edge, &owner);
        report->us += us;
        report->kind_us[kind] += us;
        report->kind_edges[kind]++;
        if (owner == ROW_NONE)
            continue;
        uint32_t name = search->rows.events->name[owner];
        totals[kind].us[name] += us;
        totals[kind].n[name]++;
        if (kind == SUTRA_PATH_KERNEL) {
            const char *text = strings_text(strings, name);
            size_t length = strings_length(strings, name);
            enum kernel_type type =
                search->rules.newer ? kernel_type_of_0_6(text, length, false) : kernel_type_of(text, length);
            uint8_t kernel =
                kernel_kind_with(kernel_kind_find(CATEGORY_KERNEL, text, length), search->rows.events->flags[owner]);
            *(kernel_kinds[kernel].class == DEVICE_COMMUNICATION ? &report->communication_us
              : type == KERNEL_MEMORY                            ? &report->memory_us
                                                                 : &report->compute_us) += us;
        } else if (name_has(&search->rows, owner, NAME_LOADS_DATA)) {
            report->data_loading_us += us;
        }
    }
    measure_coverage(search, &path->report);
    TRY(list_shares(path, totals, error));
    arena_release(arena, mark);
    return SUTRA_OK;
}
