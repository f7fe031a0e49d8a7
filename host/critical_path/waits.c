/*
 * waits.c - which work an event record stands behind, and which launch a stream wait holds up.
 *
 *     stream 7   launch a   record E                   (by the CPU: calls, in the order of time)
 *     stream 8                          wait for E   launch b
 *
 * Whoever waits for E waits for a, the last launch on the record's stream at or before it; the wait holds up b, the
 * next launch on the waiting stream by the same thread. Launches are sorted by time, and the engine finds each
 * question's neighbours among those on its lane.
 */
#include "critical_path/waits.h"

#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"

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

row_t waits_record_launch(const struct path_work *work, const struct path_rows *rows, const struct path_waits *waits,
                          row_t event) {
    if (!waits->has_records)
        return ROW_NONE;
    const struct wait_row *wait = bsearch(&event, rows->waits, rows->n_waits, sizeof *rows->waits, compare_waits);
    struct wait_row none = {.event = event, .stream = STREAM_NONE, .record = -1};
    uint32_t record = tuples_find(&waits->records, record_key(work, wait ? wait : &none));
    return record == TUPLE_NONE ? ROW_NONE : waits->record_launch[record];
}

uint32_t waits_call(const struct path_waits *waits, row_t call) {
    return tuples_find(&waits->wait_calls, (struct tuple){{call}});
}
