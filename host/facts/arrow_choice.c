/*
 * arrow_choice.c - the event of an end stands right before it, where Kineto wrote the file; else it is looked for among
 * all, by thread and start, in a table that is made when it is first needed.
 */
#include "facts/arrow_choice.h"

#include <string.h>

#include "base/error.h"
#include "columns/pair_table.h"
#include "facts/threads.h"

struct arrow_choice {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct selection *selection;
    row_t n;
    row_t *end;      /* events that are ends, in the order of the file */
    uint32_t *arrow; /* the arrow of each; PAIR_NONE: it has no id */
    uint8_t *stays;  /* by arrow */
};

/* ---- Events by thread and start ---- */

enum moment { MOMENT_EMPTY, MOMENT_DROPPED, MOMENT_KEPT };

struct moment_table {
    struct thread_numbers processes, threads;
    struct pair_table at; /* to enum moment */
    bool made, failed;
};

/* NULL: out of memory. */
static struct pair_entry *entry_of(const struct device_events *events, struct moment_table *table, row_t event) {
    uint32_t process = thread_number(&table->processes, (uint64_t)events->pid[event], 0);
    uint32_t thread =
        process == PAIR_NONE ? PAIR_NONE : thread_number(&table->threads, (uint64_t)events->tid[event], process);
    double ts = number_as_double(number_at(events->ts, event));
    struct pair_entry *entry = thread == PAIR_NONE ? NULL : pair_table_take(&table->at, double_sort_key(ts), thread);
    table->failed |= !entry;
    return entry;
}

static void moments_make(const struct arrow_choice *choice, struct moment_table *table) {
    const struct selection *selection = choice->selection;
    table->made = true;
    table->failed = !thread_numbers_init(&table->processes) || !thread_numbers_init(&table->threads) ||
                    !pair_table_init(&table->at);
    for (row_t event = 0; event < choice->events->n && !table->failed; event++) {
        if (selection->kind[event] == SELECTED_ARROW || !(choice->events->flags[event] & EVENT_HAS_TS))
            continue;
        struct pair_entry *entry = entry_of(choice->events, table, event);
        if (entry && entry->number != MOMENT_KEPT)
            entry->number = selection->kept[event] ? MOMENT_KEPT : MOMENT_DROPPED;
    }
}

static void moments_free(struct moment_table *table) {
    if (!table->made)
        return;
    thread_numbers_free(&table->processes);
    thread_numbers_free(&table->threads);
    pair_table_free(&table->at);
}

static enum moment look_up(const struct arrow_choice *choice, struct moment_table *table, row_t event) {
    if (!table->made)
        moments_make(choice, table);
    const struct pair_entry *entry = table->failed ? NULL : entry_of(choice->events, table, event);
    return entry && entry->number != PAIR_NONE ? (enum moment)entry->number : MOMENT_EMPTY;
}

/* ---- Arrows by id ---- */

static enum sutra_status list_ends(struct arrow_choice *choice, struct arena *arena, struct sutra_error *error) {
    const struct selection *selection = choice->selection;
    row_t n = selection->n[SELECTED_ARROW];
    choice->end = arena_take(arena, n, sizeof *choice->end);
    choice->arrow = arena_take(arena, n, sizeof *choice->arrow);
    choice->stays = arena_take(arena, n, sizeof *choice->stays);
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

/* For its own part. `before` is the last event before it that is none, or ROW_NONE. */
static bool end_stays(const struct arrow_choice *choice, struct moment_table *table, row_t end, row_t before,
                      bool (*lone)(const void *arg, row_t event), const void *arg) {
    if (before != ROW_NONE && begins_with(choice->events, end, before))
        return choice->selection->kept[before];
    enum moment moment = look_up(choice, table, end);
    return moment == MOMENT_EMPTY ? lone(arg, end) : moment == MOMENT_KEPT;
}

static void drop_broken(struct arrow_choice *choice) {
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
    struct moment_table table = {0};
    row_t before = ROW_NONE, seen = 0; /* the last event before an end that is none */
    enum sutra_status status = list_ends(&choice, arena, error);
    if (!status)
        status = number_arrows(&choice, error);
    for (row_t i = 0; i < choice.n && !status; i++) {
        row_t end = choice.end[i];
        for (; seen < end; seen++)
            before = selection->kind[seen] == SELECTED_ARROW ? before : seen;
        selection->kept[end] = end_stays(&choice, &table, end, before, lone, arg);
        if (choice.arrow[i] != PAIR_NONE)
            choice.stays[choice.arrow[i]] &= selection->kept[end];
    }
    if (!status && table.failed)
        status = error_memory(error);
    if (!status)
        drop_broken(&choice);
    moments_free(&table);
    return status;
}
