/*
 * gpu_graph.c - kernels as nodes, and what delays them: their launch, the kernel before, and synchronisation.
 *
 *     CPU       [launch a]  [launch b]        [wait for the stream ......]
 *                 \                                                     /
 *     stream       [ a            ]----[ b                          ]--/
 *              launch delay    kernel delay                       sync
 *
 * The rows on streams and those of synchronisation are gone through in the order of time, the latter at their end.
 * Cost: a sort, and O(1) for each row but those that wait for all streams.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "critical_path/path_search.h"
#include "critical_path/queue.h"
#include "critical_path/waits.h"

struct device {
    struct path_search *search;
    row_t *rows, n;
    struct tuples lanes; /* streams in the order in which kernels first use them */
    node_t *last;        /* per such: end of the last kernel */
    row_t *held;         /* per event: what a stream wait makes it wait for, + 1; or 0 */
};

/* ---- Which rows ---- */

static bool is_device_row(const struct path_search *search, row_t event) {
    bool device = on_stream(search, event) || name_has(search, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
    return device && (search->rules.extended || search->link[event] != ROW_NONE);
}

/* Where a row stands in the order of time. */
static double moment(const struct path_search *search, row_t event) {
    double ts = (double)search->ts[event];
    return category_has(search, event, CATEGORY_SYNC) ? ts + search->dur[event] : ts;
}

static enum sutra_status gather_rows(struct device *device) {
    struct path_search *search = device->search;
    size_t n = (size_t)search->n_clipped + 1;
    uint64_t *keys = malloc(n * sizeof *keys);
    device->rows = malloc(n * sizeof *device->rows);
    if (!keys || !device->rows) {
        free(keys);
        return error_memory(search->error);
    }
    for (row_t i = 0; i < search->n_clipped; i++)
        if (is_device_row(search, search->clipped[i])) {
            keys[device->n] = double_sort_key(moment(search, search->clipped[i]));
            device->rows[device->n++] = search->clipped[i];
        }
    enum sutra_status status = SUTRA_OK;
    device->last = malloc(((size_t)device->n + 1) * sizeof *device->last);
    device->held = calloc((size_t)search->events->n + 1, sizeof *device->held);
    if (!device->last || !device->held)
        status = error_memory(search->error);
    if (!status)
        status = search_sort(search, keys, device->rows, device->n);
    free(keys);
    return status;
}

/* ---- Where event records matter the reference casts all columns of these rows to integers ---- */

/* Columns that are numbers already, or left out before. */
static bool is_cast(const struct source *source, struct json_place key) {
    static const char *const others[] = {"ph", "id", "bp", "s", "cat", "name", "ts", "dur", "args"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (place_is(source, key, others[i]))
            return false;
    return true;
}

static bool is_cast_argument(const struct source *source, struct json_place key) {
    return place_is(source, key, "bytes") || place_is(source, key, "memory bandwidth (GB/s)") ||
           place_is(source, key, "External id");
}

/* Whether Python's int() takes a value; only strings and infinities are refused. */
static bool casts(struct path_search *search, struct json_place value) {
    const char *text = search->trace->document.source.bytes + value.at;
    value_key key;
    if (*text == '"')
        return field_int(&search->reader, value, &key);
    return *text != 'I' && !(*text == '-' && text[1] == 'I');
}

static bool arguments_cast(struct path_search *search, struct json_walker *walker) {
    bool cast = true;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker), value = walk_value(walker);
        cast = cast && (!is_cast_argument(walker->source, key) || casts(search, value));
    }
    return cast;
}

static bool row_casts(struct path_search *search, row_t event) {
    const struct document *document = &search->trace->document;
    struct json_walker walker = walk_from(&document->source, &document->index, search->events->text[event]);
    bool cast = true;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (place_is(&document->source, key, "args") && walk_char(&walker) == '{') {
            cast = arguments_cast(search, &walker) && cast;
            continue;
        }
        struct json_place value = walk_value(&walker);
        cast = cast && (!is_cast(&document->source, key) || casts(search, value));
    }
    return cast;
}

static enum sutra_status check_casts(struct device *device) {
    struct path_search *search = device->search;
    for (row_t i = 0; i < device->n && search->has_records && !search->rules.extended; i++)
        if (!row_casts(search, device->rows[i]))
            return stop_empty(search, "event %u has a field that is no number, and there are event records",
                              device->rows[i]);
    return SUTRA_OK;
}

/* ---- Synchronisation ---- */

static struct tuple lane_key(const struct path_search *search, row_t event) {
    value_key device = search->rules.extended ? search->events->pid[event] : 0;
    return (struct tuple){{search->stream[event], device}};
}

/* The end of the call behind a row of synchronisation; NODE_NONE where the reference would crash. */
static node_t waiting_end(const struct path_search *search, row_t event) {
    row_t call = search->link[event];
    return call == ROW_NONE ? NODE_NONE : event_end(&search->graph, call);
}

/* Whether one node may wait for another. With extended rules nothing waits for what comes later, which could only lead
 * in circles. */
static bool may_wait(const struct path_search *search, node_t from, node_t to) {
    return !search->rules.extended || (from != to && node_time(search, from) <= node_time(search, to));
}

static enum sutra_status add_sync(struct path_search *search, node_t from, row_t event) {
    node_t to = waiting_end(search, event);
    if (to != NODE_NONE && may_wait(search, from, to))
        return search_add_edge(search, from, to, EDGE_SYNC, true);
    if (search->rules.extended)
        return SUTRA_OK;
    return stop_crash(search, "the call of event %u, which waits, is not in the window", event);
}

/* A stream waits for an event: the next kernel on it is held up. */
static enum sutra_status hold_next(struct device *device, row_t event, row_t source) {
    struct path_search *search = device->search;
    bool extended = search->rules.extended;
    if (!search->has_waits && !extended)
        return stop_crash(search, "event %u waits for an event, but no cudaStreamWaitEvent is there", event);
    row_t call = search->link[event];
    uint32_t number = call == ROW_NONE ? TUPLE_NONE : waits_call(search, call);
    if (number == TUPLE_NONE && !extended)
        return stop_crash(search, "event %u waits for an event without a call of cudaStreamWaitEvent", event);
    row_t next = number == TUPLE_NONE ? ROW_NONE : search->wait_launch[number];
    if (next != ROW_NONE)
        device->held[search->link[next]] = source + 1;
    return SUTRA_OK;
}

static enum sutra_status wait_for_event(struct device *device, row_t event) {
    struct path_search *search = device->search;
    row_t launch = waits_record_launch(search, event);
    if (launch == ROW_NONE)
        return SUTRA_OK;
    row_t source = search->link[launch];
    if (name_has(search, event, NAME_STREAM_WAIT))
        return hold_next(device, event, source);
    node_t from = event_end(&search->graph, source);
    return from == NODE_NONE ? SUTRA_OK : add_sync(search, from, event);
}

static enum sutra_status wait_for_context(struct device *device, row_t event) {
    struct path_search *search = device->search;
    enum sutra_status status = SUTRA_OK;
    for (uint32_t lane = 0; lane < device->lanes.n && !status && !search->outcome; lane++) {
        bool other = search->rules.extended && device->lanes.list[lane].part[1] != search->events->pid[event];
        if (!other)
            status = add_sync(search, device->last[lane], event);
    }
    return status;
}

static enum sutra_status take_sync(struct device *device, row_t event) {
    struct path_search *search = device->search;
    if (name_has(search, event, NAME_STREAM_WAIT | NAME_EVENT_SYNC))
        return wait_for_event(device, event);
    if (name_has(search, event, NAME_CONTEXT_SYNC))
        return wait_for_context(device, event);
    if (!name_has(search, event, NAME_STREAM_SYNC)) {
        if (search->rules.extended)
            return SUTRA_OK;
        return stop_crash(search, "event %u is of an unknown kind of synchronisation", event);
    }
    uint32_t lane = tuples_find(&device->lanes, lane_key(search, event));
    return lane == TUPLE_NONE ? SUTRA_OK : add_sync(search, device->last[lane], event);
}

/* ---- Kernels ---- */

/* Whether the kernel waited for its launch only: the stream was idle, and what holds it up had ended. */
static bool follows_launch(const struct path_search *search, row_t event, node_t last, node_t holder) {
    row_t launch = search->link[event];
    if (launch == ROW_NONE || !(search->queue[event] & QUEUE_ZERO))
        return false;
    bool one = search->rules.extended ? search->queue[event] & QUEUE_LAUNCH_ONE : search->queue[launch] & QUEUE_ONE;
    double ts = (double)search->ts[launch];
    return one && (last == NODE_NONE || node_time(search, last) < ts) &&
           (holder == NODE_NONE || node_time(search, holder) < ts);
}

/* With extended rules the first kernel of a stream always hangs on its launch, however many were launched with it. */
static enum sutra_status add_delay(struct path_search *search, row_t event, node_t start, node_t last, node_t holder) {
    bool extended = search->rules.extended, linked = search->link[event] != ROW_NONE;
    node_t launch = linked ? event_start(&search->graph, search->link[event]) : NODE_NONE;
    if (follows_launch(search, event, last, holder)) {
        if (launch != NODE_NONE)
            return search_add_edge(search, launch, start, EDGE_LAUNCH_DELAY, false);
        if (!extended)
            return stop_crash(search, "the launch of event %u is not in the window", event);
    }
    if (last != NODE_NONE && (holder == NODE_NONE || node_time(search, holder) < node_time(search, last)))
        return search_add_edge(search, last, start, EDGE_KERNEL_DELAY, false);
    if (extended && last == NODE_NONE && holder == NODE_NONE && launch != NODE_NONE)
        return search_add_edge(search, launch, start, EDGE_LAUNCH_DELAY, false);
    return SUTRA_OK;
}

static enum sutra_status take_kernel(struct device *device, row_t event) {
    struct path_search *search = device->search;
    uint32_t n_lanes = device->lanes.n, lane = tuples_number(&device->lanes, lane_key(search, event));
    node_t start = graph_add_pair(&search->graph, event, ROW_NONE);
    if (lane == TUPLE_NONE || start == NODE_NONE)
        return error_memory(search->error);
    node_t last = lane == n_lanes ? NODE_NONE : device->last[lane], holder = NODE_NONE;
    enum sutra_status status = search_add_edge(search, start, start + 1, EDGE_OPERATOR, false);
    if (!status && device->held[event])
        holder = event_end(&search->graph, device->held[event] - 1);
    if (holder != NODE_NONE && !may_wait(search, holder, start))
        holder = NODE_NONE;
    if (!status && holder != NODE_NONE)
        status = search_add_edge(search, holder, start, EDGE_SYNC, true);
    if (!status && !search->outcome)
        status = add_delay(search, event, start, last, holder);
    device->last[lane] = start + 1;
    return status;
}

enum sutra_status gpu_graph_build(struct path_search *search) {
    struct device device = {.search = search};
    search->graph.n_cpu_pairs = search->graph.n_pairs;
    enum sutra_status status = gather_rows(&device);
    if (!status)
        status = check_casts(&device);
    for (row_t i = 0; i < device.n && !status && !search->outcome; i++)
        status = category_has(search, device.rows[i], CATEGORY_SYNC) ? take_sync(&device, device.rows[i])
                                                                     : take_kernel(&device, device.rows[i]);
    tuples_free(&device.lanes);
    free(device.rows);
    free(device.last);
    free(device.held);
    return status;
}
