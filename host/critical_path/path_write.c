/*
 * path_write.c - writes the critical path as text, as JSON, and as a Chrome trace for Perfetto.
 *
 * Text: the breakdown of the path, then its edges. JSON, one object:
 *
 *     kind, map, caught, exception   HTA's map: external id -> external ids for which it waits; HTA's error, if any
 *     rules, hta_version             "reference" or "extended", "0.5" or "0.6": the rules of the graph and the path
 *     nodes                          [event, microseconds since the first event, is it the start]
 *     edges                          [from, to, weight, type], by node
 *     path                           nodes
 *     coverage                       the window, the path, and the events before and after the path
 *     breakdown                      microseconds on the path
 *
 * Chrome: a copy of the trace's bytes. Events on the path get the arguments "critical_path" and "critical" (HTA's
 * name). After the last event follow the edges as flows, and a track with the coverage. Optionally, slices that are
 * not on the path are omitted, except user annotations and Python functions.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/rows.h"
#include "critical_path/path.h"
#include "write/json_copy.h"

/* ---- Size ---- */

/* Lengths of lines without the numbers of nodes and edges, of typical traces. */
enum { JSON_NODE = 20, JSON_EDGE = 31, JSON_SHARE = 100, TEXT_STEP = 90, CHROME_ARROW = 350, CHROME_MARK = 40 };

uint64_t path_output_size(const struct sutra_critical_path *path, enum sutra_path_format format) {
    const struct sutra_critical_path_report *report = &path->report;
    uint64_t n_nodes = report->n_nodes, n_steps = report->n_path_nodes, size = 1000;
    uint64_t digits = (uint64_t)snprintf(NULL, 0, "%" PRIu64, report->n_nodes);
    if (format == SUTRA_PATH_TEXT)
        return size + (n_steps + report->n_shares) * TEXT_STEP;
    if (format == SUTRA_PATH_JSON)
        return size + n_nodes * (JSON_NODE + digits) + report->n_edges * (JSON_EDGE + 2 * digits) +
               n_steps * (digits + 2) + report->n_shares * JSON_SHARE;
    uint64_t n_arrows = path->arrows == SUTRA_ARROWS_ALL ? report->n_edges : n_steps;
    return size + path->search.trace->document.source.size + n_steps * CHROME_MARK +
           n_arrows * (CHROME_ARROW + 2 * digits);
}

/* ---- JSON ---- */

static const char *const type_words[EDGE_N_TYPES] = {
    [EDGE_OPERATOR] = "OPERATOR_KERNEL",
    [EDGE_DEPENDENCY] = "DEPENDENCY",
    [EDGE_LAUNCH_DELAY] = "KERNEL_LAUNCH_DELAY",
    [EDGE_KERNEL_DELAY] = "KERNEL_KERNEL_DELAY",
    [EDGE_SYNC] = "SYNC_DEPENDENCY",
};

static const char *const kind_keys[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operator",         [SUTRA_PATH_KERNEL] = "kernel",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch_delay", [SUTRA_PATH_KERNEL_DELAY] = "kernel_kernel_delay",
    [SUTRA_PATH_SYNC] = "synchronisation",      [SUTRA_PATH_DEPENDENCY] = "dependency",
};

struct id_pair {
    value_key end, start;
};

ORDER_BY(compare_pairs, struct id_pair, ASCENDING(end) ASCENDING(start))

/* Writes an id as a JSON value, or as a key. */
static void write_id(const struct values *odd, struct text_out *text, value_key id, bool as_key) {
    if (key_is_integer(id)) {
        out_add(text, as_key ? "\"" : "");
        out_integer(text, id);
        out_add(text, as_key ? "\"" : "");
    } else if (id < KEY_VALUES) {
        out_add(text, as_key ? "\"None\"" : "null");
    } else {
        struct value value = values_at(odd, id);
        out_string(text, value.text, value.length);
    }
}

static bool write_map(const struct sutra_critical_path *path, struct text_out *text) {
    const struct sync_map *map = &path->map;
    struct id_pair *pairs = malloc(((size_t)map->n + 1) * sizeof *pairs);
    if (!pairs)
        return false;
    for (row_t i = 0; i < map->n; i++)
        pairs[i] = (struct id_pair){map->end[i], map->start[i]};
    qsort(pairs, map->n, sizeof *pairs, compare_pairs);
    out_add(text, "{\"kind\": \"map\",\n\"map\": {");
    for (row_t i = 0; i < map->n; i++) {
        bool begins = i == 0 || pairs[i].end != pairs[i - 1].end;
        if (begins) {
            out_add(text, i ? "], " : "");
            write_id(&path->context->values, text, pairs[i].end, true);
        }
        out_add(text, begins ? ": [" : ", ");
        write_id(&path->context->values, text, pairs[i].start, false);
    }
    out_add(text, map->n ? "]},\n" : "},\n");
    free(pairs);

    out_add(text, "\"caught\": [");
    if (path->verdict.outcome == OUTCOME_EMPTY)
        out_string(text, path->verdict.reason, strlen(path->verdict.reason));
    out_add(text, "],\n\"exception\": ");
    if (path->verdict.outcome == OUTCOME_CRASH)
        out_string(text, path->verdict.reason, strlen(path->verdict.reason));
    else
        out_add(text, "null");
    out_format(text, ",\n\"rules\": \"%s\",\n\"hta_version\": \"%s\",\n",
               path->report.extended ? "extended" : "reference", sutra_hta_version_name(path->report.hta_version));
    return true;
}

/* Writes all nodes, all edges including the edges of hubs, and the nodes of the path. */
static bool write_graph(const struct path_search *search, struct text_out *text) {
    const struct graph *graph = &search->graph;
    node_t *from = calloc((size_t)graph_nodes(graph) + 1, sizeof *from); /* from[v]: node of the last edge to v, + 1 */
    if (!from)
        return false;
    out_add(text, "\"nodes\": [");
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        out_add(text, node ? ",\n[" : "\n[");
        out_integer(text, node_event(graph, node));
        out_add(text, ", ");
        out_number(text, node_time(&search->rows, graph, node));
        out_add(text, node_is_end(node) ? ", false]" : ", true]");
        out_step(text);
    }
    out_add(text, "],\n\"edges\": [");
    bool first = true;
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        struct edge_lists lists = edges_from(graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
            node_t to = graph->to[edge];
            if (from[to] == node + 1)
                continue;
            from[to] = node + 1;
            out_add(text, first ? "\n[" : ",\n[");
            first = false;
            out_integer(text, node);
            out_add(text, ", ");
            out_integer(text, to);
            out_add(text, ", ");
            out_number(text, graph->weight[edge]);
            out_add(text, ", \"");
            out_add(text, type_words[graph->type[edge]]);
            out_add(text, "\"]");
            out_step(text);
        }
    }
    free(from);
    out_add(text, "],\n\"path\": [");
    for (node_t i = 0; i < search->path.n; i++) {
        out_add(text, i ? ", " : "");
        out_integer(text, search->path.node[i]);
        out_step(text);
    }
    out_add(text, "],\n");
    return true;
}

static void write_us(struct text_out *text, const char *name, double us, bool comma) {
    out_format(text, "%s\"%s\": ", comma ? ", " : "", name);
    out_number(text, us);
}

static void write_outside_json(struct text_out *text, const char *name, const struct sutra_path_outside *outside) {
    out_format(text, ",\n\"%s\": {", name);
    write_us(text, "us", outside->us, false);
    out_format(text,
               ", \"operators\": %llu, \"kernels\": %llu, \"longest\": ", (unsigned long long)outside->n_operators,
               (unsigned long long)outside->n_kernels);
    if (outside->longest)
        out_string(text, outside->longest, strlen(outside->longest));
    else
        out_add(text, "null");
    write_us(text, "longest_us", outside->longest_us, true);
    out_add(text, "}");
}

bool write_path_json(const void *of, struct text_out *text) {
    const struct sutra_critical_path *path = of;
    if (!write_map(path, text) || !write_graph(&path->search, text))
        return false;

    const struct sutra_critical_path_report *report = &path->report;
    out_add(text, "\"coverage\": {");
    write_us(text, "window_us", report->window_us, false);
    write_us(text, "path_us", report->us, true);
    write_us(text, "begin_us", report->begin_us, true);
    write_us(text, "end_us", report->end_us, true);
    write_outside_json(text, "before_path", &report->before);
    write_outside_json(text, "after_path", &report->after);
    out_add(text, "},\n\"breakdown\": {");
    write_us(text, "total_us", report->us, false);
    out_add(text, ",\n\"by_kind_us\": {");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++)
        write_us(text, kind_keys[kind], report->kind_us[kind], kind > 0);
    out_add(text, "},\n\"kernels_us\": {");
    write_us(text, "compute", report->compute_us, false);
    write_us(text, "communication", report->communication_us, true);
    write_us(text, "memory", report->memory_us, true);
    out_add(text, "},\n\"data_loading_us\": ");
    out_number(text, report->data_loading_us);
    out_add(text, ",\n\"shares\": [");
    for (uint64_t i = 0; i < report->n_shares; i++) {
        const struct sutra_path_share *share = &report->shares[i];
        out_format(text, "%s\n{\"kind\": \"%s\", \"name\": ", i ? "," : "", kind_keys[share->kind]);
        if (share->name)
            out_string(text, share->name, strlen(share->name));
        else
            out_add(text, "null");
        write_us(text, "us", share->us, true);
        out_format(text, ", \"edges\": %llu}", (unsigned long long)share->n_edges);
        out_step(text);
    }
    out_add(text, "]}}\n");
    return true;
}

/* ---- Text ---- */

static const char *const kind_words[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operator",           [SUTRA_PATH_KERNEL] = "kernel",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch latency", [SUTRA_PATH_KERNEL_DELAY] = "kernel gap",
    [SUTRA_PATH_SYNC] = "synchronization",        [SUTRA_PATH_DEPENDENCY] = "dependency",
};

static void write_name(struct text_out *text, const char *name) {
    out_name(text, name, strlen(name));
}

static void write_outside_text(const struct sutra_path_outside *outside, const char *where, struct text_out *text) {
    if (!(outside->us > 0))
        return;
    out_format(text, "  %s the path: %.3f us; operators that start there: %llu, kernels: %llu\n", where, outside->us,
               (unsigned long long)outside->n_operators, (unsigned long long)outside->n_kernels);
    if (!outside->longest)
        return;
    out_format(text, "    longest: %.3f us, ", outside->longest_us);
    write_name(text, outside->longest);
    out_add(text, "\n");
}

/* Writes one line of the breakdown; a name is indented below its kind. */
static void write_share_text(struct text_out *text, const struct sutra_critical_path_report *report, double us,
                             uint64_t n_edges, const char *indent, const char *name) {
    out_format(text, "%16.3f  %5.1f %%  %9llu  %s", us, report->us > 0 ? us / report->us * 100 : 0,
               (unsigned long long)n_edges, indent);
    write_name(text, name);
    out_add(text, "\n");
}

bool write_path_text(const void *of, struct text_out *text) {
    const struct sutra_critical_path *path = of;
    const struct path_search *search = &path->search;
    const struct sutra_critical_path_report *report = &path->report;

    /* The rules, the size of the graph and the coverage */
    out_add(text, "critical path of ");
    write_name(text, search->trace->document.source.name);
    out_add(text, "\n  window: ");
    write_name(text, report->window ? report->window : "the whole trace");
    out_format(text, "\n  rules: %s, version %s\n", report->extended ? "extended" : "HTA",
               sutra_hta_version_name(report->hta_version));
    if (report->extended && *report->reason) {
        out_add(text, "  why: " PATH_REFERENCE " finds no critical path:\n    ");
        write_name(text, report->reason);
        out_add(text, "\n");
    } else if (report->extended) {
        out_add(text, "  why: stream 0, HIP, graphs or equal streams of several devices, which HTA does not support\n");
    }
    out_format(text, "  graph: %llu nodes, %llu edges; path: %llu nodes, %.3f us\n",
               (unsigned long long)report->n_nodes, (unsigned long long)report->n_edges,
               (unsigned long long)report->n_path_nodes, report->us);
    out_format(text, "  covers: %.3f of %.3f us (%.1f %%), from %.3f to %.3f us of the window\n", report->us,
               report->window_us, report->window_us > 0 ? report->us / report->window_us * 100 : 0, report->begin_us,
               report->end_us);
    write_outside_text(&report->before, "before", text);
    write_outside_text(&report->after, "after", text);
    out_add(text, "\n");

    /* The breakdown */
    out_add(text, "              us   share      edges  of the path\n");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++) {
        write_share_text(text, report, report->kind_us[kind], report->kind_edges[kind], "", kind_words[kind]);
        for (uint64_t i = 0; i < report->n_shares; i++) {
            const struct sutra_path_share *share = &report->shares[i];
            if (share->kind != (enum sutra_path_kind)kind || !share->name)
                continue;
            write_share_text(text, report, share->us, share->n_edges, "  ", share->name);
            out_step(text);
        }
    }
    out_format(text, "\nkernels on the path: %.3f us compute, %.3f us communication, %.3f us memory\n\n",
               report->compute_us, report->communication_us, report->memory_us);
    if (report->data_loading_us > 0)
        out_format(text, "data loading: %.3f us of the operators' time\n\n", report->data_loading_us);

    /* Each edge: start, weight, kind, and the event that owns the edge, or the events that it connects */
    out_add(text, "              at              us  kind                 event\n");
    for (node_t i = 0; i + 1 < search->path.n; i++) {
        uint32_t edge = search->path.edge[i];
        row_t owner;
        enum sutra_path_kind kind = edge_kind(search, edge, &owner);
        out_format(text, "%16.3f%16.3f  %-19s  ", node_time(&search->rows, &search->graph, search->path.node[i]),
                   search->graph.weight[edge], kind_words[kind]);
        row_t from = node_event(&search->graph, search->path.node[i]);
        row_t to = node_event(&search->graph, search->path.node[i + 1]);
        out_integer(text, owner == ROW_NONE ? from : owner);
        out_add(text, " ");
        write_name(text, event_name(search, owner == ROW_NONE ? from : owner));
        if (owner == ROW_NONE) {
            out_add(text, " -> ");
            out_integer(text, to);
            out_add(text, " ");
            write_name(text, event_name(search, to));
        }
        out_add(text, "\n");
        out_step(text);
    }
    return true;
}

/* ---- Chrome trace ---- */

static const char *const flow_names[EDGE_N_TYPES] = {
    [EDGE_OPERATOR] = "critical_path_operator",
    [EDGE_DEPENDENCY] = "critical_path_dependency",
    [EDGE_LAUNCH_DELAY] = "critical_path_launch_delay",
    [EDGE_KERNEL_DELAY] = "critical_path_kernel_delay",
    [EDGE_SYNC] = "critical_path_sync",
};

/* HTA's names. */
static const char *const reference_names[EDGE_N_TYPES] = {
    [EDGE_OPERATOR] = "critical_path_operator",
    [EDGE_DEPENDENCY] = "critical_path_dependency",
    [EDGE_LAUNCH_DELAY] = "critical_path_kernel_launch_delay",
    [EDGE_KERNEL_DELAY] = "critical_path_kernel_kernel_delay",
    [EDGE_SYNC] = "critical_path_sync_dependency",
};

#define MARKS "\"critical_path\": 1, \"critical\": 1"

/* Copies up to the event's args, and appends the marks to them. */
static void mark_event(const struct path_search *search, struct text_out *text, row_t event, size_t *from) {
    const char *bytes = search->trace->document.source.bytes;
    struct event_spans places;
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

/* Writes an edge as two flow events, unless it connects the nodes of one event. */
static void write_arrow(const struct path_search *search, struct text_out *text, uint32_t edge, node_t from, node_t to,
                        uint32_t number, bool critical) {
    enum edge_type type = (enum edge_type)search->graph.type[edge];
    if (from / 2 == to / 2)
        return;
    for (int half = 0; half < 2; half++) {
        node_t node = half == 0 ? from : to;
        row_t event = node_event(&search->graph, node);
        struct event_spans places;
        event_find(search->trace, event, NULL, &places);
        out_add(text, half == 0 ? ",\n{\"ph\": \"s\", \"id\": " : ",\n{\"ph\": \"f\", \"bp\": \"e\", \"id\": ");
        out_format(text, "\"critical_path_%u\"", number);
        out_add(text, ", \"pid\": ");
        trace_copy_value(search->trace, text, places.field[FIELD_PID]);
        out_add(text, ", \"tid\": ");
        trace_copy_value(search->trace, text, places.field[FIELD_TID]);
        out_add(text, ", \"ts\": ");
        /* Viewers bind a flow to the innermost slice that is open at its time, so an end is 1 ns early. */
        struct number ts = number_at(search->rows.events->ts, event);
        double start = number_as_double(ts), dur = number_as_double(number_at(search->rows.events->dur, event));
        double end = start + dur;
        if (node_is_end(node) && dur > 0)
            out_number(text, fmax(start, fmin(end - 0.001, nextafter(end, -INFINITY))));
        else if (number_is_double(ts))
            out_number(text, start);
        else
            out_integer(text, (int64_t)ts.bits);
        out_add(text, ", \"cat\": \"critical_path\", \"name\": \"");
        out_add(text, flow_names[type]);
        out_add(text, "\"");
        if (half == 0) {
            out_add(text, ", \"args\": {\"weight\": ");
            out_number(text, search->graph.weight[edge]);
            out_format(text, ", \"critical\": %s, \"type\": \"%s\"}", critical ? "true" : "false",
                       reference_names[type]);
        }
        out_add(text, "}");
    }
    out_step(text);
}

/* Writes the edges of the path, or all edges by node, including the edges that hubs represent. False: out of memory. */
static bool write_arrows(const struct sutra_critical_path *path, struct text_out *text) {
    const struct path_search *search = &path->search;
    const struct graph *graph = &search->graph;
    if (path->arrows != SUTRA_ARROWS_ALL) {
        for (node_t i = 0; i + 1 < search->path.n; i++) {
            uint32_t edge = search->path.edge[i];
            uint8_t type = graph->type[edge];
            bool is_wait = type == EDGE_DEPENDENCY || type == EDGE_LAUNCH_DELAY || type == EDGE_SYNC;
            if (path->arrows != SUTRA_ARROWS_WAITS || is_wait)
                write_arrow(search, text, edge, search->path.node[i], search->path.node[i + 1], i, true);
        }
        return true;
    }
    node_t *next = calloc((size_t)graph_nodes(graph) + 1, sizeof *next); /* next[v]: node after v on the path, + 1 */
    if (!next)
        return false;
    for (node_t i = 0; i + 1 < search->path.n; i++)
        next[search->path.node[i]] = search->path.node[i + 1] + 1;
    uint32_t number = 0;
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        struct edge_lists lists = edges_from(graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
            node_t to = graph->to[edge];
            write_arrow(search, text, edge, node, to, number++, next[node] == to + 1);
        }
    }
    free(next);
    return true;
}

/* Writes a slice on the coverage track; times are microseconds since the start of the window, which is at `window`. */
static void write_span(struct text_out *text, const char *name, double window, double begin, double end) {
    if (!(end > begin))
        return;
    out_add(text, ",\n{\"ph\": \"X\", \"pid\": \"critical path\", \"tid\": \"coverage\", \"ts\": ");
    out_number(text, window + begin);
    out_add(text, ", \"dur\": ");
    out_number(text, end - begin);
    out_format(text, ", \"cat\": \"critical_path\", \"name\": \"%s\"}", name);
}

/* Copies the events[0..n) on the path and the events that are not slices, user annotations and Python functions. */
static void copy_critical(const struct path_search *search, struct text_out *text, const row_t *events, row_t n,
                          size_t *from) {
    const struct sutra_device_trace *trace = search->trace;
    const struct strings *strings = &trace->strings;
    bool any = false;
    trace_copy_to(trace, text, from, trace->events.text[0]);
    for (row_t event = 0, next = 0; event < trace->events.n; event++) {
        /* an E event is copied with its B event */
        const row_t begin = trace->events.begin ? trace->events.begin[event] : ROW_NONE;
        const row_t slice = begin == ROW_NONE ? event : begin;
        uint32_t category = trace->events.category[slice];
        bool marked = next < n && events[next] == event;
        bool critical = marked || (begin != ROW_NONE && rows_find(events, n, begin) != ROW_NONE);
        next += marked;
        if (!critical && trace->events.phase[slice] == 'X' &&
            (category == STRING_NONE || !(text_compare(strings, category, TEXT_IS, "user_annotation") ||
                                          text_compare(strings, category, TEXT_IS, "python_function"))))
            continue;
        out_add(text, any ? ",\n" : "");
        any = true;
        *from = trace->events.text[event];
        if (marked)
            mark_event(search, text, event, from);
        trace_copy_to(trace, text, from, trace_event_end(trace, event));
    }
    *from = trace_events_end(trace);
}

bool write_path_chrome(const void *of, struct text_out *text) {
    const struct sutra_critical_path *path = of;
    const struct path_search *search = &path->search;
    const struct sutra_device_trace *trace = search->trace;
    const struct sutra_critical_path_report *report = &path->report;
    size_t from = 0;
    row_t n = 0, *events = malloc(((size_t)search->path.n + 1) * sizeof *events);
    if (!events)
        return false;

    /* The events of the path, ascending, each once */
    for (node_t i = 0; i < search->path.n; i++)
        events[i] = node_event(&search->graph, search->path.node[i]);
    qsort(events, search->path.n, sizeof *events, compare_uint32s);
    for (node_t i = 0; i < search->path.n; i++)
        if (i == 0 || events[i] != events[i - 1])
            events[n++] = events[i];

    if (path->only_critical)
        copy_critical(search, text, events, n, &from);
    for (row_t i = 0; i < n && !path->only_critical; i++)
        mark_event(search, text, events[i], &from);
    trace_copy_to(trace, text, &from, trace_events_end(trace));
    free(events);
    bool ok = write_arrows(path, text);

    /* The coverage track */
    row_t event = node_event(&search->graph, search->path.node[0]);
    double first = number_as_double(number_at(search->rows.events->ts, event)) - (double)search->rows.ts[event];
    double window = first + node_time(&search->rows, &search->graph, search->path.node[0]) - report->begin_us;
    char name[80];
    snprintf(name, sizeof name, "critical path: %.3f of %.3f us", report->us, report->window_us);
    write_span(text, "before the critical path", window, 0, report->begin_us);
    write_span(text, name, window, report->begin_us, report->end_us);
    write_span(text, "after the critical path", window, report->end_us, report->window_us);
    trace_copy_to(trace, text, &from, trace->document.source.size);
    return ok;
}
