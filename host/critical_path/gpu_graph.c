/*
 * gpu_graph.c - kernels as nodes, and what delays them: their launch, the kernel before, and synchronisation.
 *
 *     CPU       [launch a]  [launch b]        [wait for the stream ......]
 *                 \                                                     /
 *     stream       [ a            ]----[ b                          ]--/
 *              launch delay    kernel delay                       sync
 *
 * The rows on streams and those of synchronisation are gone through in the order of time, the latter at their end. Cost:
 * a sort, and O(1) for each row but those that wait for all streams.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "critical_path/analysis.h"
#include "critical_path/queue.h"
#include "critical_path/waits.h"

struct device {
    struct analysis *analysis;
    row_t *rows, n;
    struct tuples lanes; /* streams in the order in which kernels first use them */
    node_t *last;        /* per such: end of the last kernel */
    row_t *held;         /* per event: what a stream wait makes it wait for, + 1; or 0 */
};

/* ---- Which rows ---- */

static bool is_device_row(const struct analysis *analysis, row_t event) {
    bool device = on_stream(analysis, event) || name_has(analysis, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
    return device && (analysis->rules.extended || analysis->link[event] != ROW_NONE);
}

/* Where a row stands in the order of time. */
static double moment(const struct analysis *analysis, row_t event) {
    double ts = (double)analysis->ts[event];
    return category_has(analysis, event, CATEGORY_SYNC) ? ts + analysis->dur[event] : ts;
}

static enum sutra_status gather_rows(struct device *device) {
    struct analysis *analysis = device->analysis;
    size_t n = (size_t)analysis->n_clipped + 1;
    uint64_t *keys = malloc(n * sizeof *keys);
    device->rows = malloc(n * sizeof *device->rows);
    if (!keys || !device->rows) {
        free(keys);
        return error_memory(analysis->error);
    }
    for (row_t i = 0; i < analysis->n_clipped; i++)
        if (is_device_row(analysis, analysis->clipped[i])) {
            keys[device->n] = double_sort_key(moment(analysis, analysis->clipped[i]));
            device->rows[device->n++] = analysis->clipped[i];
        }
    enum sutra_status status = SUTRA_OK;
    device->last = malloc(((size_t)device->n + 1) * sizeof *device->last);
    device->held = calloc((size_t)analysis->events->n + 1, sizeof *device->held);
    if (!device->last || !device->held)
        status = error_memory(analysis->error);
    if (!status)
        status = sort_rows(analysis, keys, device->rows, device->n);
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
static bool casts(struct analysis *analysis, struct json_place value) {
    const char *text = analysis->trace->document.source.bytes + value.at;
    value_key key;
    if (*text == '"')
        return field_int(&analysis->reader, value, &key);
    return *text != 'I' && !(*text == '-' && text[1] == 'I');
}

static bool arguments_cast(struct analysis *analysis, struct json_walker *walker) {
    bool cast = true;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker), value = walk_value(walker);
        cast = cast && (!is_cast_argument(walker->source, key) || casts(analysis, value));
    }
    return cast;
}

static bool row_casts(struct analysis *analysis, row_t event) {
    const struct document *document = &analysis->trace->document;
    struct json_walker walker =
        walk_from(&document->source, &document->index, analysis->events->text[event], NULL);
    bool cast = true;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (place_is(&document->source, key, "args") && walk_char(&walker) == '{') {
            cast = arguments_cast(analysis, &walker) && cast;
            continue;
        }
        struct json_place value = walk_value(&walker);
        cast = cast && (!is_cast(&document->source, key) || casts(analysis, value));
    }
    return cast;
}

static enum sutra_status check_casts(struct device *device) {
    struct analysis *analysis = device->analysis;
    for (row_t i = 0; i < device->n && analysis->has_records && !analysis->rules.extended; i++)
        if (!row_casts(analysis, device->rows[i]))
            return stop_empty(analysis, "event %u has a field that is no number, and there are event records",
                              device->rows[i]);
    return SUTRA_OK;
}

/* ---- Synchronisation ---- */

static struct tuple lane_key(const struct analysis *analysis, row_t event) {
    value_key device = analysis->rules.extended ? analysis->events->pid[event] : 0;
    return (struct tuple){{analysis->stream[event], device}};
}

/* The end of the call behind a row of synchronisation; NODE_NONE where the reference would crash. */
static node_t waiting_end(const struct analysis *analysis, row_t event) {
    row_t call = analysis->link[event];
    return call == ROW_NONE ? NODE_NONE : event_end(&analysis->graph, call);
}

static enum sutra_status add_sync(struct analysis *analysis, node_t from, row_t event) {
    node_t to = waiting_end(analysis, event);
    if (to != NODE_NONE && !(analysis->rules.extended && from == to))
        return add_edge(analysis, from, to, EDGE_SYNC, true);
    if (analysis->rules.extended)
        return SUTRA_OK;
    return stop_crash(analysis, "the call of event %u, which waits, is not in the window", event);
}

/* A stream waits for an event: the next kernel on it is held up. */
static enum sutra_status hold_next(struct device *device, row_t event, row_t source) {
    struct analysis *analysis = device->analysis;
    bool extended = analysis->rules.extended;
    if (!analysis->has_waits && !extended)
        return stop_crash(analysis, "event %u waits for an event, but no cudaStreamWaitEvent is there", event);
    row_t call = analysis->link[event];
    uint32_t number = call == ROW_NONE ? TUPLE_NONE : waits_call(analysis, call);
    if (number == TUPLE_NONE && !extended)
        return stop_crash(analysis, "event %u waits for an event without a call of cudaStreamWaitEvent", event);
    row_t next = number == TUPLE_NONE ? ROW_NONE : analysis->wait_launch[number];
    if (next != ROW_NONE)
        device->held[analysis->link[next]] = source + 1;
    return SUTRA_OK;
}

static enum sutra_status wait_for_event(struct device *device, row_t event) {
    struct analysis *analysis = device->analysis;
    row_t launch = waits_record_launch(analysis, event);
    if (launch == ROW_NONE)
        return SUTRA_OK;
    row_t source = analysis->link[launch];
    if (name_has(analysis, event, NAME_STREAM_WAIT))
        return hold_next(device, event, source);
    node_t from = event_end(&analysis->graph, source);
    return from == NODE_NONE ? SUTRA_OK : add_sync(analysis, from, event);
}

static enum sutra_status wait_for_context(struct device *device, row_t event) {
    struct analysis *analysis = device->analysis;
    enum sutra_status status = SUTRA_OK;
    for (uint32_t lane = 0; lane < device->lanes.n && !status && !analysis->outcome; lane++) {
        bool other = analysis->rules.extended && device->lanes.list[lane].part[1] != analysis->events->pid[event];
        if (!other)
            status = add_sync(analysis, device->last[lane], event);
    }
    return status;
}

static enum sutra_status take_sync(struct device *device, row_t event) {
    struct analysis *analysis = device->analysis;
    if (name_has(analysis, event, NAME_STREAM_WAIT | NAME_EVENT_SYNC))
        return wait_for_event(device, event);
    if (name_has(analysis, event, NAME_CONTEXT_SYNC))
        return wait_for_context(device, event);
    if (!name_has(analysis, event, NAME_STREAM_SYNC)) {
        if (analysis->rules.extended)
            return SUTRA_OK;
        return stop_crash(analysis, "event %u is of an unknown kind of synchronisation", event);
    }
    uint32_t lane = tuples_find(&device->lanes, lane_key(analysis, event));
    return lane == TUPLE_NONE ? SUTRA_OK : add_sync(analysis, device->last[lane], event);
}

/* ---- Kernels ---- */

/* Whether the kernel waited for its launch only: the stream was idle, and what holds it up had ended. */
static bool follows_launch(const struct analysis *analysis, row_t event, node_t last, node_t holder) {
    row_t launch = analysis->link[event];
    if (launch == ROW_NONE || !(analysis->queue[event] & QUEUE_ZERO))
        return false;
    bool one = analysis->rules.extended ? analysis->queue[event] & QUEUE_LAUNCH_ONE
                                        : analysis->queue[launch] & QUEUE_ONE;
    double ts = (double)analysis->ts[launch];
    return one && (last == NODE_NONE || node_time(analysis, last) < ts) &&
           (holder == NODE_NONE || node_time(analysis, holder) < ts);
}

static enum sutra_status add_delay(struct analysis *analysis, row_t event, node_t start, node_t last, node_t holder) {
    bool extended = analysis->rules.extended;
    if (follows_launch(analysis, event, last, holder)) {
        node_t launch = event_start(&analysis->graph, analysis->link[event]);
        if (launch != NODE_NONE)
            return add_edge(analysis, launch, start, EDGE_LAUNCH_DELAY, false);
        if (!extended)
            return stop_crash(analysis, "the launch of event %u is not in the window", event);
    }
    if (last != NODE_NONE && (holder == NODE_NONE || node_time(analysis, holder) < node_time(analysis, last)))
        return add_edge(analysis, last, start, EDGE_KERNEL_DELAY, false);
    return SUTRA_OK;
}

static enum sutra_status take_kernel(struct device *device, row_t event) {
    struct analysis *analysis = device->analysis;
    uint32_t n_lanes = device->lanes.n, lane = tuples_number(&device->lanes, lane_key(analysis, event));
    node_t start = graph_add_pair(&analysis->graph, event, ROW_NONE);
    if (lane == TUPLE_NONE || start == NODE_NONE)
        return error_memory(analysis->error);
    node_t last = lane == n_lanes ? NODE_NONE : device->last[lane], holder = NODE_NONE;
    enum sutra_status status = add_edge(analysis, start, start + 1, EDGE_OPERATOR, false);
    bool held = device->held[event] && !(analysis->rules.extended && device->held[event] - 1 == event);
    if (!status && held) {
        holder = event_end(&analysis->graph, device->held[event] - 1);
        if (holder != NODE_NONE)
            status = add_edge(analysis, holder, start, EDGE_SYNC, true);
    }
    if (!status && !analysis->outcome)
        status = add_delay(analysis, event, start, last, holder);
    device->last[lane] = start + 1;
    return status;
}

enum sutra_status gpu_graph_build(struct analysis *analysis) {
    struct device device = {.analysis = analysis};
    enum sutra_status status = gather_rows(&device);
    if (!status)
        status = check_casts(&device);
    for (row_t i = 0; i < device.n && !status && !analysis->outcome; i++)
        status = category_has(analysis, device.rows[i], CATEGORY_SYNC) ? take_sync(&device, device.rows[i])
                                                                       : take_kernel(&device, device.rows[i]);
    tuples_free(&device.lanes);
    free(device.rows);
    free(device.last);
    free(device.held);
    return status;
}
