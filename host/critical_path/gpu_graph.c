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
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "critical_path/path.h"
#include "facts/launches.h"
#include "match/key_index.h"

/*
 * What is known about the queue of a stream at a launch or a kernel: bits of one byte for each event.
 */

enum queue_bit {
    QUEUE_SEEN = 1,       /* the row has a queue length */
    QUEUE_ONE = 2,        /* the length is 1 just behind this row */
    QUEUE_ZERO = 4,       /* the length is 0 just behind this row */
    QUEUE_LAUNCH_ONE = 8, /* at a kernel: the length was 1 just behind its launch */
};

/*
 * How many kernels wait on each stream, just behind each launch and each kernel's start.
 *
 * Only two things are asked later: whether a launch found the stream idle, and whether its kernel left it empty, so two
 * bits of each row are kept (facts/queues.h has the lengths). Each kernel has a launch here, by correlation, and a
 * launch may have several kernels:
 *
 *     launches     a     b     c                    in the order of the rows
 *     kernels      a1    c1    a2   c2              in that order, too
 *     changes      a     a     c    c   a1 c1 a2 c2     a launch for each of its kernels, then the kernels' starts
 *
 * Cost: two sorts of launches and kernels, O(n) else.
 */

struct launches {
    row_t *row, n;
    row_t *n_kernels;       /* of each */
    struct key_index index; /* correlation -> launch */
};

/* Rows on a stream whose correlation a launch has. */
struct launched_rows {
    row_t *row, n;
    row_t *launch;  /* of each, its number */
    uint32_t *lane; /* and the number of its stream */
    struct tuples lanes;
};

static bool is_launch(const struct path_work *work, const struct path_rows *rows, row_t event) {
    row_t link = rows->link[event];
    if (!name_has(rows, event, NAME_LAUNCH) || link == ROW_NONE)
        return false;
    return work->rules.extended ? !(rows->state[event] & ROW_GPU) : link > 0;
}

static enum sutra_status find_launches(struct path_work *work, const struct path_rows *rows,
                                       struct launches *launches) {
    value_key *keys = arena_take(&work->scratch, rows->n, sizeof *keys);
    launches->row = arena_take(&work->scratch, rows->n, sizeof *launches->row);
    launches->n_kernels = arena_zeros(&work->scratch, rows->n, sizeof *launches->n_kernels);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++)
        if (is_launch(work, rows, rows->list[i])) {
            keys[launches->n] = work->events->correlation[rows->list[i]];
            launches->row[launches->n++] = rows->list[i];
        }
    row_t second = ROW_NONE;
    if (!status)
        status = key_index_build(&launches->index, work->engine, keys, launches->n, KEY_LAST, &second, work->error);
    if (status || work->rules.extended)
        return status;
    if (launches->n == 0)
        return stop_crash(work, "no launch has a kernel");
    if (second != ROW_NONE)
        return stop_crash(work, "two launches have the correlation of event %u", launches->row[second]);
    return SUTRA_OK;
}

static enum sutra_status find_kernels(struct path_work *work, const struct path_rows *rows, struct launches *launches,
                                      struct launched_rows *kernels) {
    kernels->row = arena_take(&work->scratch, rows->n, sizeof *kernels->row);
    kernels->launch = arena_take(&work->scratch, rows->n, sizeof *kernels->launch);
    kernels->lane = arena_take(&work->scratch, rows->n, sizeof *kernels->lane);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++) {
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
    return status;
}

/* The reference wants as many launches as kernels, and can look up no row twice. */
static enum sutra_status check_counts(const struct path_work *work, const struct path_rows *rows,
                                      const struct launches *launches) {
    if (work->rules.extended)
        return SUTRA_OK;
    for (row_t i = 0; i < launches->n; i++)
        if (launches->n_kernels[i] == 0)
            return stop_crash(work, "the launch at event %u has no kernel on a stream", launches->row[i]);
    for (row_t i = 0; i < launches->n; i++)
        if (launches->n_kernels[i] > 1 || on_stream(rows, launches->row[i]))
            return stop_empty(work, "several kernels have the correlation of event %u", launches->row[i]);
    return SUTRA_OK;
}

/* kernel_of[i] = the kernel whose start or launch change i is. `next` is where each launch goes on. */
static void list_changes(const struct launches *launches, const struct launched_rows *kernels, row_t *next,
                         row_t *kernel_of) {
    row_t n = 0;
    for (row_t i = 0; i < launches->n; i++) {
        next[i] = n;
        n += launches->n_kernels[i];
    }
    for (row_t kernel = 0; kernel < kernels->n; kernel++) {
        kernel_of[next[kernels->launch[kernel]]++] = kernel;
        kernel_of[kernels->n + kernel] = kernel;
    }
}

/* The row of a change. */
static row_t row_of(const struct launches *launches, const struct launched_rows *kernels, row_t change, row_t kernel) {
    return change < kernels->n ? launches->row[kernels->launch[kernel]] : kernels->row[kernel];
}

static struct queue_lengths lengths_take(struct arena *arena, row_t n) {
    return (struct queue_lengths){.change = arena_take(arena, n, sizeof(row_t)),
                                  .lane = arena_take(arena, n, sizeof(uint32_t)),
                                  .length = arena_take(arena, n, sizeof(uint32_t))};
}

static enum sutra_status measure(struct path_work *work, const struct path_rows *rows, const struct launches *launches,
                                 const struct launched_rows *kernels, uint8_t *queue) {
    row_t n = 2 * kernels->n;
    struct arena *scratch = &work->scratch;
    row_t *next = arena_take(scratch, launches->n, sizeof *next);
    row_t *kernel_of = arena_take(scratch, n, sizeof *kernel_of);
    uint64_t *time = arena_take(scratch, n, sizeof *time), *stream = arena_take(scratch, n, sizeof *stream);
    uint8_t *up = arena_take(scratch, n, sizeof *up);
    struct queue_lengths series = lengths_take(scratch, n);
    enum sutra_status status = work_taken(work);
    if (!status)
        list_changes(launches, kernels, next, kernel_of);
    for (row_t i = 0; i < n && !status; i++) {
        stream[i] = kernels->lane[kernel_of[i]];
        time[i] = (uint64_t)rows->ts[row_of(launches, kernels, i, kernel_of[i])];
        up[i] = i < kernels->n;
    }
    const struct queue_changes changes = {n, time, stream, up};
    if (!status)
        status = queues_measure(&changes, work->engine, scratch, &series, work->error);
    for (row_t i = 0; i < n && !status; i++) {
        row_t change = series.change[i], kernel = kernel_of[change], event = row_of(launches, kernels, change, kernel);
        bool one = series.length[i] == 1, zero = series.length[i] == 0;
        queue[event] |= (uint8_t)(QUEUE_SEEN | (one ? QUEUE_ONE : 0) | (zero ? QUEUE_ZERO : 0));
        if (up[change] && one)
            queue[kernels->row[kernel]] |= QUEUE_LAUNCH_ONE;
    }
    return status;
}

enum sutra_status queue_measure(struct path_work *work, const struct path_rows *rows, uint8_t *queue) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct launches launches = {0};
    struct launched_rows kernels = {0};
    enum sutra_status status = find_launches(work, rows, &launches);
    if (!status)
        status = find_kernels(work, rows, &launches, &kernels);
    if (!status)
        status = check_counts(work, rows, &launches);
    if (!status && kernels.n > ROW_LIMIT / 2)
        status = error_set(work->error, SUTRA_DATA, "more than %u kernels: cut the trace", ROW_LIMIT / 2);
    if (!status)
        status = measure(work, rows, &launches, &kernels, queue);
    key_index_free(&launches.index);
    tuples_free(&kernels.lanes);
    arena_release(&work->scratch, mark);
    return status;
}

static uint32_t waits_call(const struct path_waits *waits, row_t call);

/*
 * Which work an event record stands behind, and which launch a stream wait holds up.
 *
 *     stream 7   launch a   record E                   (by the CPU: calls, in the order of time)
 *     stream 8                          wait for E   launch b
 *
 * Whoever waits for E waits for a, the last launch on the record's stream at or before it; the wait holds up b, the
 * next launch on the waiting stream by the same thread. Launches are sorted by time, and the engine finds each
 * question's neighbours among those on its lane.
 */

/* Launches sorted by time, or questions about them; lane: a number of stream and device, or stream and thread. */
struct moment_list {
    row_t *row;
    row_t n;
    uint64_t *keys;   /* times */
    uint32_t *number; /* of a question: where its answer goes */
    uint32_t *lane;
    row_t *found; /* of a question: which of the launches */
};

static struct moment_list moment_list_take(struct arena *arena, row_t n) {
    return (struct moment_list){.row = arena_take(arena, n, sizeof(row_t)),
                                .keys = arena_take(arena, n, sizeof(uint64_t)),
                                .number = arena_take(arena, n, sizeof(uint32_t)),
                                .lane = arena_take(arena, n, sizeof(uint32_t)),
                                .found = arena_take(arena, n, sizeof(row_t))};
}

/* Launches that are sorted by time, for the engine. */
static struct lane_items as_items(const struct moment_list *launches, uint32_t n_lanes) {
    return (struct lane_items){launches->n, n_lanes, launches->lane, launches->keys};
}

static void moment_list_add(const struct path_rows *rows, struct moment_list *moments, row_t row) {
    moments->keys[moments->n] = (uint64_t)rows->ts[row];
    moments->row[moments->n++] = row;
}

/* The row on a stream that a call caused, if that one is linked itself; else ROW_NONE. */
static row_t caused_by(const struct path_work *work, const struct path_rows *rows, row_t call) {
    row_t caused = rows->link[call];
    bool extended = work->rules.extended;
    if (caused == ROW_NONE || (caused == 0 && !extended) || !(rows->state[caused] & ROW_FULL) ||
        !on_stream(rows, caused))
        return ROW_NONE;
    row_t back = rows->link[caused];
    return back == ROW_NONE || (back == 0 && !extended) ? ROW_NONE : caused;
}

static enum sutra_status gather_launches(const struct path_work *work, const struct path_rows *rows,
                                         struct moment_list *launches) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (name_has(rows, event, NAME_LAUNCH) && caused_by(work, rows, event) != ROW_NONE)
            moment_list_add(rows, launches, event);
    }
    return work_sort(work, launches->keys, launches->row, launches->n);
}

/* ---- Records ---- */

static struct tuple record_key(const struct path_work *work, const struct wait_row *wait) {
    if (!work->rules.extended)
        return (struct tuple){{wait->record}};
    return (struct tuple){{wait->record, wait->stream, work->events->pid[wait->event]}};
}

/* What waits for records: one entry each, with a row that stands for it in asking[]. */
static enum sutra_status gather_records(const struct path_work *work, const struct path_rows *rows,
                                        struct path_waits *waits, struct wait_row *asking) {
    for (row_t i = 0; i < rows->n_waits; i++) {
        const struct wait_row *wait = &rows->waits[i];
        bool asks = work->rules.extended ? wait->stream != STREAM_NONE : wait->stream > STREAM_NONE;
        if (!(rows->state[wait->event] & ROW_FULL) || !asks)
            continue;
        uint32_t n = waits->records.n, number = tuples_number(&waits->records, record_key(work, wait));
        if (number == TUPLE_NONE)
            return error_memory(work->error);
        if (number == n)
            asking[number] = *wait;
        else if (asking[number].stream != wait->stream ||
                 work->events->pid[asking[number].event] != work->events->pid[wait->event])
            return stop_empty(work, "events %u and %u wait for one record from different streams", asking[number].event,
                              wait->event);
    }
    return SUTRA_OK;
}

/* The calls that record, by correlation: *calls holds their rows by number. */
static enum sutra_status gather_record_calls(const struct path_work *work, const struct path_rows *rows,
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

static uint32_t device_lane(const struct path_work *work, value_key stream, row_t event, struct tuples *lanes) {
    return tuples_number(lanes, (struct tuple){{stream, work->events->pid[event]}});
}

/* Numbers the streams of launches and questions. */
static enum sutra_status lay_record_lanes(const struct path_work *work, const struct path_rows *rows,
                                          const struct wait_row *asking, struct moment_list *launches,
                                          struct moment_list *asked, struct tuples *lanes) {
    bool ok = true;
    for (row_t i = 0; i < launches->n; i++) {
        row_t kernel = rows->link[launches->row[i]];
        launches->lane[i] = device_lane(work, rows->stream[kernel], kernel, lanes);
        ok &= launches->lane[i] != TUPLE_NONE;
    }
    for (row_t i = 0; i < asked->n; i++) {
        const struct wait_row *wait = &asking[asked->number[i]];
        asked->lane[i] = device_lane(work, wait->stream, wait->event, lanes);
        ok &= asked->lane[i] != TUPLE_NONE;
    }
    return ok ? SUTRA_OK : error_memory(work->error);
}

/* Answers each question with the last launch at or before it on its lane. */
static enum sutra_status find_before(const struct path_work *work, const struct moment_list *launches,
                                     const struct moment_list *asked, uint32_t n_lanes, row_t *record_launch) {
    struct lane_items items = as_items(launches, n_lanes);
    struct lane_neighbours_step step = {&items, asked->lane, asked->keys, asked->n, asked->found, NULL};
    enum sutra_status status = work->engine->lane_neighbours(work->engine->state, &step, work->error);
    for (row_t i = 0; i < asked->n && !status; i++)
        if (asked->found[i] != ROW_NONE)
            record_launch[asked->number[i]] = launches->row[asked->found[i]];
    return status;
}

/* A question for each record that something waits for. */
static void ask_records(const struct path_rows *rows, const struct tuples *records, const struct tuples *keys,
                        const row_t *calls, struct moment_list *asked) {
    for (uint32_t record = 0; record < records->n; record++) {
        uint32_t call = tuples_find(keys, (struct tuple){{records->list[record].part[0]}});
        if (call == TUPLE_NONE)
            continue;
        asked->number[asked->n] = record;
        moment_list_add(rows, asked, calls[call]);
    }
}

static enum sutra_status answer_records(const struct path_work *work, const struct path_rows *rows,
                                        const struct wait_row *asking, struct moment_list *launches,
                                        struct moment_list *asked, row_t *record_launch) {
    struct tuples lanes = {0};
    enum sutra_status status = lay_record_lanes(work, rows, asking, launches, asked, &lanes);
    if (!status)
        status = find_before(work, launches, asked, lanes.n, record_launch);
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
                                         struct moment_list *launches, struct path_waits *waits) {
    if (!(rows->used.name & NAME_RECORD_CALL))
        return SUTRA_OK;
    struct arena *arena = &work->scratch;
    struct tuples keys = {0};
    struct wait_row *asking = arena_zeros(arena, rows->n_waits, sizeof *asking);
    row_t *calls = arena_take(arena, count_named(rows, NAME_RECORD_CALL), sizeof *calls);
    struct moment_list asked = moment_list_take(arena, rows->n_waits);
    waits->record_launch = rows_none(arena, rows->n_waits);
    enum sutra_status status = work_taken(work);
    if (!status)
        status = gather_records(work, rows, waits, asking);
    if (!status)
        status = gather_record_calls(work, rows, &keys, calls);
    if (!status) {
        ask_records(rows, &waits->records, &keys, calls, &asked);
        waits->has_records = asked.n > 0;
    }
    if (!status && waits->has_records && work->rules.pandas3)
        status = stop_empty(work, "with pandas 3, HTA fails on event records");
    if (!status && waits->has_records)
        status = answer_records(work, rows, asking, launches, &asked, waits->record_launch);
    tuples_free(&keys);
    return status;
}

/* ---- Stream waits ---- */

static uint32_t thread_lane(const struct path_work *work, const struct path_rows *rows, row_t call,
                            struct tuples *lanes) {
    const struct device_events *events = work->events;
    struct tuple stream = stream_of(work, rows, rows->link[call]);
    return tuples_number(lanes, (struct tuple){{events->pid[call], events->tid[call], stream.part[0], stream.part[1]}});
}

static enum sutra_status gather_wait_calls(const struct path_work *work, const struct path_rows *rows,
                                           struct tuples *calls, struct moment_list *asked) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!name_has(rows, event, NAME_WAIT_CALL) || caused_by(work, rows, event) == ROW_NONE)
            continue;
        if (tuples_number(calls, (struct tuple){{event}}) == TUPLE_NONE)
            return error_memory(work->error);
        moment_list_add(rows, asked, event);
    }
    if (asked->n == 0 && !work->rules.extended)
        return stop_empty(work, "no cudaStreamWaitEvent is linked to an event on a stream");
    return SUTRA_OK;
}

static enum sutra_status lay_wait_lanes(const struct path_work *work, const struct path_rows *rows,
                                        struct moment_list *moments, struct tuples *lanes) {
    for (row_t i = 0; i < moments->n; i++) {
        moments->lane[i] = thread_lane(work, rows, moments->row[i], lanes);
        if (moments->lane[i] == TUPLE_NONE)
            return error_memory(work->error);
    }
    return SUTRA_OK;
}

/* Answers each question with the first launch after it on its lane. */
static enum sutra_status find_after(const struct path_work *work, const struct moment_list *launches,
                                    const struct moment_list *asked, uint32_t n_lanes, struct path_waits *waits) {
    struct lane_items items = as_items(launches, n_lanes);
    struct lane_neighbours_step step = {&items, asked->lane, asked->keys, asked->n, NULL, asked->found};
    enum sutra_status status = work->engine->lane_neighbours(work->engine->state, &step, work->error);
    for (row_t i = 0; i < asked->n && !status; i++)
        waits->wait_launch[waits_call(waits, asked->row[i])] =
            asked->found[i] == ROW_NONE ? ROW_NONE : launches->row[asked->found[i]];
    return status;
}

static enum sutra_status resolve_waits(struct path_work *work, const struct path_rows *rows,
                                       struct moment_list *launches, struct path_waits *waits) {
    if (!(rows->used.name & NAME_WAIT_CALL) || !(rows->used.name & NAME_STREAM_WAIT))
        return SUTRA_OK;
    waits->has_waits = true;
    if (work->rules.pandas3)
        return stop_empty(work, "with pandas 3, HTA fails on stream waits");
    struct tuples lanes = {0};
    row_t n = count_named(rows, NAME_WAIT_CALL);
    waits->wait_launch = arena_take(&work->scratch, n, sizeof *waits->wait_launch);
    struct moment_list asked = moment_list_take(&work->scratch, n);
    enum sutra_status status = work_taken(work);
    if (!status)
        status = gather_wait_calls(work, rows, &waits->wait_calls, &asked);
    if (!status)
        status = lay_wait_lanes(work, rows, launches, &lanes);
    if (!status)
        status = lay_wait_lanes(work, rows, &asked, &lanes);
    if (!status)
        status = find_after(work, launches, &asked, lanes.n, waits);
    tuples_free(&lanes);
    return status;
}

enum sutra_status waits_resolve(struct path_work *work, const struct path_rows *rows, struct path_waits *waits) {
    if (!(rows->used.name & (NAME_RECORD_CALL | NAME_WAIT_CALL)))
        return SUTRA_OK;
    struct moment_list launches = moment_list_take(&work->scratch, rows->n);
    enum sutra_status status = work_taken(work);
    if (!status)
        status = gather_launches(work, rows, &launches);
    if (!status)
        status = resolve_records(work, rows, &launches, waits);
    if (!status)
        status = resolve_waits(work, rows, &launches, waits);
    return status;
}

/* ---- Questions of others ---- */

static int compare_waits(const void *event, const void *wait) {
    row_t a = *(const row_t *)event, b = ((const struct wait_row *)wait)->event;
    return (a > b) - (a < b);
}

/* The launch that the record had before it which this row waits for, or ROW_NONE. */
static row_t waits_record_launch(const struct path_work *work, const struct path_rows *rows,
                                 const struct path_waits *waits, row_t event) {
    if (!waits->has_records)
        return ROW_NONE;
    const struct wait_row *wait = bsearch(&event, rows->waits, rows->n_waits, sizeof *rows->waits, compare_waits);
    struct wait_row none = {.event = event, .stream = STREAM_NONE, .record = -1};
    uint32_t record = tuples_find(&waits->records, record_key(work, wait ? wait : &none));
    return record == TUPLE_NONE ? ROW_NONE : waits->record_launch[record];
}

/* The number of a call that makes a stream wait (see path_waits), or TUPLE_NONE. */
static uint32_t waits_call(const struct path_waits *waits, row_t call) {
    return tuples_find(&waits->wait_calls, (struct tuple){{call}});
}

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
    return call == ROW_NONE ? NODE_NONE : event_end_node(device->graph, call);
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
    node_t from = event_end_node(device->graph, source);
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
    node_t launch = link == ROW_NONE ? NODE_NONE : event_start_node(device->graph, link);
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
        holder = event_end_node(device->graph, device->held[event] - 1);
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
