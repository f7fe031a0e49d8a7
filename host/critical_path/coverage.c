/*
 * coverage.c - what of the window the path covers, and what lies outside of it: before the path begins, and behind its
 * end.
 *
 *     window   |  a    b                  c        |
 *     path               [ ............ ]
 *               before 1: a, b           behind: c
 *
 * A path begins where waiting leads to nothing earlier, which may be late in a step: what one thread does is tied to
 * another's work only where the GPU was waited for. O(nodes).
 */
#include <math.h>

#include "critical_path/path.h"

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

void coverage_make(const struct path_search *search, struct sutra_critical_path_report *report) {
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
