/*
 * gpu_graph.c - kernels as nodes, and their delays as edges: launch, previous kernel and synchronization.
 *
 *     CPU       [launch a]  [launch b]        [wait for the stream ......]
 *                 \                                                     /
 *     stream       [ a            ]----[ b                          ]--/
 *              launch delay    kernel delay                       sync
 *
 * Input: the rows in the window, the links and the graph of the CPU operators. Output: nodes and edges of the GPU. The
 * rows on streams and the synchronization rows are processed by time, synchronization at its end. A context
 * synchronization is a hub (see graph.h).
 *
 * Queues: the number of kernels that wait on each stream after each launch and each kernel start. The graph needs only
 * two bits per row: whether a launch found the stream idle, and whether its kernel left the queue empty. A launch may
 * have several kernels, by correlation:
 *
 *     launches     a     b     c                    in row order
 *     kernels      a1    c1    a2   c2              in row order
 *     changes      a     a     c    c   a1 c1 a2 c2     a launch per kernel, then the starts of the kernels
 *
 * Waits: the launch before an event record, and the launch that a stream wait delays.
 *
 *     stream 7   launch a   record E                   (calls on the CPU, by time)
 *     stream 8                          wait for E   launch b
 *
 * A row that waits for E waits for a, the last launch on the record's stream at or before the record. The stream wait
 * delays b, the next launch on the waiting stream by the same thread. The engine finds the neighbours of each query
 * among the launches on its lane, sorted by time.
 *
 * Cost: sorts of the rows, the launches and the kernels, then O(1) per row.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "critical_path/path.h"
#include "facts/launches.h"
#include "match/key_index.h"

/* ---- Queues ---- */

/* State of the queue of a stream at a launch or a kernel: bits of one byte per event. */
enum queue_bit {
    QUEUE_ONE = 2,        /* the length is 1 after this row */
    QUEUE_ZERO = 4,       /* the length is 0 after this row */
    QUEUE_LAUNCH_ONE = 8, /* at a kernel: the length was 1 after its launch */
};

struct launches {
    row_t *row, n;
    row_t *n_kernels;       /* per launch */
    struct key_index index; /* correlation -> launch */
};

/* Rows on a stream whose correlation a launch has. */
struct launched_rows {
    row_t *row, n;
    row_t *launch;  /* per row: number of its launch */
    uint32_t *lane; /* per row: number of its stream */
    struct tuples lanes;
};

static enum sutra_status find_launches(struct path_work *work, const struct path_rows *rows,
                                       struct launches *launches) {
    bool extended = work->rules.extended;
    value_key *keys = arena_alloc(&work->scratch, rows->n, sizeof *keys);
    launches->row = arena_alloc(&work->scratch, rows->n, sizeof *launches->row);
    launches->n_kernels = arena_zeros(&work->scratch, rows->n, sizeof *launches->n_kernels);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], link = rows->link[event];
        if (!name_has(rows, event, NAME_LAUNCH) || link == ROW_NONE ||
            (extended ? rows->state[event] & ROW_GPU : link == 0))
            continue;
        keys[launches->n] = work->events->correlation[event];
        launches->row[launches->n++] = event;
    }
    row_t second = ROW_NONE;
    TRY(key_index_build(&launches->index, work->engine, keys, launches->n, KEY_LAST, &second, work->error));
    if (extended)
        return SUTRA_OK;
    if (launches->n == 0)
        return stop_crash(work, "no launch has a kernel");
    if (second != ROW_NONE)
        return stop_crash(work, "two launches have the correlation of event %u", launches->row[second]);
    return SUTRA_OK;
}

static enum sutra_status find_kernels(struct path_work *work, const struct path_rows *rows, struct launches *launches,
                                      struct launched_rows *kernels) {
    kernels->row = arena_alloc(&work->scratch, rows->n, sizeof *kernels->row);
    kernels->launch = arena_alloc(&work->scratch, rows->n, sizeof *kernels->launch);
    kernels->lane = arena_alloc(&work->scratch, rows->n, sizeof *kernels->lane);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!on_stream(rows, event) || (work->rules.extended && category_has(rows, event, CATEGORY_SYNC)))
            continue;
        row_t launch = key_index_find(&launches->index, work->events->correlation[event]);
        if (launch == ROW_NONE)
            continue;
        uint32_t lane = tuples_number(&kernels->lanes, stream_of(work, rows, event));
        if (lane == TUPLE_NONE)
            return error_memory(work->error);
        launches->n_kernels[launch]++;
        kernels->launch[kernels->n] = launch;
        kernels->lane[kernels->n] = lane;
        kernels->row[kernels->n++] = event;
    }
    if (work->rules.extended)
        return SUTRA_OK;

    /* HTA needs exactly one kernel per launch, and each row once. */
    for (row_t i = 0; i < launches->n; i++)
        if (launches->n_kernels[i] == 0)
            return stop_crash(work, "the launch at event %u has no kernel on a stream", launches->row[i]);
    for (row_t i = 0; i < launches->n; i++)
        if (launches->n_kernels[i] > 1 || on_stream(rows, launches->row[i]))
            return stop_empty(work, "several kernels have the correlation of event %u", launches->row[i]);
    return SUTRA_OK;
}

/* The row of a change. */
static row_t row_of(const struct launches *launches, const struct launched_rows *kernels, row_t change, row_t kernel) {
    return change < kernels->n ? launches->row[kernels->launch[kernel]] : kernels->row[kernel];
}

/* Computes the queue lengths after each launch and each kernel start, and keeps their bits. */
static enum sutra_status measure_lengths(struct path_work *work, const struct path_rows *rows,
                                         const struct launches *launches, const struct launched_rows *kernels,
                                         uint8_t *queue) {
    row_t n = 2 * kernels->n, n_listed = 0;
    struct arena *scratch = &work->scratch;
    row_t *next = arena_alloc(scratch, launches->n, sizeof *next); /* per launch: the index of its next change */
    row_t *kernel_of =
        arena_alloc(scratch, n, sizeof *kernel_of); /* per change: the kernel that is launched or starts */
    uint64_t *time = arena_alloc(scratch, n, sizeof *time), *stream = arena_alloc(scratch, n, sizeof *stream);
    uint8_t *up = arena_alloc(scratch, n, sizeof *up);
    struct queue_lengths series = {.change = arena_alloc(scratch, n, sizeof *series.change),
                                   .lane = arena_alloc(scratch, n, sizeof *series.lane),
                                   .length = arena_alloc(scratch, n, sizeof *series.length)};
    TRY(work_check_memory(work));
    for (row_t i = 0; i < launches->n; i++) {
        next[i] = n_listed;
        n_listed += launches->n_kernels[i];
    }
    for (row_t kernel = 0; kernel < kernels->n; kernel++) {
        kernel_of[next[kernels->launch[kernel]]++] = kernel;
        kernel_of[kernels->n + kernel] = kernel;
    }
    for (row_t i = 0; i < n; i++) {
        stream[i] = kernels->lane[kernel_of[i]];
        time[i] = (uint64_t)rows->ts[row_of(launches, kernels, i, kernel_of[i])];
        up[i] = i < kernels->n;
    }
    const struct queue_changes changes = {n, time, stream, up};
    TRY(queues_measure(&changes, work->engine, scratch, &series, work->error));
    for (row_t i = 0; i < n; i++) {
        row_t change = series.change[i], kernel = kernel_of[change], event = row_of(launches, kernels, change, kernel);
        bool one = series.length[i] == 1, zero = series.length[i] == 0;
        queue[event] |= (uint8_t)((one ? QUEUE_ONE : 0) | (zero ? QUEUE_ZERO : 0));
        if (up[change] && one)
            queue[kernels->row[kernel]] |= QUEUE_LAUNCH_ONE;
    }
    return SUTRA_OK;
}

static enum sutra_status measure_queues(struct path_work *work, const struct path_rows *rows, struct launches *launches,
                                        struct launched_rows *kernels, uint8_t *queue) {
    TRY(find_launches(work, rows, launches));
    TRY(find_kernels(work, rows, launches, kernels));
    if (kernels->n > ROW_LIMIT / 2)
        return error_set(work->error, SUTRA_DATA, "more than %u kernels: cut the trace", ROW_LIMIT / 2);
    return measure_lengths(work, rows, launches, kernels, queue);
}

enum sutra_status queue_measure(struct path_work *work, const struct path_rows *rows, uint8_t *queue) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct launches launches = {0};
    struct launched_rows kernels = {0};
    enum sutra_status status = measure_queues(work, rows, &launches, &kernels, queue);
    key_index_free(&launches.index);
    tuples_free(&kernels.lanes);
    arena_release(&work->scratch, mark);
    return status;
}

/* ---- Event records and stream waits ---- */

/* The number of a call that makes a stream wait (see struct path_waits), or TUPLE_NONE. */
static uint32_t waits_call(const struct path_waits *waits, row_t call) {
    return tuples_find(&waits->wait_calls, (struct tuple){{call}});
}

/* Launches sorted by time, or queries: the launch next to a record or wait. */
struct launch_list {
    row_t *row;
    row_t n;
    uint64_t *keys;   /* times */
    uint32_t *number; /* of a query: index of its result */
    uint32_t *lane;   /* number of stream and device, or of stream and thread */
    row_t *found;     /* of a query: index of the launch */
};

static struct launch_list launch_list_alloc(struct arena *arena, row_t n) {
    return (struct launch_list){.row = arena_alloc(arena, n, sizeof(row_t)),
                                .keys = arena_alloc(arena, n, sizeof(uint64_t)),
                                .number = arena_alloc(arena, n, sizeof(uint32_t)),
                                .lane = arena_alloc(arena, n, sizeof(uint32_t)),
                                .found = arena_alloc(arena, n, sizeof(row_t))};
}

static void launch_list_add(const struct path_rows *rows, struct launch_list *list, row_t row) {
    list->keys[list->n] = (uint64_t)rows->ts[row];
    list->row[list->n++] = row;
}

/* The row on a stream that a call caused, if that row is linked too; else ROW_NONE. */
static row_t caused_by(const struct path_work *work, const struct path_rows *rows, row_t call) {
    row_t caused = rows->link[call];
    bool extended = work->rules.extended;
    if (caused == ROW_NONE || (caused == 0 && !extended) || !(rows->state[caused] & ROW_FULL) ||
        !on_stream(rows, caused))
        return ROW_NONE;
    row_t back = rows->link[caused];
    return back == ROW_NONE || (back == 0 && !extended) ? ROW_NONE : caused;
}

static struct tuple record_key(const struct path_work *work, const struct wait_row *wait) {
    if (!work->rules.extended)
        return (struct tuple){{wait->record}};
    return (struct tuple){{wait->record, wait->stream, work->events->pid[wait->event]}};
}

/* Numbers the records that rows wait for; waiting[number] is one row that waits for the record. */
static enum sutra_status list_records(const struct path_work *work, const struct path_rows *rows,
                                      struct path_waits *waits, struct wait_row *waiting) {
    for (row_t i = 0; i < rows->n_waits; i++) {
        const struct wait_row *wait = &rows->waits[i];
        bool has_stream = work->rules.extended ? wait->stream != STREAM_NONE : wait->stream > STREAM_NONE;
        if (!(rows->state[wait->event] & ROW_FULL) || !has_stream)
            continue;
        uint32_t n = waits->records.n, number = tuples_number(&waits->records, record_key(work, wait));
        if (number == TUPLE_NONE)
            return error_memory(work->error);
        if (number == n)
            waiting[number] = *wait;
        else if (waiting[number].stream != wait->stream ||
                 work->events->pid[waiting[number].event] != work->events->pid[wait->event])
            return stop_empty(work, "events %u and %u wait for one record from different streams",
                              waiting[number].event, wait->event);
    }
    return SUTRA_OK;
}

/* Lists the calls that record events by correlation: calls[number] is the row of the last call. */
static enum sutra_status list_record_calls(const struct path_work *work, const struct path_rows *rows,
                                           struct tuples *keys, row_t *calls) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!name_has(rows, event, NAME_RECORD_CALL))
            continue;
        uint32_t n = keys->n;
        uint32_t number = tuples_number(keys, (struct tuple){{work->events->correlation[event]}});
        if (number == TUPLE_NONE)
            return error_memory(work->error);
        if (number < n && !work->rules.extended)
            return stop_empty(work, "two records have the correlation of event %u", event);
        calls[number] = event;
    }
    return SUTRA_OK;
}

/* Finds for each record of a query the last launch at or before the record on its stream and device. */
static enum sutra_status find_launch_before(const struct path_work *work, const struct path_rows *rows,
                                            const struct wait_row *waiting, struct launch_list *launches,
                                            struct launch_list *queries, row_t *record_launch) {
    struct tuples lanes = {0};
    bool ok = true;
    for (row_t i = 0; i < launches->n; i++) {
        row_t kernel = rows->link[launches->row[i]];
        launches->lane[i] = tuples_number(&lanes, (struct tuple){{rows->stream[kernel], work->events->pid[kernel]}});
        ok &= launches->lane[i] != TUPLE_NONE;
    }
    for (row_t i = 0; i < queries->n; i++) {
        const struct wait_row *wait = &waiting[queries->number[i]];
        queries->lane[i] = tuples_number(&lanes, (struct tuple){{wait->stream, work->events->pid[wait->event]}});
        ok &= queries->lane[i] != TUPLE_NONE;
    }
    struct lane_items items = {launches->n, lanes.n, launches->lane, launches->keys};
    struct lane_neighbours_step step = {&items, queries->lane, queries->keys, queries->n, queries->found, NULL};
    enum sutra_status status =
        ok ? work->engine->lane_neighbours(work->engine->state, &step, work->error) : error_memory(work->error);
    for (row_t i = 0; i < queries->n && !status; i++)
        if (queries->found[i] != ROW_NONE)
            record_launch[queries->number[i]] = launches->row[queries->found[i]];
    tuples_free(&lanes);
    return status;
}

static row_t count_named(const struct path_rows *rows, uint32_t role) {
    row_t n = 0;
    for (row_t i = 0; i < rows->n; i++)
        n += name_has(rows, rows->list[i], role);
    return n;
}

static enum sutra_status resolve_records(struct path_work *work, const struct path_rows *rows,
                                         struct launch_list *launches, struct path_waits *waits) {
    if (!(rows->used.name & NAME_RECORD_CALL))
        return SUTRA_OK;
    struct arena *arena = &work->scratch;
    struct tuples keys = {0};
    struct wait_row *waiting = arena_zeros(arena, rows->n_waits, sizeof *waiting);
    row_t *calls = arena_alloc(arena, count_named(rows, NAME_RECORD_CALL), sizeof *calls);
    struct launch_list queries = launch_list_alloc(arena, rows->n_waits);
    waits->record_launch = rows_none(arena, rows->n_waits);
    enum sutra_status status = work_check_memory(work);
    if (!status)
        status = list_records(work, rows, waits, waiting);
    if (!status)
        status = list_record_calls(work, rows, &keys, calls);
    for (uint32_t record = 0; record < waits->records.n && !status; record++) {
        uint32_t call = tuples_find(&keys, (struct tuple){{waits->records.list[record].part[0]}});
        if (call == TUPLE_NONE)
            continue;
        queries.number[queries.n] = record;
        launch_list_add(rows, &queries, calls[call]);
    }
    waits->has_records = queries.n > 0;
    if (!status && waits->has_records)
        status = find_launch_before(work, rows, waiting, launches, &queries, waits->record_launch);
    tuples_free(&keys);
    return status;
}

/* Numbers the stream and thread of each launch or call. */
static enum sutra_status number_thread_lanes(const struct path_work *work, const struct path_rows *rows,
                                             struct launch_list *list, struct tuples *lanes) {
    for (row_t i = 0; i < list->n; i++) {
        row_t call = list->row[i];
        struct tuple stream = stream_of(work, rows, rows->link[call]);
        struct tuple lane = {{work->events->pid[call], work->events->tid[call], stream.part[0], stream.part[1]}};
        list->lane[i] = tuples_number(lanes, lane);
        if (list->lane[i] == TUPLE_NONE)
            return error_memory(work->error);
    }
    return SUTRA_OK;
}

/* Finds for each call that makes a stream wait the next launch on the stream by the same thread. */
static enum sutra_status find_launch_after(struct path_work *work, const struct path_rows *rows,
                                           struct launch_list *launches, struct path_waits *waits,
                                           struct tuples *lanes) {
    row_t n = count_named(rows, NAME_WAIT_CALL);
    waits->wait_launch = arena_alloc(&work->scratch, n, sizeof *waits->wait_launch);
    struct launch_list queries = launch_list_alloc(&work->scratch, n);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!name_has(rows, event, NAME_WAIT_CALL) || caused_by(work, rows, event) == ROW_NONE)
            continue;
        if (tuples_number(&waits->wait_calls, (struct tuple){{event}}) == TUPLE_NONE)
            return error_memory(work->error);
        launch_list_add(rows, &queries, event);
    }
    if (queries.n == 0 && !work->rules.extended)
        return stop_empty(work, "no cudaStreamWaitEvent is linked to an event on a stream");
    TRY(number_thread_lanes(work, rows, launches, lanes));
    TRY(number_thread_lanes(work, rows, &queries, lanes));
    struct lane_items items = {launches->n, lanes->n, launches->lane, launches->keys};
    struct lane_neighbours_step step = {&items, queries.lane, queries.keys, queries.n, NULL, queries.found};
    TRY(work->engine->lane_neighbours(work->engine->state, &step, work->error));
    for (row_t i = 0; i < queries.n; i++)
        waits->wait_launch[waits_call(waits, queries.row[i])] =
            queries.found[i] == ROW_NONE ? ROW_NONE : launches->row[queries.found[i]];
    return SUTRA_OK;
}

enum sutra_status waits_resolve(struct path_work *work, const struct path_rows *rows, struct path_waits *waits) {
    if (!(rows->used.name & (NAME_RECORD_CALL | NAME_WAIT_CALL)))
        return SUTRA_OK;
    struct launch_list launches = launch_list_alloc(&work->scratch, rows->n);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (name_has(rows, event, NAME_LAUNCH) && caused_by(work, rows, event) != ROW_NONE)
            launch_list_add(rows, &launches, event);
    }
    TRY(work_sort(work, launches.keys, launches.row, launches.n));
    TRY(resolve_records(work, rows, &launches, waits));
    if (!(rows->used.name & NAME_WAIT_CALL) || !(rows->used.name & NAME_STREAM_WAIT))
        return SUTRA_OK;
    waits->has_waits = true;
    struct tuples lanes = {0};
    enum sutra_status status = find_launch_after(work, rows, &launches, waits, &lanes);
    tuples_free(&lanes);
    return status;
}

static int compare_waits(const void *event, const void *wait) {
    row_t a = *(const row_t *)event, b = ((const struct wait_row *)wait)->event;
    return (a > b) - (a < b);
}

/* ---- Nodes and edges ---- */

struct gpu_graph {
    struct path_work *work;
    const struct path_rows *in;
    const uint8_t *queue;
    const struct path_waits *waits;
    struct graph *graph;
    row_t *rows, n;      /* by time */
    struct tuples lanes; /* streams in the order of their first kernel */
    node_t *last;        /* per stream: end of the last kernel */
    bool has_hubs;       /* a call waits for all streams */
    row_t *blocked_by;   /* per event: the GPU activity for which a stream wait delays it, + 1; or 0 */
};

/* Lists the GPU rows of the window by time: kernels by start, synchronization by end. */
static enum sutra_status list_rows(struct gpu_graph *device, const struct path_window *window) {
    struct path_work *work = device->work;
    const struct path_rows *in = device->in;
    uint64_t *keys = arena_alloc(&work->scratch, window->n, sizeof *keys);
    device->rows = arena_alloc(&work->scratch, window->n, sizeof *device->rows);
    device->last = arena_alloc(&work->scratch, window->n, sizeof *device->last);
    device->blocked_by = arena_zeros(&work->scratch, work->events->n, sizeof *device->blocked_by);
    TRY(work_check_memory(work));
    row_t n_hubs = 0, n_syncs = 0;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        bool on_gpu = on_stream(in, event) || name_has(in, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
        if (!on_gpu || (!work->rules.extended && in->link[event] == ROW_NONE))
            continue;
        bool sync = category_has(in, event, CATEGORY_SYNC);
        n_syncs += sync;
        n_hubs += sync && name_has(in, event, NAME_CONTEXT_SYNC);
        keys[device->n] = double_sort_key((double)in->ts[event] + (sync ? in->dur[event] : 0));
        device->rows[device->n++] = event;
    }
    device->has_hubs = n_hubs > 0;
    if (device->has_hubs)
        hubs_alloc(&device->graph->hubs, work->results, n_hubs, device->n - n_syncs);
    TRY(work_check_memory(work));
    return work_sort(work, keys, device->rows, device->n);
}

static bool is_one_of(const struct source *source, struct json_span key, const char *const *names) {
    while (*names && !place_is(source, key, *names))
        names++;
    return *names != NULL;
}

/* Whether Python's int() accepts the value. It fails only for strings without a number, and for infinities. */
static bool casts(struct path_work *work, struct json_span value) {
    const char *text = work->trace->document.source.bytes + value.at;
    value_key key;
    if (*text == '"')
        return field_int(&work->reader, value, &key);
    return *text != 'I' && !(*text == '-' && text[1] == 'I');
}

static bool row_casts(struct path_work *work, row_t event) {
    static const char *const other_keys[] = {"ph", "id", "bp", "s", "cat", "name", "ts", "dur", "args", NULL};
    static const char *const cast_arguments[] = {"bytes", "memory bandwidth (GB/s)", "External id", NULL};
    const struct source *source = &work->trace->document.source;
    struct json_walker walker = walk_from(source, work->events->text[event]);
    bool cast = true;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (place_is(source, key, "args") && walk_char(&walker) == '{') {
            for (bool inner = walk_object(&walker); inner; inner = walk_member_end(&walker)) {
                struct json_span name = walk_key(&walker), value = walk_value(&walker);
                cast = cast && (!is_one_of(source, name, cast_arguments) || casts(work, value));
            }
            continue;
        }
        struct json_span value = walk_value(&walker);
        cast = cast && (is_one_of(source, key, other_keys) || casts(work, value));
    }
    return cast;
}

static double time_of(const struct gpu_graph *device, node_t node) {
    return node_time(device->in, device->graph, node);
}

static enum sutra_status add_edge(const struct gpu_graph *device, node_t from, node_t to, enum edge_type type) {
    return work_add_edge(device->work, device->in, device->graph, from, to, type, false);
}

/* The end of the call of a synchronization row; NODE_NONE if HTA would fail. */
static node_t waiting_end(const struct gpu_graph *device, row_t event) {
    row_t call = device->in->link[event];
    return call == ROW_NONE ? NODE_NONE : event_end_node(device->graph, call);
}

/* Whether one node may wait for another. By the extended rules, nodes do not wait for later nodes, which could only
 * form cycles. */
static bool may_wait(const struct gpu_graph *device, node_t from, node_t to) {
    return !device->work->rules.extended || (from != to && time_of(device, from) <= time_of(device, to));
}

static enum sutra_status no_call(const struct gpu_graph *device, row_t event) {
    if (device->work->rules.extended || device->work->rules.newer)
        return SUTRA_OK;
    return stop_crash(device->work, "the call of synchronization event %u is not in the window", event);
}

static enum sutra_status add_sync(const struct gpu_graph *device, node_t from, row_t event) {
    node_t to = waiting_end(device, event);
    if (to == NODE_NONE)
        return no_call(device, event);
    return may_wait(device, from, to) ? add_edge(device, from, to, EDGE_SYNC) : SUTRA_OK;
}

/* Adds the edge of a row that waits for an event, or delays the next kernel if a stream waits. */
static enum sutra_status wait_for_event(struct gpu_graph *device, row_t event) {
    const struct path_work *work = device->work;
    /* The last launch before the record that this row waits for. */
    const struct path_rows *rows = device->in;
    const struct path_waits *waits = device->waits;
    if (!waits->has_records)
        return SUTRA_OK;
    const struct wait_row *wait = bsearch(&event, rows->waits, rows->n_waits, sizeof *rows->waits, compare_waits);
    struct wait_row none = {.event = event, .stream = STREAM_NONE, .record = -1};
    uint32_t record = tuples_find(&waits->records, record_key(work, wait ? wait : &none));
    row_t launch = record == TUPLE_NONE ? ROW_NONE : waits->record_launch[record];
    if (launch == ROW_NONE)
        return SUTRA_OK;
    row_t source = rows->link[launch];
    if (!name_has(rows, event, NAME_STREAM_WAIT)) {
        node_t from = event_end_node(device->graph, source);
        return from == NODE_NONE ? SUTRA_OK : add_sync(device, from, event);
    }
    if (!waits->has_waits && !work->rules.extended)
        return stop_crash(work, "event %u waits for a CUDA event, but there is no cudaStreamWaitEvent", event);
    row_t call = rows->link[event];
    uint32_t number = call == ROW_NONE ? TUPLE_NONE : waits_call(waits, call);
    if (number == TUPLE_NONE && !work->rules.extended)
        return stop_crash(work, "event %u waits for a CUDA event without a call of cudaStreamWaitEvent", event);
    row_t next = number == TUPLE_NONE ? ROW_NONE : waits->wait_launch[number];
    if (next != ROW_NONE)
        device->blocked_by[rows->link[next]] = source + 1;
    return SUTRA_OK;
}

/* The device of a stream, if the rules distinguish devices. */
static value_key device_of(const struct gpu_graph *device, row_t event) {
    return device->work->rules.extended ? device->work->events->pid[event] : 0;
}

static enum sutra_status wait_for_context(const struct gpu_graph *device, row_t event) {
    struct path_work *work = device->work;
    struct graph *graph = device->graph;
    node_t to = waiting_end(device, event);
    if (device->lanes.n == 0)
        return SUTRA_OK;
    if (to == NODE_NONE)
        return no_call(device, event);

    /* A call that is on a stream would wait for its own stream, or for itself. A plain edge handles this case. */
    row_t call = device->in->link[event];
    if (on_stream(device->in, call)) {
        uint32_t lane = tuples_find(&device->lanes, stream_of(work, device->in, call));
        if (lane != TUPLE_NONE)
            TRY(add_sync(device, device->last[lane], event));
    }
    double limit = work->rules.extended ? time_of(device, to) : INFINITY;
    uint32_t hub = hubs_add(&graph->hubs, device_of(device, event), to, graph->n_edges, limit);
    TRY_ALLOC(hub != HUB_NONE && graph_add_hub(graph, hub, to, EDGE_SYNC), work->error);
    return SUTRA_OK;
}

/* Adds the edges of a synchronization row. */
static enum sutra_status add_sync_row(struct gpu_graph *device, row_t event) {
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

/* In HTA 0.6, a kernel that starts this long after its predecessor does not depend on it. */
#define LONG_DELAY_US 1500

/* Adds the launch delay or kernel delay of a kernel. By the extended rules, the first kernel of a stream always depends
 * on its launch, regardless of the number of kernels launched with it. */
static enum sutra_status add_delay(const struct gpu_graph *device, row_t event, node_t start, node_t last,
                                   node_t blocker) {
    bool extended = device->work->rules.extended;
    row_t link = device->in->link[event];
    node_t launch = link == ROW_NONE ? NODE_NONE : event_start_node(device->graph, link);

    /* Whether the kernel waited only for its launch: the stream was idle, and the activity that blocks it had ended. */
    bool follows_launch = false;
    if (link != ROW_NONE && device->queue[event] & QUEUE_ZERO) {
        double ts = (double)device->in->ts[link];
        follows_launch = (extended ? device->queue[event] & QUEUE_LAUNCH_ONE : device->queue[link] & QUEUE_ONE) &&
                         (last == NODE_NONE || time_of(device, last) < ts) &&
                         (blocker == NODE_NONE || time_of(device, blocker) < ts);
    }
    if (follows_launch) {
        if (launch != NODE_NONE)
            return add_edge(device, launch, start, EDGE_LAUNCH_DELAY);
        if (!extended)
            return stop_crash(device->work, "the launch of event %u is not in the window", event);
    }
    bool far = device->work->rules.newer && last != NODE_NONE &&
               time_of(device, start) - time_of(device, last) >= LONG_DELAY_US;
    if (last != NODE_NONE && !far && (blocker == NODE_NONE || time_of(device, blocker) < time_of(device, last)))
        return add_edge(device, last, start, EDGE_KERNEL_DELAY);
    if (extended && last == NODE_NONE && blocker == NODE_NONE && launch != NODE_NONE)
        return add_edge(device, launch, start, EDGE_LAUNCH_DELAY);
    return SUTRA_OK;
}

/* Adds the nodes and edges of a kernel, memcpy or memset. */
static enum sutra_status add_kernel(struct gpu_graph *device, row_t event) {
    struct graph *graph = device->graph;
    uint32_t n_lanes = device->lanes.n;
    uint32_t lane = tuples_number(&device->lanes, stream_of(device->work, device->in, event));
    node_t start = graph_add_pair(graph, event, ROW_NONE);
    if (lane == TUPLE_NONE || start == NODE_NONE)
        return error_memory(device->work->error);
    node_t last = lane == n_lanes ? NODE_NONE : device->last[lane], blocker = NODE_NONE;
    uint32_t before = last == NODE_NONE ? HUB_NONE : last / 2 - graph->n_cpu_pairs;
    if (device->has_hubs && !hubs_add_source(&graph->hubs, device_of(device, event), lane, before))
        return error_memory(device->work->error);
    TRY(add_edge(device, start, start + 1, EDGE_OPERATOR));
    if (device->blocked_by[event])
        blocker = event_end_node(graph, device->blocked_by[event] - 1);
    if (blocker != NODE_NONE && !may_wait(device, blocker, start))
        blocker = NODE_NONE;
    if (blocker != NODE_NONE)
        TRY(add_edge(device, blocker, start, EDGE_SYNC));
    TRY(add_delay(device, event, start, last, blocker));
    device->last[lane] = start + 1;
    return SUTRA_OK;
}

enum sutra_status gpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, const uint8_t *queue,
                                  const struct path_waits *waits, struct graph *graph) {
    struct gpu_graph device = {.work = work, .in = rows, .queue = queue, .waits = waits, .graph = graph};
    struct arena_mark mark = arena_mark(&work->scratch);
    graph->n_cpu_pairs = graph->n_pairs;
    enum sutra_status status = list_rows(&device, window);

    /* If event records matter, HTA casts all columns of these rows to integers. */
    for (row_t i = 0; i < device.n && waits->has_records && !work->rules.extended && !status; i++)
        if (!row_casts(work, device.rows[i]))
            status = stop_empty(work, "event %u has a field that is not a number, and the trace has event records",
                                device.rows[i]);
    for (row_t i = 0; i < device.n && !status; i++)
        status = category_has(rows, device.rows[i], CATEGORY_SYNC) ? add_sync_row(&device, device.rows[i])
                                                                   : add_kernel(&device, device.rows[i]);

    /* Number the hubs by device. By the extended rules, a hub does not wait for kernels that end after its call. */
    uint32_t n_sources = graph->hubs.n_sources;
    double *ends = NULL;
    if (!status && graph->hubs.n > 0 && work->rules.extended) {
        ends = arena_alloc(&work->scratch, n_sources, sizeof *ends);
        for (uint32_t i = 0; ends && i < n_sources; i++)
            ends[i] = time_of(&device, (graph->n_cpu_pairs + i) * 2 + 1);
        status = work_check_memory(work);
    }
    if (!status && graph->hubs.n > 0 && !graph_settle_hubs(graph, ends, &work->scratch))
        status = error_memory(work->error);
    tuples_free(&device.lanes);
    arena_release(&work->scratch, mark);
    return status;
}
