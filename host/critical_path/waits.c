/*
 * waits.c - which work an event record stands behind, and which launch a stream wait holds up.
 *
 *     stream 7   launch a   record E                   (by the CPU: calls, in the order of time)
 *     stream 8                          wait for E   launch b
 *
 * Whoever waits for E waits for a, the last launch on the record's stream at or before it; the wait holds up b, the next
 * launch on the waiting stream by the same thread. Launches and questions are both sorted by time; one sweep forwards
 * keeps the last launch of each stream, one backwards the next. Cost: the sorts, then O(n).
 */
#include "critical_path/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Launches sorted by time, or questions about them; lane: a number of stream and device, or stream and thread. */
struct moments {
    row_t *row;
    row_t n;
    uint64_t *keys;
    uint32_t *number; /* of a question: where its answer goes */
    uint32_t *lane;
};

static bool moments_alloc(struct moments *moments, row_t n) {
    size_t size = (size_t)n + 1;
    moments->row = malloc(size * sizeof *moments->row);
    moments->keys = malloc(size * sizeof *moments->keys);
    moments->number = malloc(size * sizeof *moments->number);
    moments->lane = malloc(size * sizeof *moments->lane);
    return moments->row && moments->keys && moments->number && moments->lane;
}

static void moments_free(struct moments *moments) {
    free(moments->row);
    free(moments->keys);
    free(moments->number);
    free(moments->lane);
}

static void moments_add(const struct analysis *analysis, struct moments *moments, row_t row) {
    moments->keys[moments->n] = (uint64_t)analysis->ts[row];
    moments->row[moments->n++] = row;
}

/* The row on a stream that a call caused, if that one is linked itself; else ROW_NONE. */
static row_t caused_by(const struct analysis *analysis, row_t call) {
    row_t caused = analysis->link[call];
    bool extended = analysis->rules.extended;
    if (caused == ROW_NONE || (caused == 0 && !extended) || !(analysis->state[caused] & ROW_FULL) ||
        !on_stream(analysis, caused))
        return ROW_NONE;
    row_t back = analysis->link[caused];
    return back == ROW_NONE || (back == 0 && !extended) ? ROW_NONE : caused;
}

static enum sutra_status gather_launches(struct analysis *analysis, struct moments *launches) {
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        if (name_has(analysis, event, NAME_LAUNCH) && caused_by(analysis, event) != ROW_NONE)
            moments_add(analysis, launches, event);
    }
    return sort_rows(analysis, launches->keys, launches->row, launches->n);
}

/* ---- Records ---- */

static struct tuple record_key(const struct analysis *analysis, const struct wait_row *wait) {
    if (!analysis->rules.extended)
        return (struct tuple){{wait->record}};
    return (struct tuple){{wait->record, wait->stream, analysis->events->pid[wait->event]}};
}

/* What waits for records: one entry each, with a row that stands for it in rows[]. */
static enum sutra_status gather_records(struct analysis *analysis, const struct wait_row **rows) {
    for (row_t i = 0; i < analysis->n_waits; i++) {
        const struct wait_row *wait = &analysis->waits[i];
        bool waits = analysis->rules.extended ? wait->stream != STREAM_NONE : wait->stream > STREAM_NONE;
        if (!(analysis->state[wait->event] & ROW_FULL) || !waits)
            continue;
        uint32_t n = analysis->records.n, number = tuples_number(&analysis->records, record_key(analysis, wait));
        if (number == TUPLE_NONE)
            return error_memory(analysis->error);
        if (number == n)
            rows[number] = wait;
        else if (rows[number]->stream != wait->stream ||
                 analysis->events->pid[rows[number]->event] != analysis->events->pid[wait->event])
            return stop_empty(analysis, "events %u and %u wait for one record from different streams",
                              rows[number]->event, wait->event);
    }
    return SUTRA_OK;
}

/* The calls that record, by correlation: *calls holds their rows by number. */
static enum sutra_status gather_record_calls(struct analysis *analysis, struct tuples *keys, row_t *calls) {
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        if (!name_has(analysis, event, NAME_RECORD_CALL))
            continue;
        uint32_t n = keys->n;
        uint32_t number = tuples_number(keys, (struct tuple){{analysis->events->correlation[event]}});
        if (number == TUPLE_NONE)
            return error_memory(analysis->error);
        if (number < n && !analysis->rules.extended)
            return stop_empty(analysis, "two records have the correlation of event %u", event);
        calls[number] = event;
    }
    return SUTRA_OK;
}

static uint32_t device_lane(const struct analysis *analysis, value_key stream, row_t event, struct tuples *lanes) {
    return tuples_number(lanes, (struct tuple){{stream, analysis->events->pid[event]}});
}

/* Numbers the streams of launches and questions. */
static enum sutra_status lay_record_lanes(struct analysis *analysis, struct moments *launches, struct moments *asked,
                                          const struct wait_row *const *rows, struct tuples *lanes) {
    bool ok = true;
    for (row_t i = 0; i < launches->n; i++) {
        row_t kernel = analysis->link[launches->row[i]];
        launches->lane[i] = device_lane(analysis, analysis->stream[kernel], kernel, lanes);
        ok &= launches->lane[i] != TUPLE_NONE;
    }
    for (row_t i = 0; i < asked->n; i++) {
        const struct wait_row *wait = rows[asked->number[i]];
        asked->lane[i] = device_lane(analysis, wait->stream, wait->event, lanes);
        ok &= asked->lane[i] != TUPLE_NONE;
    }
    return ok ? SUTRA_OK : error_memory(analysis->error);
}

/* Answers each question with the last launch at or before it on its lane. */
static enum sutra_status find_before(struct analysis *analysis, const struct moments *launches,
                                     const struct moments *asked, const row_t *order, uint32_t n_lanes) {
    row_t *last = malloc(((size_t)n_lanes + 1) * sizeof *last);
    if (!last)
        return error_memory(analysis->error);
    memset(last, 0xff, n_lanes * sizeof *last);
    row_t k = 0;
    for (row_t i = 0; i < asked->n; i++) {
        row_t question = order[i];
        for (; k < launches->n && analysis->ts[launches->row[k]] <= analysis->ts[asked->row[question]]; k++)
            last[launches->lane[k]] = launches->row[k];
        analysis->record_launch[asked->number[question]] = last[asked->lane[question]];
    }
    free(last);
    return SUTRA_OK;
}

/* A question for each record that something waits for. */
static void ask_records(const struct analysis *analysis, const struct tuples *keys, const row_t *calls,
                        struct moments *asked) {
    for (uint32_t record = 0; record < analysis->records.n; record++) {
        uint32_t call = tuples_find(keys, (struct tuple){{analysis->records.list[record].part[0]}});
        if (call == TUPLE_NONE)
            continue;
        asked->number[asked->n] = record;
        moments_add(analysis, asked, calls[call]);
    }
}

static enum sutra_status answer_records(struct analysis *analysis, struct moments *launches, struct moments *asked,
                                        const struct wait_row *const *rows) {
    struct tuples lanes = {0};
    row_t *order = malloc(((size_t)asked->n + 1) * sizeof *order);
    enum sutra_status status = order ? SUTRA_OK : error_memory(analysis->error);
    for (row_t i = 0; i < asked->n && !status; i++)
        order[i] = i;
    if (!status)
        status = sort_rows(analysis, asked->keys, order, asked->n);
    if (!status)
        status = lay_record_lanes(analysis, launches, asked, rows, &lanes);
    if (!status)
        status = find_before(analysis, launches, asked, order, lanes.n);
    free(order);
    tuples_free(&lanes);
    return status;
}

static row_t count_named(const struct analysis *analysis, uint32_t role) {
    row_t n = 0;
    for (row_t i = 0; i < analysis->n_full; i++)
        n += name_has(analysis, analysis->full[i], role);
    return n;
}

static enum sutra_status resolve_records(struct analysis *analysis, struct moments *launches) {
    if (!(analysis->roles_used & NAME_RECORD_CALL))
        return SUTRA_OK;
    const struct wait_row **rows = malloc(((size_t)analysis->n_waits + 1) * sizeof *rows);
    row_t *calls = malloc(((size_t)count_named(analysis, NAME_RECORD_CALL) + 1) * sizeof *calls);
    struct tuples keys = {0};
    struct moments asked = {0};
    analysis->record_launch = malloc(((size_t)analysis->n_waits + 1) * sizeof *analysis->record_launch);
    enum sutra_status status = SUTRA_OK;
    if (!rows || !calls || !analysis->record_launch || !moments_alloc(&asked, analysis->n_waits))
        status = error_memory(analysis->error);
    if (!status)
        status = gather_records(analysis, rows);
    if (!status && !analysis->outcome)
        status = gather_record_calls(analysis, &keys, calls);
    if (!status && !analysis->outcome) {
        memset(analysis->record_launch, 0xff, analysis->records.n * sizeof *analysis->record_launch);
        ask_records(analysis, &keys, calls, &asked);
        analysis->has_records = asked.n > 0;
    }
    if (!status && !analysis->outcome && analysis->has_records && analysis->rules.pandas3)
        status = stop_empty(analysis, "with pandas 3 the reference fails on event records");
    if (!status && !analysis->outcome && analysis->has_records)
        status = answer_records(analysis, launches, &asked, rows);
    free(rows);
    free(calls);
    tuples_free(&keys);
    moments_free(&asked);
    return status;
}

/* ---- Stream waits ---- */

static uint32_t thread_lane(const struct analysis *analysis, row_t call, struct tuples *lanes) {
    const struct device_events *events = analysis->events;
    row_t caused = analysis->link[call];
    value_key device = analysis->rules.extended ? events->pid[caused] : 0;
    return tuples_number(lanes, (struct tuple){{events->pid[call], events->tid[call], analysis->stream[caused], device}});
}

static enum sutra_status gather_wait_calls(struct analysis *analysis, struct moments *asked) {
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        if (!name_has(analysis, event, NAME_WAIT_CALL) || caused_by(analysis, event) == ROW_NONE)
            continue;
        if (tuples_number(&analysis->wait_calls, (struct tuple){{event}}) == TUPLE_NONE)
            return error_memory(analysis->error);
        moments_add(analysis, asked, event);
    }
    if (asked->n == 0 && !analysis->rules.extended)
        return stop_empty(analysis, "no cudaStreamWaitEvent is linked to a row on a stream");
    return sort_rows(analysis, asked->keys, asked->row, asked->n);
}

static enum sutra_status lay_wait_lanes(struct analysis *analysis, struct moments *moments, struct tuples *lanes) {
    for (row_t i = 0; i < moments->n; i++) {
        moments->lane[i] = thread_lane(analysis, moments->row[i], lanes);
        if (moments->lane[i] == TUPLE_NONE)
            return error_memory(analysis->error);
    }
    return SUTRA_OK;
}

/* Answers each question with the first launch after it on its lane. */
static enum sutra_status find_after(struct analysis *analysis, const struct moments *launches,
                                    const struct moments *asked, uint32_t n_lanes) {
    row_t *next = malloc(((size_t)n_lanes + 1) * sizeof *next);
    if (!next)
        return error_memory(analysis->error);
    memset(next, 0xff, n_lanes * sizeof *next);
    row_t k = launches->n;
    for (row_t i = asked->n; i-- > 0;) {
        for (; k > 0 && analysis->ts[launches->row[k - 1]] > analysis->ts[asked->row[i]]; k--)
            next[launches->lane[k - 1]] = launches->row[k - 1];
        analysis->wait_launch[waits_call(analysis, asked->row[i])] = next[asked->lane[i]];
    }
    free(next);
    return SUTRA_OK;
}

static enum sutra_status resolve_waits(struct analysis *analysis, struct moments *launches) {
    if (!(analysis->roles_used & NAME_WAIT_CALL) || !(analysis->roles_used & NAME_STREAM_WAIT))
        return SUTRA_OK;
    analysis->has_waits = true;
    if (analysis->rules.pandas3)
        return stop_empty(analysis, "with pandas 3 the reference fails on stream waits");
    struct moments asked = {0};
    struct tuples lanes = {0};
    row_t n = count_named(analysis, NAME_WAIT_CALL);
    analysis->wait_launch = malloc(((size_t)n + 1) * sizeof *analysis->wait_launch);
    enum sutra_status status = SUTRA_OK;
    if (!moments_alloc(&asked, n) || !analysis->wait_launch)
        status = error_memory(analysis->error);
    if (!status)
        status = gather_wait_calls(analysis, &asked);
    if (!status && !analysis->outcome)
        status = lay_wait_lanes(analysis, launches, &lanes);
    if (!status && !analysis->outcome)
        status = lay_wait_lanes(analysis, &asked, &lanes);
    if (!status && !analysis->outcome)
        status = find_after(analysis, launches, &asked, lanes.n);
    moments_free(&asked);
    tuples_free(&lanes);
    return status;
}

enum sutra_status waits_resolve(struct analysis *analysis) {
    if (!(analysis->roles_used & (NAME_RECORD_CALL | NAME_WAIT_CALL)))
        return SUTRA_OK;
    struct moments launches = {0};
    enum sutra_status status =
        moments_alloc(&launches, analysis->n_full) ? SUTRA_OK : error_memory(analysis->error);
    if (!status)
        status = gather_launches(analysis, &launches);
    if (!status)
        status = resolve_records(analysis, &launches);
    if (!status && !analysis->outcome)
        status = resolve_waits(analysis, &launches);
    moments_free(&launches);
    return status;
}

/* ---- Questions of others ---- */

static int compare_waits(const void *event, const void *wait) {
    row_t a = *(const row_t *)event, b = ((const struct wait_row *)wait)->event;
    return (a > b) - (a < b);
}

row_t waits_record_launch(const struct analysis *analysis, row_t event) {
    if (!analysis->has_records)
        return ROW_NONE;
    const struct wait_row *wait =
        bsearch(&event, analysis->waits, analysis->n_waits, sizeof *analysis->waits, compare_waits);
    struct wait_row none = {.event = event, .stream = STREAM_NONE, .record = -1};
    uint32_t record = tuples_find(&analysis->records, record_key(analysis, wait ? wait : &none));
    return record == TUPLE_NONE ? ROW_NONE : analysis->record_launch[record];
}

uint32_t waits_call(const struct analysis *analysis, row_t call) {
    return tuples_find(&analysis->wait_calls, (struct tuple){{call}});
}
