/*
 * launches.c - the engine joins the correlations of the two sides, both ways.
 */
#include <string.h>

#include "base/error.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/times.h"

/*
 * The event of an end stands right before it, where Kineto wrote the file; else it is looked for among
 * all, by thread and start.
 */

struct arrow_choice {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct selection *selection;
    row_t n;
    row_t *end;      /* events that are ends, in the order of the file */
    uint32_t *arrow; /* the arrow of each; PAIR_NONE: it has no id */
    uint8_t *stays;  /* by arrow */
    uint8_t *lost;   /* by end: the event before it is not the one it begins at */
};

/* ---- Events by thread and start ---- */

enum moment { MOMENT_EMPTY, MOMENT_DROPPED, MOMENT_KEPT };

/* The moments at which ends begin whose event stands elsewhere, and what begins there. */
struct moment_table {
    struct event_threads threads;
    struct pair_table at; /* to enum moment */
};

static bool moments_init(struct moment_table *table) {
    return event_threads_init(&table->threads) && pair_table_init(&table->at);
}

static void moments_free(struct moment_table *table) {
    event_threads_free(&table->threads);
    pair_table_free(&table->at);
}

static uint64_t moment_of(const struct device_events *events, row_t event) {
    return double_sort_key(number_as_double(number_at(events->ts, event)));
}

static enum moment look_up(const struct device_events *events, struct moment_table *table, row_t end) {
    return (enum moment)pair_table_find(&table->at, moment_of(events, end), event_thread(&table->threads, events, end));
}

/* Notes what begins at the moments of lost ends. False: out of memory. */
static bool moments_fill(const struct arrow_choice *choice, struct moment_table *table) {
    const struct device_events *events = choice->events;
    const struct selection *selection = choice->selection;
    bool ok = true;
    for (row_t i = 0; i < choice->n && ok; i++) {
        uint32_t thread = choice->lost[i] ? event_thread(&table->threads, events, choice->end[i]) : 0;
        ok = thread != PAIR_NONE &&
             (!choice->lost[i] || pair_table_note(&table->at, moment_of(events, choice->end[i]), thread, MOMENT_EMPTY));
    }
    for (row_t event = 0; event < events->n && ok; event++) {
        if (selection->kind[event] == SELECTED_ARROW || !(events->flags[event] & EVENT_HAS_TS))
            continue;
        uint32_t thread = event_thread(&table->threads, events, event);
        uint32_t known =
            thread == PAIR_NONE ? PAIR_NONE : pair_table_find(&table->at, moment_of(events, event), thread);
        ok = thread != PAIR_NONE;
        if (known != PAIR_NONE && known != MOMENT_KEPT) /* it is there, so no memory is needed */
            pair_table_take(&table->at, moment_of(events, event), thread)->number =
                selection->kept[event] ? MOMENT_KEPT : MOMENT_DROPPED;
    }
    return ok;
}

/* ---- Arrows by id ---- */

static enum sutra_status list_ends(struct arrow_choice *choice, struct arena *arena, struct sutra_error *error) {
    const struct selection *selection = choice->selection;
    row_t n = selection->n[SELECTED_ARROW];
    choice->end = arena_take(arena, n, sizeof *choice->end);
    choice->arrow = arena_take(arena, n, sizeof *choice->arrow);
    choice->stays = arena_take(arena, n, sizeof *choice->stays);
    choice->lost = arena_take(arena, n, sizeof *choice->lost);
    if (arena->failed)
        return error_memory(error);
    for (row_t event = 0; event < choice->events->n; event++)
        if (selection->kind[event] == SELECTED_ARROW)
            choice->end[choice->n++] = event;
    memset(choice->stays, 1, n);
    return SUTRA_OK;
}

/* Ends of one category and id are of one arrow. */
static enum sutra_status number_arrows(struct arrow_choice *choice, struct sutra_error *error) {
    static const struct asked_field field = {"id", ASK_KEY, true};
    struct asked_column column;
    struct pair_table numbers;
    uint32_t n = 0;
    enum sutra_status status =
        event_columns_ask(choice->context, choice->trace, &field, 1, choice->end, choice->n, &column, error);
    if (status)
        return status;
    bool ok = pair_table_init(&numbers);
    for (row_t i = 0; i < choice->n && ok; i++) {
        value_key id = column.key[choice->end[i]];
        uint32_t category = choice->events->category[choice->end[i]];
        choice->arrow[i] = PAIR_NONE;
        if (!key_is_value(id) || category == STRING_NONE)
            continue;
        struct pair_entry *entry = pair_table_take(&numbers, (uint64_t)id, category);
        ok = entry;
        if (ok && entry->number == PAIR_NONE)
            entry->number = n++;
        if (ok)
            choice->arrow[i] = entry->number;
    }
    pair_table_free(&numbers);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- The choice ---- */

static bool begins_with(const struct device_events *events, row_t end, row_t event) {
    return events->pid[event] == events->pid[end] && events->tid[event] == events->tid[end] &&
           number_as_double(number_at(events->ts, event)) == number_as_double(number_at(events->ts, end));
}

/* Ends that stand behind their event are as that is; the others are lost for now. How many these are. */
static row_t follow_events(struct arrow_choice *choice) {
    struct selection *selection = choice->selection;
    row_t before = ROW_NONE, seen = 0, n_lost = 0; /* the last event before an end that is none */
    for (row_t i = 0; i < choice->n; i++) {
        row_t end = choice->end[i];
        for (; seen < end; seen++)
            before = selection->kind[seen] == SELECTED_ARROW ? before : seen;
        choice->lost[i] = before == ROW_NONE || !begins_with(choice->events, end, before);
        selection->kept[end] = !choice->lost[i] && selection->kept[before];
        n_lost += choice->lost[i];
    }
    return n_lost;
}

/* Decides about lost ends by what begins at their moments. False: out of memory. */
static bool find_lost(struct arrow_choice *choice, bool (*lone)(const void *arg, row_t event), const void *arg) {
    struct moment_table table = {0};
    bool ok = moments_init(&table) && moments_fill(choice, &table);
    for (row_t i = 0; i < choice->n && ok; i++) {
        row_t end = choice->end[i];
        if (!choice->lost[i])
            continue;
        enum moment moment = look_up(choice->events, &table, end);
        choice->selection->kept[end] = moment == MOMENT_EMPTY ? lone(arg, end) : moment == MOMENT_KEPT;
    }
    moments_free(&table);
    return ok;
}

/* Arrows stay of which all ends do. */
static void drop_broken(struct arrow_choice *choice) {
    for (row_t i = 0; i < choice->n; i++)
        if (choice->arrow[i] != PAIR_NONE)
            choice->stays[choice->arrow[i]] &= choice->selection->kept[choice->end[i]];
    for (row_t i = 0; i < choice->n; i++) {
        uint8_t *kept = &choice->selection->kept[choice->end[i]];
        if (*kept && choice->arrow[i] != PAIR_NONE && !choice->stays[choice->arrow[i]]) {
            *kept = 0;
            choice->selection->n_broken_arrows++;
        }
    }
}

enum sutra_status arrows_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                struct selection *selection, bool (*lone)(const void *arg, row_t event),
                                const void *arg, struct arena *arena, struct sutra_error *error) {
    struct arrow_choice choice = {.context = context, .trace = trace, .events = &trace->events, .selection = selection};
    enum sutra_status status = list_ends(&choice, arena, error);
    if (!status)
        status = number_arrows(&choice, error);
    if (!status && follow_events(&choice) > 0 && !find_lost(&choice, lone, arg))
        status = error_memory(error);
    if (!status)
        drop_broken(&choice);
    return status;
}

/*
 * The engine sorts the changes and counts them on each stream.
 */

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
    uint64_t *keys = arena_take(scratch, n, sizeof *keys);
    uint8_t *up = arena_take(scratch, n, sizeof *up);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n; i++)
        series->change[i] = i;
    if (!status)
        status = sort_by(changes->time, keys, n, engine, series->change, error);
    if (!status)
        status = sort_by(changes->stream, keys, n, engine, series->change, error);
    series->n_lanes = 0;
    for (row_t i = 0; i < n && !status; i++) {
        series->n_lanes += i == 0 || keys[i] != keys[i - 1];
        series->lane[i] = series->n_lanes - 1;
        up[i] = changes->up[series->change[i]];
    }
    struct queue_lengths_step step = {series->lane, up, n, series->n_lanes, series->length};
    if (!status)
        status = engine->queue_lengths(engine->state, &step, error);
    arena_release(scratch, mark);
    return status;
}

/* Events of one side, and their correlations. */
struct side {
    row_t n;
    row_t *event, *found;
    value_key *keys;
};

static struct side side_take(struct arena *arena, row_t n) {
    return (struct side){.event = arena_take(arena, n, sizeof(row_t)),
                         .found = arena_take(arena, n, sizeof(row_t)),
                         .keys = arena_take(arena, n, sizeof(value_key))};
}

static void side_add(struct side *side, row_t event, value_key key) {
    side->event[side->n] = event;
    side->keys[side->n++] = key;
}

static enum sutra_status join(const struct engine *engine, const struct side *from, const struct side *to,
                              row_t *partner, struct sutra_error *error) {
    struct join_step step = {to->keys, to->n, from->keys, from->n, from->found};
    enum sutra_status status = engine->join(engine->state, &step, error);
    for (row_t i = 0; i < from->n && !status; i++)
        if (from->found[i] != ROW_NONE)
            partner[from->event[i]] = to->event[from->found[i]];
    return status;
}

enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct side sides[2] = {side_take(scratch, n), side_take(scratch, n)}; /* the CPU's, the GPU's */
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n && !status; i++) {
        value_key key = events->correlation[rows[i]];
        if (is_correlation(key))
            side_add(&sides[(state[rows[i]] & gpu) != 0], rows[i], key);
    }
    if (!status)
        status = join(engine, &sides[0], &sides[1], partner, error);
    if (!status)
        status = join(engine, &sides[1], &sides[0], partner, error);
    arena_release(scratch, mark);
    return status;
}
