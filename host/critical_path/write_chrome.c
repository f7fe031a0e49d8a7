/*
 * write_chrome.c - the trace once more, with the critical path in it, to open in Perfetto.
 *
 * The file's bytes are copied as they are. Events on the path get an argument "critical_path"; behind the last event
 * stand the path's edges as flows, and on a track of their own the part of the window that the path covers and those
 * before and behind it. Viewers bind a flow to the innermost slice that is open at its time, so an end lies
 * a nanosecond before the slice's.
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

/* Copies up to where the event's mark goes, and writes the mark. */
static void mark_event(const struct path_search *search, struct text_out *text, row_t event, size_t *from) {
    const char *bytes = search->trace->document.source.bytes;
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    size_t args = places.field[FIELD_ARGS].at;
    if (!args) {
        trace_copy_to(search->trace, text, from, search->rows.events->text[event] + 1);
        out_add(text, "\"args\": {\"critical_path\": 1}, ");
        return;
    }
    if (bytes[args] != '{')
        return;
    trace_copy_to(search->trace, text, from, args + 1);
    size_t next = args + 1;
    while (bytes[next] == ' ' || bytes[next] == '\n' || bytes[next] == '\r' || bytes[next] == '\t')
        next++;
    out_add(text, bytes[next] == '}' ? "\"critical_path\": 1" : "\"critical_path\": 1, ");
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

/* One half of a flow. */
static void write_flow(const struct path_search *search, struct text_out *text, node_t i, node_t node, bool begins) {
    struct event_places places;
    event_find(search->trace, node_event(&search->graph, node), NULL, &places);
    out_add(text, begins ? ",\n{\"ph\": \"s\", \"id\": " : ",\n{\"ph\": \"f\", \"bp\": \"e\", \"id\": ");
    out_format(text, "\"critical_path_%u\"", i);
    out_add(text, ", \"pid\": ");
    trace_copy_value(search->trace, text, places.field[FIELD_PID]);
    out_add(text, ", \"tid\": ");
    trace_copy_value(search->trace, text, places.field[FIELD_TID]);
    out_add(text, ", \"ts\": ");
    write_time(search, text, node);
    out_add(text, ", \"cat\": \"critical_path\", \"name\": \"");
    out_add(text, flow_names[search->graph.type[search->path.edge[i]]]);
    out_add(text, "\"");
    if (begins) {
        out_add(text, ", \"args\": {\"weight\": ");
        out_number(text, search->graph.weight[search->path.edge[i]]);
        out_add(text, "}");
    }
    out_add(text, "}");
}

static void write_flows(const struct path_search *search, struct text_out *text) {
    for (node_t i = 0; i + 1 < search->path.n; i++) {
        if (search->path.node[i] / 2 == search->path.node[i + 1] / 2)
            continue;
        write_flow(search, text, i, search->path.node[i], true);
        write_flow(search, text, i, search->path.node[i + 1], false);
        out_step(text);
    }
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
    write_span(text, "behind the critical path", window, report->end_us, report->window_us);
}

bool write_path_chrome(const struct sutra_critical_path *path, struct text_out *text) {
    const struct path_search *search = &path->search;
    size_t from = 0;
    row_t n, *events = list_events(search, &n);
    if (!events)
        return false;
    for (row_t i = 0; i < n; i++)
        mark_event(search, text, events[i], &from);
    trace_copy_to(search->trace, text, &from, trace_events_end(search->trace));
    write_flows(search, text);
    write_coverage(path, text);
    trace_copy_to(search->trace, text, &from, search->trace->document.source.size);
    free(events);
    return true;
}
