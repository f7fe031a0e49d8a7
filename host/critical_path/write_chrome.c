/*
 * write_chrome.c - the trace once more, with the critical path in it, to open in Perfetto.
 *
 * The file's bytes are copied as they are. Events on the path get an argument "critical_path"; behind the last event
 * stand the path's edges as flows. Viewers bind a flow to the innermost slice that is open at its time, so an end lies
 * a nanosecond before the slice's.
 */
#include <math.h>
#include <stdlib.h>

#include "critical_path/path.h"
#include "text/number_text.h"

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
    row_t *events = malloc(((size_t)search->n_path + 1) * sizeof *events);
    *n = 0;
    if (!events)
        return NULL;
    for (node_t i = 0; i < search->n_path; i++)
        events[i] = node_event(&search->graph, search->path[i]);
    qsort(events, search->n_path, sizeof *events, compare_events);
    for (node_t i = 0; i < search->n_path; i++)
        if (i == 0 || events[i] != events[i - 1])
            events[(*n)++] = events[i];
    return events;
}

/* Copies the file's bytes from *from to `to`, in pieces. */
static void copy_to(const struct path_search *search, struct path_text *text, size_t *from, size_t to) {
    const size_t most = 1 << 20;
    while (*from < to) {
        size_t n = to - *from < most ? to - *from : most;
        buffer_append(&text->out, search->trace->document.source.bytes + *from, n);
        *from += n;
        path_text_step(text);
    }
}

/* Copies up to where the event's mark goes, and writes the mark. */
static void mark_event(const struct path_search *search, struct path_text *text, row_t event, size_t *from) {
    const char *bytes = search->trace->document.source.bytes;
    struct event_places places;
    event_find(search, event, &places);
    size_t args = places.field[FIELD_ARGS].at;
    if (!args) {
        copy_to(search, text, from, search->events->text[event] + 1);
        path_text_add(text, "\"args\": {\"critical_path\": 1}, ");
        return;
    }
    if (bytes[args] != '{')
        return;
    copy_to(search, text, from, args + 1);
    size_t next = args + 1;
    while (bytes[next] == ' ' || bytes[next] == '\n' || bytes[next] == '\r' || bytes[next] == '\t')
        next++;
    path_text_add(text, bytes[next] == '}' ? "\"critical_path\": 1" : "\"critical_path\": 1, ");
}

/* A number or string as it stands in the file. */
static void copy_value(const struct path_search *search, struct path_text *text, struct json_place place) {
    const char *value = search->trace->document.source.bytes + place.at;
    size_t length = 1;
    if (!place.at || *value == 'n')
        path_text_add(text, "0");
    else if (*value == '"')
        buffer_append(&text->out, value, place.end + 1 - place.at);
    else if (number_scan(value, &length) != NUMBER_FORM_BAD)
        buffer_append(&text->out, value, length);
    else
        path_text_add(text, *value == 't' ? "1" : "0");
}

static void write_time(const struct path_search *search, struct path_text *text, node_t node) {
    row_t event = node_event(&search->graph, node);
    struct number ts = number_at(search->events->ts, event);
    double start = number_as_double(ts), dur = number_as_double(number_at(search->events->dur, event));
    double end = start + dur;
    if (node_is_end(node) && dur > 0)
        path_text_number(text, fmax(start, fmin(end - 0.001, nextafter(end, -INFINITY))));
    else if (number_is_double(ts))
        path_text_number(text, start);
    else
        path_text_integer(text, (int64_t)ts.bits);
}

/* One half of a flow. */
static void write_flow(const struct path_search *search, struct path_text *text, node_t i, node_t node, bool begins) {
    struct event_places places;
    event_find(search, node_event(&search->graph, node), &places);
    path_text_add(text, begins ? ",\n{\"ph\": \"s\", \"id\": " : ",\n{\"ph\": \"f\", \"bp\": \"e\", \"id\": ");
    path_text_format(text, "\"critical_path_%u\"", i);
    path_text_add(text, ", \"pid\": ");
    copy_value(search, text, places.field[FIELD_PID]);
    path_text_add(text, ", \"tid\": ");
    copy_value(search, text, places.field[FIELD_TID]);
    path_text_add(text, ", \"ts\": ");
    write_time(search, text, node);
    path_text_add(text, ", \"cat\": \"critical_path\", \"name\": \"");
    path_text_add(text, flow_names[search->graph.type[search->path_edge[i]]]);
    path_text_add(text, "\"");
    if (begins) {
        path_text_add(text, ", \"args\": {\"weight\": ");
        path_text_number(text, search->graph.weight[search->path_edge[i]]);
        path_text_add(text, "}");
    }
    path_text_add(text, "}");
}

static void write_flows(const struct path_search *search, struct path_text *text) {
    for (node_t i = 0; i + 1 < search->n_path; i++) {
        if (search->path[i] / 2 == search->path[i + 1] / 2)
            continue;
        write_flow(search, text, i, search->path[i], true);
        write_flow(search, text, i, search->path[i + 1], false);
        path_text_step(text);
    }
}

/* Where the last event ends: at the closing bracket of the array, or white space before it. */
static size_t end_of_events(const struct path_search *search) {
    const struct document *document = &search->trace->document;
    struct json_walker walker =
        walk_from(&document->source, &document->index, search->events->text[search->events->n - 1], NULL);
    walk_value(&walker);
    return walker.at;
}

bool write_path_chrome(const struct sutra_critical_path *path, struct path_text *text) {
    const struct path_search *search = &path->search;
    size_t from = 0;
    row_t n, *events = list_events(search, &n);
    if (!events)
        return false;
    for (row_t i = 0; i < n; i++)
        mark_event(search, text, events[i], &from);
    copy_to(search, text, &from, end_of_events(search));
    write_flows(search, text);
    copy_to(search, text, &from, search->trace->document.source.size);
    free(events);
    return true;
}
