/*
 * call_events.c - which call started which work on the device, by our rules: the last call with the work's correlation;
 * for work whose correlation no call has, or that has none, the call at which an arrow (ac2g) begins that ends at the
 * work. In come events, out go events, so that this needs no rows of the host. O(n), in expectation, beside the join.
 */
#include "analyze/operators/reading.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/pair_table.h"
#include "facts/correlation.h"
#include "facts/threads.h"

struct call_search {
    struct sutra_context *context;
    struct op_reading *reading;
    const struct exact_times *times;
    const struct event_lists *lists;
    struct arena *scratch;
    struct event_threads threads;
};

/* ---- By correlation ---- */

static enum sutra_status find_by_correlation(const struct call_search *search, struct sutra_error *error) {
    const struct device_events *events = search->reading->events;
    const struct device_rows *devices = &search->reading->devices;
    const struct event_lists *lists = search->lists;
    const struct engine *engine = &search->context->engine;
    struct arena_mark mark = arena_mark(search->scratch);
    row_t n_keys = 0;
    value_key *keys = arena_take(search->scratch, lists->n_calls, sizeof *keys),
              *wanted = arena_take(search->scratch, devices->n, sizeof *wanted);
    row_t *calls = arena_take(search->scratch, lists->n_calls, sizeof *calls);
    enum sutra_status status = arena_status(search->scratch, error);
    for (row_t i = 0; i < lists->n_calls && !status; i++) {
        row_t call = lists->call[i];
        if (!exact_time_is_known(events, call) || !is_correlation(events->correlation[call]))
            continue;
        keys[n_keys] = events->correlation[call];
        calls[n_keys++] = call;
    }
    for (row_t i = 0; i < devices->n && !status; i++)
        wanted[i] = events->correlation[devices->event[i]];
    struct join_step step = {keys, n_keys, wanted, devices->n, devices->call};
    if (!status)
        status = engine->join(engine->state, &step, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        if (devices->call[i] != ROW_NONE)
            devices->call[i] = calls[devices->call[i]];
    arena_release(search->scratch, mark);
    return status;
}

/* ---- By arrows ---- */

/* Where arrows lead: from the moment of a call on its thread over an id to a moment of work. */
struct arrow_tables {
    struct pair_table moments; /* of those ends, on any thread */
    struct pair_table calls, ids, ends;
};

/* Arrows, those that end at work first. */
struct arrow_list {
    row_t *event;
    row_t n, n_ends;
};

static uint64_t moment_at(const struct call_search *search, row_t event) {
    return double_sort_key(number_as_double(number_at(search->reading->events->ts, event)));
}

/* The entry of an event's moment on its thread; NULL: out of memory. */
static struct pair_entry *moment_of(struct call_search *search, struct pair_table *table, row_t event) {
    uint32_t thread = event_thread(&search->threads, search->reading->events, event);
    return thread == PAIR_NONE ? NULL : pair_table_take(table, moment_at(search, event), thread);
}

static bool has_work_alone(const struct device_rows *devices) {
    row_t n = 0;
    for (row_t i = 0; i < devices->n; i++)
        n += devices->call[i] == ROW_NONE;
    return n > 0;
}

/* Moments of work that has no call. */
static bool note_work_alone(struct call_search *search, struct arrow_tables *tables) {
    const struct device_rows *devices = &search->reading->devices;
    bool ok = true;
    for (row_t i = 0; i < devices->n && ok; i++)
        ok = devices->call[i] != ROW_NONE ||
             (moment_of(search, &tables->ends, devices->event[i]) &&
              pair_table_take(&tables->moments, moment_at(search, devices->event[i]), 0));
    return ok;
}

/* Leaves, before ids are read, the arrows that end at work without a call, and where there are some, all that begin. */
static bool choose_arrows(struct call_search *search, const struct arrow_tables *tables, struct arrow_list *arrows) {
    const struct device_events *events = search->reading->events;
    row_t n = arrows->n, n_begins = 0;
    row_t *begins = arena_take(search->scratch, n, sizeof *begins);
    arrows->n_ends = 0;
    for (row_t i = 0; i < n && begins; i++) {
        row_t arrow = arrows->event[i];
        if (events->phase[arrow] == 's')
            begins[n_begins++] = arrow;
        if (events->phase[arrow] != 'f' || !pair_table_seek(&tables->moments, moment_at(search, arrow), 0))
            continue;
        uint32_t thread = event_thread(&search->threads, events, arrow);
        if (thread == PAIR_NONE)
            return false;
        if (pair_table_seek(&tables->ends, moment_at(search, arrow), thread))
            arrows->event[arrows->n_ends++] = arrow;
    }
    arrows->n = arrows->n_ends ? arrows->n_ends + n_begins : 0;
    for (row_t i = 0; i < n_begins && arrows->n; i++)
        arrows->event[arrows->n_ends + i] = begins[i];
    return begins;
}

/* Leaves the arrows that begin with an id with which one ends, and notes the moments at which they do. */
static bool choose_begins(struct call_search *search, struct arrow_tables *tables, struct arrow_list *arrows,
                          const value_key *ids) {
    row_t n = arrows->n_ends;
    bool ok = true;
    for (row_t i = 0; i < arrows->n_ends && ok; i++)
        ok = pair_table_take(&tables->ids, (uint64_t)ids[arrows->event[i]], 0);
    for (row_t i = arrows->n_ends; i < arrows->n && ok; i++) {
        row_t arrow = arrows->event[i];
        if (!pair_table_seek(&tables->ids, (uint64_t)ids[arrow], 0))
            continue;
        arrows->event[n++] = arrow;
        ok = moment_of(search, &tables->calls, arrow);
    }
    arrows->n = n;
    return ok;
}

/* Whether a call stands behind another one of its moment: by start, then by falling length, then as in the file. */
static bool is_behind(const struct call_search *search, row_t call, row_t other) {
    int64_t start = op_start_read(search->reading, search->times, call),
            before = op_start_read(search->reading, search->times, other);
    return start != before ? start > before
                           : op_stop_read(search->reading, call, start) <= op_stop_read(search->reading, other, start);
}

/* Notes for the moments at which arrows begin the last call that begins then. */
static bool note_calls(struct call_search *search, struct pair_table *calls) {
    const struct event_lists *lists = search->lists;
    for (row_t i = 0; i < lists->n_calls; i++) {
        row_t call = lists->call[i];
        if (!exact_time_is_known(search->reading->events, call))
            continue;
        uint32_t thread = event_thread(&search->threads, search->reading->events, call);
        if (thread == PAIR_NONE)
            return false;
        struct pair_entry *begin = pair_table_seek(calls, moment_at(search, call), thread);
        if (begin && (begin->number == PAIR_NONE || is_behind(search, call, begin->number)))
            begin->number = call;
    }
    return true;
}

/* Notes for ids the call at which the arrow begins; then for moments at which arrows end the call of their id. */
static bool note_arrows(struct call_search *search, struct arrow_tables *tables, const struct arrow_list *arrows,
                        const value_key *ids) {
    bool ok = true;
    for (row_t i = arrows->n_ends; i < arrows->n && ok; i++) {
        const struct pair_entry *begin = moment_of(search, &tables->calls, arrows->event[i]);
        ok = begin && pair_table_note(&tables->ids, (uint64_t)ids[arrows->event[i]], 0, begin->number);
    }
    for (row_t i = 0; i < arrows->n_ends && ok; i++) {
        uint32_t call = pair_table_find(&tables->ids, (uint64_t)ids[arrows->event[i]], 0);
        struct pair_entry *end = moment_of(search, &tables->ends, arrows->event[i]);
        ok = end;
        if (end && call != PAIR_NONE)
            end->number = call;
    }
    return ok;
}

static bool take_ends(struct call_search *search, struct arrow_tables *tables) {
    struct device_rows *devices = &search->reading->devices;
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->call[i] != ROW_NONE)
            continue;
        const struct pair_entry *end = moment_of(search, &tables->ends, devices->event[i]);
        if (!end)
            return false;
        devices->call[i] = end->number == PAIR_NONE ? ROW_NONE : end->number;
    }
    return true;
}

/* What the chosen arrows say, most of which mostly belong to work whose call is known. */
static enum sutra_status follow_arrows(struct call_search *search, struct arrow_tables *tables,
                                       struct arrow_list *arrows, struct sutra_error *error) {
    const value_key *ids = NULL;
    enum sutra_status status =
        arrow_ids_ask(search->context, search->reading->trace, arrows->event, arrows->n, &ids, error);
    if (status)
        return status;
    if (!choose_begins(search, tables, arrows, ids))
        return error_memory(error);
    if (arrows->n == arrows->n_ends)
        return SUTRA_OK;
    bool ok =
        note_calls(search, &tables->calls) && note_arrows(search, tables, arrows, ids) && take_ends(search, tables);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status find_by_arrows(struct call_search *search, struct sutra_error *error) {
    struct arrow_tables tables = {0};
    struct arrow_list arrows = {.event = search->lists->arrow, .n = search->lists->n_arrows};
    bool ok = pair_table_init(&tables.moments) && pair_table_init(&tables.calls) && pair_table_init(&tables.ids) &&
              pair_table_init(&tables.ends) && note_work_alone(search, &tables) &&
              choose_arrows(search, &tables, &arrows);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status && arrows.n)
        status = follow_arrows(search, &tables, &arrows, error);
    pair_table_free(&tables.moments);
    pair_table_free(&tables.calls);
    pair_table_free(&tables.ids);
    pair_table_free(&tables.ends);
    return status;
}

/* ---- Both ---- */

enum sutra_status call_events_find(struct sutra_context *context, struct op_reading *reading,
                                   const struct exact_times *times, const struct event_lists *lists,
                                   struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct call_search search = {
        .context = context, .reading = reading, .times = times, .lists = lists, .scratch = scratch};
    enum sutra_status status = event_threads_init(&search.threads) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = find_by_correlation(&search, error);
    if (!status && has_work_alone(&reading->devices))
        status = find_by_arrows(&search, error);
    event_threads_free(&search.threads);
    arena_release(scratch, mark);
    return status;
}
