/*
 * breakdown.c - where the time on the path went: by operator and kernel, by kind, and kernels by what they do.
 *
 * An edge between nodes of the CPU belongs to the operator that runs in that time: the one that it begins at the start
 * of, or ends at the end of; between two operators on the same level, the one around both. O(path + strings).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "critical_path/path.h"
#include "facts/names.h"

/*
 * What of the window the path covers, and what lies outside of it: before the path begins, and behind its
 * end.
 *
 *     window   |  a    b                  c        |
 *     path               [ ............ ]
 *               before 1: a, b           behind: c
 *
 * A path begins where waiting leads to nothing earlier, which may be late in a step: what one thread does is tied to
 * another's work only where the GPU was waited for. O(nodes).
 */

struct path_span {
    double begin, end;
};

/* The annotation's time, or from the first beginning to the last end of all that the graph has. */
static struct path_span window_span(const struct path_search *search) {
    if (search->window.annotation != ROW_NONE)
        return (struct path_span){(double)search->window.begin, search->window.end};
    struct path_span span = {INFINITY, -INFINITY};
    for (node_t node = 0; node < graph_nodes(&search->graph); node++) {
        double time = node_time(&search->rows, &search->graph, node);
        span.begin = fmin(span.begin, time);
        span.end = fmax(span.end, time);
    }
    return span;
}

/* Adds a pair that begins in the span; of operators only those on the top level can be the longest. */
static void add_outside(const struct path_search *search, row_t pair, struct path_span span,
                        struct sutra_path_outside *outside) {
    const struct graph *graph = &search->graph;
    bool kernel = pair >= graph->n_cpu_pairs;
    double begin = node_time(&search->rows, graph, pair * 2), end = node_time(&search->rows, graph, pair * 2 + 1);
    if (!(begin >= span.begin && begin < span.end))
        return;
    outside->n_operators += !kernel;
    outside->n_kernels += kernel;
    double us = fmin(end, span.end) - begin;
    if ((!kernel && graph->above[pair] != ROW_NONE) || !(us > outside->longest_us))
        return;
    outside->longest_us = us;
    outside->longest = strings_text(&search->trace->strings, search->rows.events->name[graph->event[pair]]);
}

static struct sutra_path_outside look_outside(const struct path_search *search, struct path_span span) {
    struct sutra_path_outside outside = {.us = fmax(span.end - span.begin, 0)};
    for (row_t pair = 0; outside.us > 0 && pair < search->graph.n_pairs; pair++)
        add_outside(search, pair, span, &outside);
    return outside;
}

/* Fills in what of the window the path covers. */
static void coverage_make(const struct path_search *search, struct sutra_critical_path_report *report) {
    struct path_span window = window_span(search);
    const struct path_nodes *path = &search->path;
    double begin = node_time(&search->rows, &search->graph, path->node[0]);
    double end = node_time(&search->rows, &search->graph, path->node[path->n - 1]);
    if (search->window.annotation != ROW_NONE)
        report->window = event_name(search, search->window.annotation);
    report->window_us = window.end - window.begin;
    report->begin_us = begin - window.begin;
    report->end_us = end - window.begin;
    report->before = look_outside(search, (struct path_span){window.begin, begin});
    report->behind = look_outside(search, (struct path_span){end, window.end});
}

/* Time by string, for operators and for kernels. */
struct sums {
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

/* Which of the report's sums a kernel's time belongs to. */
static double *resource_of(struct sutra_critical_path_report *report, enum kernel_type type) {
    return type == KERNEL_COMMUNICATION ? &report->communication_us
           : type == KERNEL_MEMORY      ? &report->memory_us
                                        : &report->compute_us;
}

static enum kernel_type type_of_kernel(const struct path_search *search, const char *name, size_t length) {
    return search->rules.newer ? kernel_type_of_0_6(name, length, false) : kernel_type_of(name, length);
}

static void add_edges(struct sutra_critical_path *path, struct sums *sums) {
    const struct path_search *search = &path->search;
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
        sums[kind].us[name] += us;
        sums[kind].n[name]++;
        if (kind == SUTRA_PATH_KERNEL)
            *resource_of(report, type_of_kernel(search, strings_text(strings, name), strings_length(strings, name))) +=
                us;
        else if (name_has(&search->rows, owner, NAME_LOADS_DATA))
            report->data_loading_us += us;
    }
}

static int compare_shares(const void *left, const void *right) {
    const struct sutra_path_share *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

static enum sutra_status list_shares(struct sutra_critical_path *path, const struct sums *sums,
                                     struct sutra_error *error) {
    const struct strings *strings = &path->search.trace->strings;
    size_t n = SUTRA_PATH_N_KINDS;
    for (uint32_t string = 0; string < strings->n; string++)
        n += (size_t)(sums[SUTRA_PATH_OPERATOR].n[string] > 0) + (sums[SUTRA_PATH_KERNEL].n[string] > 0);
    path->shares = calloc(n, sizeof *path->shares);
    if (!path->shares)
        return error_memory(error);
    struct sutra_critical_path_report *report = &path->report;
    for (int kind = SUTRA_PATH_OPERATOR; kind <= SUTRA_PATH_KERNEL; kind++)
        for (uint32_t string = 0; string < strings->n; string++)
            if (sums[kind].n[string])
                path->shares[report->n_shares++] =
                    (struct sutra_path_share){(enum sutra_path_kind)kind, strings_text(strings, string),
                                              sums[kind].us[string], sums[kind].n[string]};
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
    struct arena arena = {0};
    struct sums sums[2];
    for (int i = 0; i < 2; i++)
        sums[i] = (struct sums){arena_zeros(&arena, n, sizeof(double)), arena_zeros(&arena, n, sizeof(uint64_t))};
    path->report = (struct sutra_critical_path_report){.n_nodes = graph_nodes(&search->graph),
                                                       .n_path_nodes = search->path.n,
                                                       .extended = search->rules.extended,
                                                       .reason = path->verdict.reason,
                                                       .hta_version = search->rules.newer ? SUTRA_HTA_VERSION_0_6
                                                                                          : SUTRA_HTA_VERSION_0_5};
    enum sutra_status status = arena_status(&arena, error);
    if (!status && !graph_count_edges(&search->graph, &arena, &path->report.n_edges))
        status = error_memory(error);
    if (!status) {
        add_edges(path, sums);
        coverage_make(search, &path->report);
        status = list_shares(path, sums, error);
    }
    arena_free(&arena);
    return status;
}
