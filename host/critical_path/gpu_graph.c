/*
 * gpu_graph.c - kernels as nodes, and what delays them: their launch, the kernel before, and synchronisation.
 *
 *     CPU       [launch a]  [launch b]        [wait for the stream ......]
 *                 \                                                     /
 *     stream       [ a            ]----[ b                          ]--/
 *              launch delay    kernel delay                       sync
 *
 * The rows on streams and those of synchronisation are gone through in the order of time, the latter at their end.
 * What waits for all streams is a hub (see hubs.h). Cost: a sort, and O(1) for each row.
 */
#include <math.h>

#include "base/error.h"
#include "critical_path/path_search.h"
#include "critical_path/queue.h"
#include "critical_path/waits.h"

/* The stages' results that this one looks at, and what it makes. */
struct device {
    struct path_work *work;
    const struct path_rows *in;
    const uint8_t *queue;
    const struct path_waits *waits;
    struct graph *graph;
    row_t *rows, n;      /* in the order of time */
    struct tuples lanes; /* streams in the order in which kernels first use them */
    node_t *last;        /* per such: end of the last kernel */
    bool has_hubs;       /* something waits for all streams */
    row_t *held;         /* per event: what a stream wait makes it wait for, + 1; or 0 */
};

/* ---- Which rows ---- */

static bool is_device_row(const struct path_work *work, const struct path_rows *rows, row_t event) {
    bool device = on_stream(rows, event) || name_has(rows, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
    return device && (work->rules.extended || rows->link[event] != ROW_NONE);
}

/* Where a row stands in the order of time. */
static double moment(const struct path_rows *rows, row_t event) {
    double ts = (double)rows->ts[event];
    return category_has(rows, event, CATEGORY_SYNC) ? ts + rows->dur[event] : ts;
}

static enum sutra_status gather_rows(struct device *device, const struct path_window *window) {
    struct path_work *work = device->work;
    uint64_t *keys = arena_take(&work->scratch, window->n, sizeof *keys);
    device->rows = arena_take(&work->scratch, window->n, sizeof *device->rows);
    device->last = arena_take(&work->scratch, window->n, sizeof *device->last);
    device->held = arena_zeros(&work->scratch, work->events->n, sizeof *device->held);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < window->n && !status; i++)
        if (is_device_row(work, device->in, window->rows[i])) {
            keys[device->n] = double_sort_key(moment(device->in, window->rows[i]));
            device->rows[device->n++] = window->rows[i];
        }
    return status ? status : work_sort(work, keys, device->rows, device->n);
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
static bool casts(struct path_work *work, struct json_place value) {
    const char *text = work->trace->document.source.bytes + value.at;
    value_key key;
    if (*text == '"')
        return field_int(&work->reader, value, &key);
    return *text != 'I' && !(*text == '-' && text[1] == 'I');
}

static bool arguments_cast(struct path_work *work, struct json_walker *walker) {
    bool cast = true;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker), value = walk_value(walker);
        cast = cast && (!is_cast_argument(walker->source, key) || casts(work, value));
    }
    return cast;
}

static bool row_casts(struct path_work *work, row_t event) {
    const struct document *document = &work->trace->document;
    struct json_walker walker = walk_from(&document->source, work->events->text[event]);
    bool cast = true;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (place_is(&document->source, key, "args") && walk_char(&walker) == '{') {
            cast = arguments_cast(work, &walker) && cast;
            continue;
        }
        struct json_place value = walk_value(&walker);
        cast = cast && (!is_cast(&document->source, key) || casts(work, value));
    }
    return cast;
}

static enum sutra_status check_casts(const struct device *device) {
    struct path_work *work = device->work;
    for (row_t i = 0; i < device->n && device->waits->has_records && !work->rules.extended; i++)
        if (!row_casts(work, device->rows[i]))
            return stop_empty(work, "event %u has a field that is not a number, and the trace has event records",
                              device->rows[i]);
    return SUTRA_OK;
}

/* ---- Edges ---- */

static double time_of(const struct device *device, node_t node) {
    return node_time(device->in, device->graph, node);
}

static enum sutra_status add_edge(const struct device *device, node_t from, node_t to, enum edge_type type) {
    return work_add_edge(device->work, device->in, device->graph, from, to, type, false);
}

/* ---- Synchronisation ---- */

/* The end of the call behind a row of synchronisation; NODE_NONE where the reference would crash. */
static node_t waiting_end(const struct device *device, row_t event) {
    row_t call = device->in->link[event];
    return call == ROW_NONE ? NODE_NONE : event_end(device->graph, call);
}

/* Whether one node may wait for another. With extended rules nothing waits for what comes later, which could only lead
 * in circles. */
static bool may_wait(const struct device *device, node_t from, node_t to) {
    return !device->work->rules.extended || (from != to && time_of(device, from) <= time_of(device, to));
}

static enum sutra_status no_call(const struct device *device, row_t event) {
    if (device->work->rules.extended || device->work->rules.newer)
        return SUTRA_OK;
    return stop_crash(device->work, "the call of synchronization event %u is not in the window", event);
}

static enum sutra_status add_sync(const struct device *device, node_t from, row_t event) {
    node_t to = waiting_end(device, event);
    if (to == NODE_NONE)
        return no_call(device, event);
    return may_wait(device, from, to) ? add_edge(device, from, to, EDGE_SYNC) : SUTRA_OK;
}

/* A stream waits for an event: the next kernel on it is held up. */
static enum sutra_status hold_next(struct device *device, row_t event, row_t source) {
    bool extended = device->work->rules.extended;
    if (!device->waits->has_waits && !extended)
        return stop_crash(device->work, "event %u waits for a CUDA event, but there is no cudaStreamWaitEvent", event);
    row_t call = device->in->link[event];
    uint32_t number = call == ROW_NONE ? TUPLE_NONE : waits_call(device->waits, call);
    if (number == TUPLE_NONE && !extended)
        return stop_crash(device->work, "event %u waits for a CUDA event without a call of cudaStreamWaitEvent", event);
    row_t next = number == TUPLE_NONE ? ROW_NONE : device->waits->wait_launch[number];
    if (next != ROW_NONE)
        device->held[device->in->link[next]] = source + 1;
    return SUTRA_OK;
}

static enum sutra_status wait_for_event(struct device *device, row_t event) {
    row_t launch = waits_record_launch(device->work, device->in, device->waits, event);
    if (launch == ROW_NONE)
        return SUTRA_OK;
    row_t source = device->in->link[launch];
    if (name_has(device->in, event, NAME_STREAM_WAIT))
        return hold_next(device, event, source);
    node_t from = event_end(device->graph, source);
    return from == NODE_NONE ? SUTRA_OK : add_sync(device, from, event);
}

/* The device that a stream is of, as far as the rules tell devices apart. */
static value_key device_of(const struct device *device, row_t event) {
    return device->work->rules.extended ? device->work->events->pid[event] : 0;
}

/* A call that is itself on a stream would wait on its own, or for itself: what comes of that is seen at a plain edge,
 * beside the hub. */
static enum sutra_status wait_on_own_stream(const struct device *device, row_t event) {
    row_t call = device->in->link[event];
    uint32_t lane = TUPLE_NONE;
    if (call != ROW_NONE && on_stream(device->in, call))
        lane = tuples_find(&device->lanes, stream_of(device->work, device->in, call));
    return lane == TUPLE_NONE ? SUTRA_OK : add_sync(device, device->last[lane], event);
}

static enum sutra_status wait_for_context(const struct device *device, row_t event) {
    struct path_work *work = device->work;
    struct graph *graph = device->graph;
    node_t to = waiting_end(device, event);
    if (device->lanes.n == 0)
        return SUTRA_OK;
    if (to == NODE_NONE)
        return no_call(device, event);
    enum sutra_status status = wait_on_own_stream(device, event);
    if (status)
        return status;
    double limit = work->rules.extended ? time_of(device, to) : INFINITY;
    uint32_t hub = hubs_add(&graph->hubs, device_of(device, event), to, graph->n_edges, limit);
    bool ok = hub != HUB_NONE && graph_add_hub(graph, hub, to, EDGE_SYNC);
    return ok ? SUTRA_OK : error_memory(work->error);
}

static enum sutra_status take_sync(struct device *device, row_t event) {
    if (name_has(device->in, event, NAME_STREAM_WAIT | NAME_EVENT_SYNC))
        return wait_for_event(device, event);
    if (name_has(device->in, event, NAME_CONTEXT_SYNC))
        return wait_for_context(device, event);
    if (!name_has(device->in, event, NAME_STREAM_SYNC)) {
        if (device->work->rules.extended)
            return SUTRA_OK;
        return stop_crash(device->work, "event %u is an unknown kind of synchronization", event);
    }
    uint32_t lane = tuples_find(&device->lanes, stream_of(device->work, device->in, event));
    return lane == TUPLE_NONE ? SUTRA_OK : add_sync(device, device->last[lane], event);
}

/* ---- Kernels ---- */

/* In HTA 0.6 a kernel that starts so much later does not depend on its predecessor. */
#define LONG_DELAY_US 1500

/* Whether the kernel waited for its launch only: the stream was idle, and what holds it up had ended. */
static bool follows_launch(const struct device *device, row_t event, node_t last, node_t holder) {
    const uint8_t *queue = device->queue;
    row_t launch = device->in->link[event];
    if (launch == ROW_NONE || !(queue[event] & QUEUE_ZERO))
        return false;
    bool one = device->work->rules.extended ? queue[event] & QUEUE_LAUNCH_ONE : queue[launch] & QUEUE_ONE;
    double ts = (double)device->in->ts[launch];
    return one && (last == NODE_NONE || time_of(device, last) < ts) &&
           (holder == NODE_NONE || time_of(device, holder) < ts);
}

/* With extended rules the first kernel of a stream always hangs on its launch, however many were launched with it. */
static enum sutra_status add_delay(const struct device *device, row_t event, node_t start, node_t last, node_t holder) {
    bool extended = device->work->rules.extended;
    row_t link = device->in->link[event];
    node_t launch = link == ROW_NONE ? NODE_NONE : event_start(device->graph, link);
    if (follows_launch(device, event, last, holder)) {
        if (launch != NODE_NONE)
            return add_edge(device, launch, start, EDGE_LAUNCH_DELAY);
        if (!extended)
            return stop_crash(device->work, "the launch of event %u is not in the window", event);
    }
    bool far = device->work->rules.newer && last != NODE_NONE &&
               time_of(device, start) - time_of(device, last) >= LONG_DELAY_US;
    if (last != NODE_NONE && !far && (holder == NODE_NONE || time_of(device, holder) < time_of(device, last)))
        return add_edge(device, last, start, EDGE_KERNEL_DELAY);
    if (extended && last == NODE_NONE && holder == NODE_NONE && launch != NODE_NONE)
        return add_edge(device, launch, start, EDGE_LAUNCH_DELAY);
    return SUTRA_OK;
}

/* Notes the kernel as the last of its stream, where anything waits for all streams. */
static bool note_source(const struct device *device, row_t event, uint32_t lane, node_t last) {
    struct graph *graph = device->graph;
    if (!device->has_hubs)
        return true;
    uint32_t before = last == NODE_NONE ? HUB_NONE : last / 2 - graph->n_cpu_pairs;
    return hubs_add_source(&graph->hubs, device_of(device, event), lane, before);
}

static enum sutra_status take_kernel(struct device *device, row_t event) {
    uint32_t n_lanes = device->lanes.n;
    uint32_t lane = tuples_number(&device->lanes, stream_of(device->work, device->in, event));
    node_t start = graph_add_pair(device->graph, event, ROW_NONE);
    if (lane == TUPLE_NONE || start == NODE_NONE)
        return error_memory(device->work->error);
    node_t last = lane == n_lanes ? NODE_NONE : device->last[lane], holder = NODE_NONE;
    if (!note_source(device, event, lane, last))
        return error_memory(device->work->error);
    enum sutra_status status = add_edge(device, start, start + 1, EDGE_OPERATOR);
    if (!status && device->held[event])
        holder = event_end(device->graph, device->held[event] - 1);
    if (holder != NODE_NONE && !may_wait(device, holder, start))
        holder = NODE_NONE;
    if (!status && holder != NODE_NONE)
        status = add_edge(device, holder, start, EDGE_SYNC);
    if (!status)
        status = add_delay(device, event, start, last, holder);
    device->last[lane] = start + 1;
    return status;
}

/* ---- Hubs ---- */

static void take_hubs(struct device *device) {
    row_t n_hubs = 0, n_syncs = 0;
    for (row_t i = 0; i < device->n; i++) {
        bool sync = category_has(device->in, device->rows[i], CATEGORY_SYNC);
        n_syncs += sync;
        n_hubs += sync && name_has(device->in, device->rows[i], NAME_CONTEXT_SYNC);
    }
    device->has_hubs = n_hubs > 0;
    if (device->has_hubs)
        hubs_take(&device->graph->hubs, device->work->results, n_hubs, device->n - n_syncs);
}

static enum sutra_status settle_hubs(const struct device *device) {
    struct path_work *work = device->work;
    struct graph *graph = device->graph;
    double *ends = NULL;
    if (graph->hubs.n == 0)
        return SUTRA_OK;
    if (work->rules.extended) {
        ends = arena_take(&work->scratch, graph->hubs.n_sources, sizeof *ends);
        for (uint32_t i = 0; ends && i < graph->hubs.n_sources; i++)
            ends[i] = time_of(device, (graph->n_cpu_pairs + i) * 2 + 1);
    }
    enum sutra_status status = work_taken(work);
    return status || graph_settle_hubs(graph, ends, &work->scratch) ? status : error_memory(work->error);
}

enum sutra_status gpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, const uint8_t *queue,
                                  const struct path_waits *waits, struct graph *graph) {
    struct device device = {.work = work, .in = rows, .queue = queue, .waits = waits, .graph = graph};
    struct arena_mark mark = arena_mark(&work->scratch);
    graph->n_cpu_pairs = graph->n_pairs;
    enum sutra_status status = gather_rows(&device, window);
    if (!status)
        status = check_casts(&device);
    if (!status) {
        take_hubs(&device);
        status = work_taken(work);
    }
    for (row_t i = 0; i < device.n && !status; i++)
        status = category_has(rows, device.rows[i], CATEGORY_SYNC) ? take_sync(&device, device.rows[i])
                                                                   : take_kernel(&device, device.rows[i]);
    if (!status)
        status = settle_hubs(&device);
    tuples_free(&device.lanes);
    arena_release(&work->scratch, mark);
    return status;
}
