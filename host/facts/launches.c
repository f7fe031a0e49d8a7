/*
 * launches.c - implements launches.h.
 *
 * The event at which an end of a flow arrow begins directly precedes the end if Kineto wrote the file; other ends look
 * for it among all events, by thread and start. The engine sorts and counts the changes of queues and joins the
 * correlations of the two sides, both ways. Calls with repeated ids are grouped by id and searched by start.
 */
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/times.h"

/* ---- Flow arrows ---- */

struct arrow_choice {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct selection *selection;
    row_t n;
    row_t *end;      /* events that are ends, in the order of the file */
    uint32_t *arrow; /* the arrow of each; PAIR_NONE: it has no id */
    uint8_t *lost;   /* by end: the preceding event is not the one it begins at */
};

static uint64_t start_key(const struct device_events *events, row_t event) {
    return double_sort_key(number_as_double(number_at(events->ts, event)));
}

/* Numbers the arrows: ends of one category and id are of one arrow. */
static enum sutra_status number_arrows(struct arrow_choice *choice, struct sutra_error *error) {
    static const struct requested_field field = {"id", ASK_KEY, true};
    struct requested_column column;
    struct pair_table numbers;
    uint32_t n = 0;
    TRY(event_columns_request(choice->context, choice->trace, &field, 1, choice->end, choice->n, &column, error));
    bool ok = pair_table_init(&numbers);
    for (row_t i = 0; i < choice->n && ok; i++) {
        value_key id = column.key[choice->end[i]];
        uint32_t category = choice->events->category[choice->end[i]];
        choice->arrow[i] = PAIR_NONE;
        if (!key_is_value(id) || category == STRING_NONE)
            continue;
        struct pair_entry *entry = pair_table_insert(&numbers, (uint64_t)id, category);
        ok = entry;
        if (ok && entry->number == PAIR_NONE)
            entry->number = n++;
        if (ok)
            choice->arrow[i] = entry->number;
    }
    pair_table_free(&numbers);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Decides about lost ends by the events that begin at their moments. False: out of memory. */
static bool find_lost(struct arrow_choice *choice, bool (*lone)(const void *arg, row_t event), const void *arg) {
    enum moment { MOMENT_EMPTY, MOMENT_DROPPED, MOMENT_KEPT };
    const struct device_events *events = choice->events;
    struct selection *selection = choice->selection;
    struct event_threads threads = {0};
    struct pair_table moments = {0}; /* start and thread -> enum moment, of lost ends */
    bool ok = event_threads_init(&threads) && pair_table_init(&moments);
    for (row_t i = 0; i < choice->n && ok; i++) {
        if (!choice->lost[i])
            continue;
        uint32_t thread = event_thread(&threads, events, choice->end[i]);
        ok = thread != PAIR_NONE && pair_table_note(&moments, start_key(events, choice->end[i]), thread, MOMENT_EMPTY);
    }
    for (row_t event = 0; event < events->n && ok; event++) {
        if (selection->kind[event] == SELECTED_ARROW || !(events->flags[event] & EVENT_HAS_TS))
            continue;
        uint32_t thread = event_thread(&threads, events, event);
        ok = thread != PAIR_NONE;
        uint32_t known = ok ? pair_table_find(&moments, start_key(events, event), thread) : PAIR_NONE;
        if (known != PAIR_NONE && known != MOMENT_KEPT) /* the entry exists, so this cannot fail */
            pair_table_insert(&moments, start_key(events, event), thread)->number =
                selection->kept[event] ? MOMENT_KEPT : MOMENT_DROPPED;
    }
    for (row_t i = 0; i < choice->n && ok; i++) {
        row_t end = choice->end[i];
        if (!choice->lost[i])
            continue;
        uint32_t moment = pair_table_find(&moments, start_key(events, end), event_thread(&threads, events, end));
        selection->kept[end] = moment == MOMENT_EMPTY ? lone(arg, end) : moment == MOMENT_KEPT;
    }
    event_threads_free(&threads);
    pair_table_free(&moments);
    return ok;
}

enum sutra_status arrows_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                struct selection *selection, bool (*lone)(const void *arg, row_t event),
                                const void *arg, struct arena *arena, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    struct arrow_choice choice = {.context = context, .trace = trace, .events = events, .selection = selection};
    row_t n = selection->n[SELECTED_ARROW];
    choice.end = arena_alloc(arena, n, sizeof *choice.end);
    choice.arrow = arena_alloc(arena, n, sizeof *choice.arrow);
    choice.lost = arena_alloc(arena, n, sizeof *choice.lost);
    uint8_t *keeps_arrow = arena_alloc(arena, n, sizeof *keeps_arrow); /* by arrow */
    TRY(arena_status(arena, error));
    for (row_t event = 0; event < events->n; event++)
        if (selection->kind[event] == SELECTED_ARROW)
            choice.end[choice.n++] = event;
    TRY(number_arrows(&choice, error));

    /* An end that follows its event is kept like the event; other ends are lost for now. */
    row_t before = ROW_NONE, event = 0, n_lost = 0; /* before: the last event that is not an end */
    for (row_t i = 0; i < n; i++) {
        row_t end = choice.end[i];
        for (; event < end; event++)
            before = selection->kind[event] == SELECTED_ARROW ? before : event;
        bool begins = before != ROW_NONE && events->pid[before] == events->pid[end] &&
                      events->tid[before] == events->tid[end] &&
                      number_as_double(number_at(events->ts, before)) == number_as_double(number_at(events->ts, end));
        choice.lost[i] = !begins;
        selection->kept[end] = begins && selection->kept[before];
        n_lost += !begins;
    }
    if (n_lost > 0 && !find_lost(&choice, lone, arg))
        return error_memory(error);

    /* An arrow is kept if all its ends are. */
    memset(keeps_arrow, 1, n);
    for (row_t i = 0; i < n; i++)
        if (choice.arrow[i] != PAIR_NONE)
            keeps_arrow[choice.arrow[i]] &= selection->kept[choice.end[i]];
    for (row_t i = 0; i < n; i++) {
        uint8_t *kept = &selection->kept[choice.end[i]];
        if (*kept && choice.arrow[i] != PAIR_NONE && !keeps_arrow[choice.arrow[i]]) {
            *kept = 0;
            selection->n_broken_arrows++;
        }
    }
    return SUTRA_OK;
}

/* ---- Queues ---- */

/* Sorts the changes stably by a column. */
static enum sutra_status sort_by(const uint64_t *column, uint64_t *keys, row_t n, const struct engine *engine,
                                 row_t *change, struct sutra_error *error) {
    for (row_t i = 0; i < n; i++)
        keys[i] = column[change[i]];
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, change, n}, error);
}

enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, struct queue_lengths *series, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    row_t n = changes->n;
    uint64_t *keys = arena_alloc(scratch, n, sizeof *keys);
    uint8_t *up = arena_alloc(scratch, n, sizeof *up);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        series->change[i] = i;
    TRY(sort_by(changes->time, keys, n, engine, series->change, error));
    TRY(sort_by(changes->stream, keys, n, engine, series->change, error));
    series->n_lanes = 0;
    for (row_t i = 0; i < n; i++) {
        series->n_lanes += i == 0 || keys[i] != keys[i - 1];
        series->lane[i] = series->n_lanes - 1;
        up[i] = changes->up[series->change[i]];
    }
    struct queue_lengths_step step = {series->lane, up, n, series->n_lanes, series->length};
    TRY(engine->queue_lengths(engine->state, &step, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Selection of launches ---- */

enum sutra_status launch_index_build(struct launch_index *index, const struct engine *engine, const value_key *ids,
                                     struct number_column start, row_t n, enum launch_policy policy,
                                     struct arena *arena, struct sutra_error *error) {
    *index = (struct launch_index){.start = start};
    TRY(key_index_build(&index->ids, engine, ids, n, policy == LAUNCH_LAST ? KEY_LAST : KEY_FIRST, &index->repeated,
                        error));
    if (index->repeated == ROW_NONE || policy == LAUNCH_LAST)
        return SUTRA_OK;
    for (row_t i = 0; i < n; i++)
        index->n_repeated += key_index_find(&index->ids, ids[i]) != i;
    if (policy == LAUNCH_FIRST)
        return SUTRA_OK;

    /* Group the calls by id, in a group by start. */
    index->number = arena_alloc(arena, n, sizeof *index->number);
    index->first = arena_zeros(arena, (size_t)n + 2, sizeof *index->first);
    index->call = arena_alloc(arena, n, sizeof *index->call);
    TRY(arena_status(arena, error));
    row_t n_ids = key_index_number(&index->ids, ids, n, index->number), *next = index->first + 1;
    for (row_t i = 0; i < n; i++)
        next[index->number[i] + 1]++;
    for (row_t i = 0; i < n_ids; i++)
        next[i + 1] += next[i];
    for (row_t i = 0; i < n; i++)
        index->call[next[index->number[i]]++] = i;
    return SUTRA_OK;
}

void launch_index_free(struct launch_index *index) {
    key_index_free(&index->ids);
}

row_t launch_index_find_before(const struct launch_index *index, value_key id, struct number start) {
    row_t found = key_index_find(&index->ids, id);
    if (found == ROW_NONE || !index->call)
        return found;
    row_t first = index->first[index->number[found]];
    struct bisection after = {first + 1, index->first[index->number[found] + 1]}; /* calls that start later */
    while (after.low < after.high) {
        row_t middle = bisect_middle(after);
        bisect(&after, number_compare(number_at(index->start, index->call[middle]), start) <= 0);
    }
    return index->call[after.low - 1];
}

enum sutra_status calls_by_correlation(const struct device_events *events, const struct string_roles *roles,
                                       const row_t *calls, row_t n_calls, const row_t *gpu, row_t n,
                                       const struct engine *engine, struct arena *scratch, row_t *call,
                                       struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    value_key *keys = arena_alloc(scratch, n_calls, sizeof *keys), *wanted = arena_alloc(scratch, n, sizeof *wanted);
    row_t *by_key = arena_alloc(scratch, n_calls, sizeof *by_key), n_keys = 0;
    TRY(arena_status(scratch, error));
    for (int of_runtime = 0; of_runtime < 2; of_runtime++) /* first the calls of drivers: the last call is found */
        for (row_t i = 0; i < n_calls; i++) {
            const bool is_runtime = category_roles(events, roles, calls[i]) & CATEGORY_RUNTIME;
            if (is_runtime != of_runtime || !time_is_usable(events, calls[i]) ||
                !is_correlation(events->correlation[calls[i]]))
                continue;
            keys[n_keys] = events->correlation[calls[i]];
            by_key[n_keys++] = calls[i];
        }
    for (row_t i = 0; i < n; i++)
        wanted[i] = events->correlation[gpu[i]];
    TRY(engine->join(engine->state, &(struct join_step){keys, n_keys, wanted, n, call}, error));
    for (row_t i = 0; i < n; i++)
        if (call[i] != ROW_NONE)
            call[i] = by_key[call[i]];
    arena_release(scratch, mark);
    return SUTRA_OK;
}

struct launch_side launch_side_alloc(struct arena *arena, row_t n) {
    return (struct launch_side){.event = arena_alloc(arena, n, sizeof(row_t)),
                                .match = arena_alloc(arena, n, sizeof(row_t)),
                                .correlation = arena_alloc(arena, n, sizeof(value_key))};
}

enum sutra_status launch_side_match(struct launch_side *side, const struct launch_side *other,
                                    const struct engine *engine, struct sutra_error *error) {
    struct join_step step = {other->correlation, other->n, side->correlation, side->n, side->match};
    return engine->join(engine->state, &step, error);
}

enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct launch_side sides[2] = {launch_side_alloc(scratch, n), launch_side_alloc(scratch, n)}; /* CPU, GPU */
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        if (is_correlation(events->correlation[rows[i]]))
            launch_side_add(&sides[(state[rows[i]] & gpu) != 0], events, rows[i]);
    for (int i = 0; i < 2; i++) {
        struct launch_side *side = &sides[i], *other = &sides[1 - i];
        TRY(launch_side_match(side, other, engine, error));
        for (row_t k = 0; k < side->n; k++)
            if (side->match[k] != ROW_NONE)
                partner[side->event[k]] = other->event[side->match[k]];
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}
