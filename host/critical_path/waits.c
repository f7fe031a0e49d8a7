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
#include <string.h>

#include "base/error.h"

/* Launches sorted by time, or questions about them; lane: a number of stream and device, or stream and thread. */
struct moment_list {
    row_t *row;
    row_t n;
    uint64_t *keys;   /* times */
    uint32_t *number; /* of a question: where its answer goes */
    uint32_t *lane;
    row_t *found; /* of a question: the place of a launch */
};

static bool moment_list_alloc(struct moment_list *moments, row_t n) {
    size_t size = (size_t)n + 1;
    moments->row = malloc(size * sizeof *moments->row);
    moments->keys = malloc(size * sizeof *moments->keys);
    moments->number = malloc(size * sizeof *moments->number);
    moments->lane = malloc(size * sizeof *moments->lane);
    moments->found = malloc(size * sizeof *moments->found);
    return moments->row && moments->keys && moments->number && moments->lane && moments->found;
}

static void moment_list_free(struct moment_list *moments) {
    free(moments->row);
    free(moments->keys);
    free(moments->number);
    free(moments->lane);
    free(moments->found);
}

/* Launches that are sorted by time, for the engine. */
static struct lane_items as_items(const struct moment_list *launches, uint32_t n_lanes) {
    return (struct lane_items){launches->n, n_lanes, launches->lane, launches->keys};
}

static void moment_list_add(const struct path_search *search, struct moment_list *moments, row_t row) {
    moments->keys[moments->n] = (uint64_t)search->ts[row];
    moments->row[moments->n++] = row;
}

/* The row on a stream that a call caused, if that one is linked itself; else ROW_NONE. */
static row_t caused_by(const struct path_search *search, row_t call) {
    row_t caused = search->link[call];
    bool extended = search->rules.extended;
    if (caused == ROW_NONE || (caused == 0 && !extended) || !(search->state[caused] & ROW_FULL) ||
        !on_stream(search, caused))
        return ROW_NONE;
    row_t back = search->link[caused];
    return back == ROW_NONE || (back == 0 && !extended) ? ROW_NONE : caused;
}

static enum sutra_status gather_launches(struct path_search *search, struct moment_list *launches) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (name_has(search, event, NAME_LAUNCH) && caused_by(search, event) != ROW_NONE)
            moment_list_add(search, launches, event);
    }
    return search_sort(search, launches->keys, launches->row, launches->n);
}

/* ---- Records ---- */

static struct tuple record_key(const struct path_search *search, const struct wait_row *wait) {
    if (!search->rules.extended)
        return (struct tuple){{wait->record}};
    return (struct tuple){{wait->record, wait->stream, search->events->pid[wait->event]}};
}

/* What waits for records: one entry each, with a row that stands for it in rows[]. */
static enum sutra_status gather_records(struct path_search *search, struct wait_row *rows) {
    for (row_t i = 0; i < search->n_waits; i++) {
        const struct wait_row *wait = &search->waits[i];
        bool waits = search->rules.extended ? wait->stream != STREAM_NONE : wait->stream > STREAM_NONE;
        if (!(search->state[wait->event] & ROW_FULL) || !waits)
            continue;
        uint32_t n = search->records.n, number = tuples_number(&search->records, record_key(search, wait));
        if (number == TUPLE_NONE)
            return error_memory(search->error);
        if (number == n)
            rows[number] = *wait;
        else if (rows[number].stream != wait->stream ||
                 search->events->pid[rows[number].event] != search->events->pid[wait->event])
            return stop_empty(search, "events %u and %u wait for one record from different streams", rows[number].event,
                              wait->event);
    }
    return SUTRA_OK;
}

/* The calls that record, by correlation: *calls holds their rows by number. */
static enum sutra_status gather_record_calls(struct path_search *search, struct tuples *keys, row_t *calls) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (!name_has(search, event, NAME_RECORD_CALL))
            continue;
        uint32_t n = keys->n;
        uint32_t number = tuples_number(keys, (struct tuple){{search->events->correlation[event]}});
        if (number == TUPLE_NONE)
            return error_memory(search->error);
        if (number < n && !search->rules.extended)
            return stop_empty(search, "two records have the correlation of event %u", event);
        calls[number] = event;
    }
    return SUTRA_OK;
}

static uint32_t device_lane(const struct path_search *search, value_key stream, row_t event, struct tuples *lanes) {
    return tuples_number(lanes, (struct tuple){{stream, search->events->pid[event]}});
}

/* Numbers the streams of launches and questions. */
static enum sutra_status lay_record_lanes(struct path_search *search, struct moment_list *launches,
                                          struct moment_list *asked, const struct wait_row *rows,
                                          struct tuples *lanes) {
    bool ok = true;
    for (row_t i = 0; i < launches->n; i++) {
        row_t kernel = search->link[launches->row[i]];
        launches->lane[i] = device_lane(search, search->stream[kernel], kernel, lanes);
        ok &= launches->lane[i] != TUPLE_NONE;
    }
    for (row_t i = 0; i < asked->n; i++) {
        const struct wait_row *wait = &rows[asked->number[i]];
        asked->lane[i] = device_lane(search, wait->stream, wait->event, lanes);
        ok &= asked->lane[i] != TUPLE_NONE;
    }
    return ok ? SUTRA_OK : error_memory(search->error);
}

/* Answers each question with the last launch at or before it on its lane. */
static enum sutra_status find_before(struct path_search *search, const struct moment_list *launches,
                                     const struct moment_list *asked, uint32_t n_lanes) {
    const struct engine *engine = &search->context->engine;
    struct lane_items items = as_items(launches, n_lanes);
    struct lane_neighbours_step step = {&items, asked->lane, asked->keys, asked->n, asked->found, NULL};
    enum sutra_status status = engine->lane_neighbours(engine->state, &step, search->error);
    for (row_t i = 0; i < asked->n && !status; i++)
        if (asked->found[i] != ROW_NONE)
            search->record_launch[asked->number[i]] = launches->row[asked->found[i]];
    return status;
}

/* A question for each record that something waits for. */
static void ask_records(const struct path_search *search, const struct tuples *keys, const row_t *calls,
                        struct moment_list *asked) {
    for (uint32_t record = 0; record < search->records.n; record++) {
        uint32_t call = tuples_find(keys, (struct tuple){{search->records.list[record].part[0]}});
        if (call == TUPLE_NONE)
            continue;
        asked->number[asked->n] = record;
        moment_list_add(search, asked, calls[call]);
    }
}

static enum sutra_status answer_records(struct path_search *search, struct moment_list *launches,
                                        struct moment_list *asked, const struct wait_row *rows) {
    struct tuples lanes = {0};
    enum sutra_status status = lay_record_lanes(search, launches, asked, rows, &lanes);
    if (!status)
        status = find_before(search, launches, asked, lanes.n);
    tuples_free(&lanes);
    return status;
}

static row_t count_named(const struct path_search *search, uint32_t role) {
    row_t n = 0;
    for (row_t i = 0; i < search->n_full; i++)
        n += name_has(search, search->full[i], role);
    return n;
}

static enum sutra_status resolve_records(struct path_search *search, struct moment_list *launches) {
    if (!(search->roles_used.name & NAME_RECORD_CALL))
        return SUTRA_OK;
    struct wait_row *rows = calloc((size_t)search->n_waits + 1, sizeof *rows);
    row_t *calls = malloc(((size_t)count_named(search, NAME_RECORD_CALL) + 1) * sizeof *calls);
    struct tuples keys = {0};
    struct moment_list asked = {0};
    search->record_launch = malloc(((size_t)search->n_waits + 1) * sizeof *search->record_launch);
    enum sutra_status status = SUTRA_OK;
    if (!rows || !calls || !search->record_launch || !moment_list_alloc(&asked, search->n_waits))
        status = error_memory(search->error);
    if (!status)
        status = gather_records(search, rows);
    if (!status && !search->outcome)
        status = gather_record_calls(search, &keys, calls);
    if (!status && !search->outcome) {
        memset(search->record_launch, 0xff, search->records.n * sizeof *search->record_launch);
        ask_records(search, &keys, calls, &asked);
        search->has_records = asked.n > 0;
    }
    if (!status && !search->outcome && search->has_records && search->rules.pandas3)
        status = stop_empty(search, "with pandas 3 the reference fails on event records");
    if (!status && !search->outcome && search->has_records)
        status = answer_records(search, launches, &asked, rows);
    free(rows);
    free(calls);
    tuples_free(&keys);
    moment_list_free(&asked);
    return status;
}

/* ---- Stream waits ---- */

static uint32_t thread_lane(const struct path_search *search, row_t call, struct tuples *lanes) {
    const struct device_events *events = search->events;
    row_t caused = search->link[call];
    value_key device = search->rules.extended ? events->pid[caused] : 0;
    return tuples_number(lanes, (struct tuple){{events->pid[call], events->tid[call], search->stream[caused], device}});
}

static enum sutra_status gather_wait_calls(struct path_search *search, struct moment_list *asked) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (!name_has(search, event, NAME_WAIT_CALL) || caused_by(search, event) == ROW_NONE)
            continue;
        if (tuples_number(&search->wait_calls, (struct tuple){{event}}) == TUPLE_NONE)
            return error_memory(search->error);
        moment_list_add(search, asked, event);
    }
    if (asked->n == 0 && !search->rules.extended)
        return stop_empty(search, "no cudaStreamWaitEvent is linked to a row on a stream");
    return SUTRA_OK;
}

static enum sutra_status lay_wait_lanes(struct path_search *search, struct moment_list *moments, struct tuples *lanes) {
    for (row_t i = 0; i < moments->n; i++) {
        moments->lane[i] = thread_lane(search, moments->row[i], lanes);
        if (moments->lane[i] == TUPLE_NONE)
            return error_memory(search->error);
    }
    return SUTRA_OK;
}

/* Answers each question with the first launch after it on its lane. */
static enum sutra_status find_after(struct path_search *search, const struct moment_list *launches,
                                    const struct moment_list *asked, uint32_t n_lanes) {
    const struct engine *engine = &search->context->engine;
    struct lane_items items = as_items(launches, n_lanes);
    struct lane_neighbours_step step = {&items, asked->lane, asked->keys, asked->n, NULL, asked->found};
    enum sutra_status status = engine->lane_neighbours(engine->state, &step, search->error);
    for (row_t i = 0; i < asked->n && !status; i++)
        search->wait_launch[waits_call(search, asked->row[i])] =
            asked->found[i] == ROW_NONE ? ROW_NONE : launches->row[asked->found[i]];
    return status;
}

static enum sutra_status resolve_waits(struct path_search *search, struct moment_list *launches) {
    if (!(search->roles_used.name & NAME_WAIT_CALL) || !(search->roles_used.name & NAME_STREAM_WAIT))
        return SUTRA_OK;
    search->has_waits = true;
    if (search->rules.pandas3)
        return stop_empty(search, "with pandas 3 the reference fails on stream waits");
    struct moment_list asked = {0};
    struct tuples lanes = {0};
    row_t n = count_named(search, NAME_WAIT_CALL);
    search->wait_launch = malloc(((size_t)n + 1) * sizeof *search->wait_launch);
    enum sutra_status status = SUTRA_OK;
    if (!moment_list_alloc(&asked, n) || !search->wait_launch)
        status = error_memory(search->error);
    if (!status)
        status = gather_wait_calls(search, &asked);
    if (!status && !search->outcome)
        status = lay_wait_lanes(search, launches, &lanes);
    if (!status && !search->outcome)
        status = lay_wait_lanes(search, &asked, &lanes);
    if (!status && !search->outcome)
        status = find_after(search, launches, &asked, lanes.n);
    moment_list_free(&asked);
    tuples_free(&lanes);
    return status;
}

enum sutra_status waits_resolve(struct path_search *search) {
    if (!(search->roles_used.name & (NAME_RECORD_CALL | NAME_WAIT_CALL)))
        return SUTRA_OK;
    struct moment_list launches = {0};
    enum sutra_status status = moment_list_alloc(&launches, search->n_full) ? SUTRA_OK : error_memory(search->error);
    if (!status)
        status = gather_launches(search, &launches);
    if (!status)
        status = resolve_records(search, &launches);
    if (!status && !search->outcome)
        status = resolve_waits(search, &launches);
    moment_list_free(&launches);
    return status;
}

/* ---- Questions of others ---- */

static int compare_waits(const void *event, const void *wait) {
    row_t a = *(const row_t *)event, b = ((const struct wait_row *)wait)->event;
    return (a > b) - (a < b);
}

row_t waits_record_launch(const struct path_search *search, row_t event) {
    if (!search->has_records)
        return ROW_NONE;
    const struct wait_row *wait = bsearch(&event, search->waits, search->n_waits, sizeof *search->waits, compare_waits);
    struct wait_row none = {.event = event, .stream = STREAM_NONE, .record = -1};
    uint32_t record = tuples_find(&search->records, record_key(search, wait ? wait : &none));
    return record == TUPLE_NONE ? ROW_NONE : search->record_launch[record];
}

uint32_t waits_call(const struct path_search *search, row_t call) {
    return tuples_find(&search->wait_calls, (struct tuple){{call}});
}
