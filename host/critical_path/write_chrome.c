/*
 * write_chrome.c - the trace once more, with the critical path in it, to open in Perfetto.
 *
 * The file's bytes are copied as they are. Events on the path get the arguments "critical_path", and "critical", which
 * is what the reference calls it; behind the last event stand edges as flows, and on a track of their own the part of
 * the window that the path covers and those before and behind it. Viewers bind a flow to the innermost slice that is
 * open at its time, so an end lies a nanosecond before the slice's. Other spans than those on the path can be left out:
 * what is no span, annotations of the user and functions of Python stay.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "critical_path/path.h"
#include "write/trace_copy.h"

static const char *const flow_names[EDGE_N_TYPES] = {
    [EDGE_OPERATOR] = "critical_path_operator",
    [EDGE_DEPENDENCY] = "critical_path_dependency",
    [EDGE_LAUNCH_DELAY] = "critical_path_launch_delay",
    [EDGE_KERNEL_DELAY] = "critical_path_kernel_delay",
    [EDGE_SYNC] = "critical_path_sync",
};

/* What the reference calls them. */
static const char *const reference_names[EDGE_N_TYPES] = {
    [EDGE_OPERATOR] = "critical_path_operator",
    [EDGE_DEPENDENCY] = "critical_path_dependency",
    [EDGE_LAUNCH_DELAY] = "critical_path_kernel_launch_delay",
    [EDGE_KERNEL_DELAY] = "critical_path_kernel_kernel_delay",
    [EDGE_SYNC] = "critical_path_sync_dependency",
};

static int compare_events(const void *left, const void *right) {
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    return (a > b) - (a < b);
}

/* The events of the path, rising, each once. */
static row_t *list_events(const struct path_search *search, row_t *n) {
    row_t *events = malloc(((size_t)search->path.n + 1) * sizeof *events);
    *n = 0;
    if (!events)
        return NULL;
    for (node_t i = 0; i < search->path.n; i++)
        events[i] = node_event(&search->graph, search->path.node[i]);
    qsort(events, search->path.n, sizeof *events, compare_events);
    for (node_t i = 0; i < search->path.n; i++)
        if (i == 0 || events[i] != events[i - 1])
            events[(*n)++] = events[i];
    return events;
}

#define MARKS "\"critical_path\": 1, \"critical\": 1"

/* Copies up to where the event's mark goes, and writes the mark. */
static void mark_event(const struct path_search *search, struct text_out *text, row_t event, size_t *from) {
    const char *bytes = search->trace->document.source.bytes;
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    size_t args = places.field[FIELD_ARGS].at;
    if (!args) {
        trace_copy_to(search->trace, text, from, search->rows.events->text[event] + 1);
        out_add(text, "\"args\": {" MARKS "}, ");
        return;
    }
    if (bytes[args] != '{')
        return;
    trace_copy_to(search->trace, text, from, args + 1);
    size_t next = args + 1;
    while (bytes[next] == ' ' || bytes[next] == '\n' || bytes[next] == '\r' || bytes[next] == '\t')
        next++;
    out_add(text, bytes[next] == '}' ? MARKS : MARKS ", ");
}

static void write_time(const struct path_search *search, struct text_out *text, node_t node) {
    row_t event = node_event(&search->graph, node);
    struct number ts = number_at(search->rows.events->ts, event);
    double start = number_as_double(ts), dur = number_as_double(number_at(search->rows.events->dur, event));
    double end = start + dur;
    if (node_is_end(node) && dur > 0)
        out_number(text, fmax(start, fmin(end - 0.001, nextafter(end, -INFINITY))));
    else if (number_is_double(ts))
        out_number(text, start);
    else
        out_integer(text, (int64_t)ts.bits);
}

/* An edge as an arrow. */
struct arrow {
    node_t from, to;
    uint32_t number, edge;
    bool critical;
};

/* One half of a flow. */
static void write_half(const struct path_search *search, struct text_out *text, const struct arrow *arrow,
                       bool begins) {
    node_t node = begins ? arrow->from : arrow->to;
    enum edge_type type = (enum edge_type)search->graph.type[arrow->edge];
    struct event_places places;
    event_find(search->trace, node_event(&search->graph, node), NULL, &places);
    out_add(text, begins ? ",\n{\"ph\": \"s\", \"id\": " : ",\n{\"ph\": \"f\", \"bp\": \"e\", \"id\": ");
    out_format(text, "\"critical_path_%u\"", arrow->number);
    out_add(text, ", \"pid\": ");
    trace_copy_value(search->trace, text, places.field[FIELD_PID]);
    out_add(text, ", \"tid\": ");
    trace_copy_value(search->trace, text, places.field[FIELD_TID]);
    out_add(text, ", \"ts\": ");
    write_time(search, text, node);
    out_add(text, ", \"cat\": \"critical_path\", \"name\": \"");
    out_add(text, flow_names[type]);
    out_add(text, "\"");
    if (begins) {
        out_add(text, ", \"args\": {\"weight\": ");
        out_number(text, search->graph.weight[arrow->edge]);
        out_format(text, ", \"critical\": %s, \"type\": \"%s\"}", arrow->critical ? "true" : "false",
                   reference_names[type]);
    }
    out_add(text, "}");
}

/* An edge within an event is none. */
static void write_arrow(const struct path_search *search, struct text_out *text, const struct arrow *arrow) {
    if (arrow->from / 2 == arrow->to / 2)
        return;
    write_half(search, text, arrow, true);
    write_half(search, text, arrow, false);
    out_step(text);
}

static bool is_wait(const struct path_search *search, uint32_t edge) {
    uint8_t type = search->graph.type[edge];
    return type == EDGE_DEPENDENCY || type == EDGE_LAUNCH_DELAY || type == EDGE_SYNC;
}

static void write_path_arrows(const struct path_search *search, struct text_out *text, bool waits) {
    for (node_t i = 0; i + 1 < search->path.n; i++) {
        const struct arrow arrow = {search->path.node[i], search->path.node[i + 1], i, search->path.edge[i], true};
        if (!waits || is_wait(search, arrow.edge))
            write_arrow(search, text, &arrow);
    }
}

/* All edges, by node; what hubs stand for is spelt out. next[v]: the node behind v on the path, + 1. */
static bool write_all_arrows(const struct path_search *search, struct text_out *text) {
    const struct graph *graph = &search->graph;
    node_t *next = calloc((size_t)graph_nodes(graph) + 1, sizeof *next);
    uint32_t number = 0;
    for (node_t i = 0; i + 1 < search->path.n && next; i++)
        next[search->path.node[i]] = search->path.node[i + 1] + 1;
    for (node_t node = 0; node < graph_nodes(graph) && next; node++) {
        struct edge_lists lists = edges_from(graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
            node_t to = graph->to[edge];
            const struct arrow arrow = {node, to, number++, edge, next[node] == to + 1};
            write_arrow(search, text, &arrow);
        }
    }
    free(next);
    return next != NULL;
}

static bool write_arrows(const struct sutra_critical_path *path, struct text_out *text) {
    if (path->arrows == SUTRA_ARROWS_ALL)
        return write_all_arrows(&path->search, text);
    write_path_arrows(&path->search, text, path->arrows == SUTRA_ARROWS_WAITS);
    return true;
}

/* ---- What is covered ---- */

/* A span on the track of its own; times are microseconds since the window's begin, which is at `window`. */
static void write_span(struct text_out *text, const char *name, double window, double begin, double end) {
    if (!(end > begin))
        return;
    out_add(text, ",\n{\"ph\": \"X\", \"pid\": \"critical path\", \"tid\": \"coverage\", \"ts\": ");
    out_number(text, window + begin);
    out_add(text, ", \"dur\": ");
    out_number(text, end - begin);
    out_format(text, ", \"cat\": \"critical_path\", \"name\": \"%s\"}", name);
}

static void write_coverage(const struct sutra_critical_path *path, struct text_out *text) {
    const struct path_search *search = &path->search;
    const struct sutra_critical_path_report *report = &path->report;
    row_t event = node_event(&search->graph, search->path.node[0]);
    double first = number_as_double(number_at(search->rows.events->ts, event)) - (double)search->rows.ts[event];
    double window = first + node_time(&search->rows, &search->graph, search->path.node[0]) - report->begin_us;
    char name[80];
    snprintf(name, sizeof name, "critical path: %.3f of %.3f us", report->us, report->window_us);
    write_span(text, "before the critical path", window, 0, report->begin_us);
    write_span(text, name, window, report->begin_us, report->end_us);
    write_span(text, "after the critical path", window, report->end_us, report->window_us);
}

/* ---- Events ---- */

static void copy_marked(const struct path_search *search, struct text_out *text, const row_t *events, row_t n,
                        size_t *from) {
    for (row_t i = 0; i < n; i++)
        mark_event(search, text, events[i], from);
}

static bool stays(const struct sutra_device_trace *trace, row_t event) {
    uint32_t category = trace->events.category[event];
    if (trace->events.phase[event] != 'X')
        return true;
    return category != STRING_NONE && (text_compare(&trace->strings, category, TEXT_IS, "user_annotation") ||
                                       text_compare(&trace->strings, category, TEXT_IS, "python_function"));
}

/* Only the events on the path, events[0..n), and those that stay anyhow. */
static void copy_critical(const struct path_search *search, struct text_out *text, const row_t *events, row_t n,
                          size_t *from) {
    const struct sutra_device_trace *trace = search->trace;
    bool any = false;
    trace_copy_to(trace, text, from, trace->events.text[0]);
    for (row_t event = 0, next = 0; event < trace->events.n; event++) {
        bool critical = next < n && events[next] == event;
        next += critical;
        if (!critical && !stays(trace, event))
            continue;
        out_add(text, any ? ",\n" : "");
        any = true;
        *from = trace->events.text[event];
        if (critical)
            mark_event(search, text, event, from);
        trace_copy_to(trace, text, from, trace_event_end(trace, event));
    }
    *from = trace_events_end(trace);
}

bool write_path_chrome(const struct sutra_critical_path *path, struct text_out *text) {
    const struct path_search *search = &path->search;
    size_t from = 0;
    row_t n, *events = list_events(search, &n);
    if (!events)
        return false;
    (path->only_critical ? copy_critical : copy_marked)(search, text, events, n, &from);
    trace_copy_to(search->trace, text, &from, trace_events_end(search->trace));
    bool ok = write_arrows(path, text);
    write_coverage(path, text);
    trace_copy_to(search->trace, text, &from, search->trace->document.source.size);
    free(events);
    return ok;
}
