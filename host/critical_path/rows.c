/*
 * rows.c - which events of the trace count, and the fields that decide about them.
 *
 * An event counts if it has a duration and a category other than "Trace". As soon as one start of the trace is no
 * integer, or missing, all times are rounded to whole microseconds: starts up, ends down. So starts are always
 * integers; a duration may have a fraction only where all starts are integers.
 */
#include <float.h>

#include "base/error.h"
#include "critical_path/path_search.h"
#include "facts/times.h"

static enum sutra_status give_roles(const struct path_work *work, struct path_rows *rows) {
    const struct strings *strings = &work->trace->strings;
    uint32_t readers = work->rules.extended ? READER_PATH_EXTENDED : READER_PATH;
    readers |= work->rules.newer ? READER_PATH_0_6 : 0;
    rows->roles = names_find(strings, (enum reader)readers, work->results);
    if (!rows->roles)
        return error_memory(work->error);
    if (work->rules.newer)
        names_keep_numbered_steps(strings, rows->roles);
    if (work->rules.newer && work->rules.data_loading)
        names_mark(strings, rows->roles, TEXT_HAS, work->rules.data_loading, NAME_LOADS_DATA);
    if (work->rules.annotation)
        names_mark(strings, rows->roles, TEXT_HAS, work->rules.annotation, NAME_ANNOTATION);
    return SUTRA_OK;
}

/* The reference's table has a column for each key that some event has; it needs these. */
static enum sutra_status check_columns(const struct path_work *work) {
    static const enum event_field needed[] = {FIELD_TS,   FIELD_DUR, FIELD_CATEGORY, FIELD_NAME,
                                              FIELD_ARGS, FIELD_PID, FIELD_TID};
    enum { N_NEEDED = sizeof needed / sizeof *needed };
    uint32_t seen = 0;
    for (row_t event = 0; event < work->events->n && seen != (1 << N_NEEDED) - 1; event++) {
        struct event_places places;
        event_find(work->trace, event, NULL, &places);
        for (int i = 0; i < N_NEEDED; i++)
            seen |= (uint32_t)(places.field[needed[i]].at > 0) << i;
    }
    for (int i = 0; i < N_NEEDED; i++)
        if (!(seen >> i & 1))
            return stop_crash(work, "no event has the field %s", event_field_name(needed[i]));
    return SUTRA_OK;
}

/* What the file has at a field whose column does not tell: the first character of its value, 0 where it is absent. */
static char first_character(const struct path_work *work, row_t event, enum event_field field) {
    struct event_places places;
    event_find(work->trace, event, NULL, &places);
    size_t at = places.field[field].at;
    return at ? work->trace->document.source.bytes[at] : 0;
}

/* Whether the event has a category that does not drop it. */
static enum sutra_status has_category(const struct path_work *work, const struct path_rows *rows, row_t event,
                                      bool *has) {
    bool is_string = work->events->category[event] != STRING_NONE;
    *has = is_string && !category_has(rows, event, CATEGORY_TRACE);
    if (is_string && !category_has(rows, event, CATEGORY_EMPTY))
        return SUTRA_OK;
    char first = first_character(work, event, FIELD_CATEGORY);
    *has = first == '"';
    if (first && first != '"' && first != 'n' && !work->rules.extended)
        return stop_crash(work, "event %u: its category is not a string", event);
    return SUTRA_OK;
}

/* A stream of digits in quotes counts as that number; other strings stand for themselves. */
static value_key stream_of_text(struct path_work *work, row_t event) {
    struct event_places places;
    event_find(work->trace, event, NULL, &places);
    value_key stream = work->events->stream[event];
    if (stream == KEY_NULL || stream == KEY_UNHASHABLE)
        return STREAM_NONE;
    field_int(&work->reader, places.field[FIELD_STREAM], &stream);
    return stream;
}

static enum sutra_status put_stream(struct path_work *work, struct path_rows *rows, row_t event) {
    value_key stream = work->events->stream[event];
    if (stream == KEY_ABSENT)
        stream = STREAM_NONE;
    else if (!key_is_integer(stream) && !work->rules.extended)
        return stop_crash(work, "event %u: its stream is not an integer", event);
    else if (!key_is_integer(stream))
        stream = stream_of_text(work, event);
    rows->stream[event] = stream;
    return SUTRA_OK;
}

static enum sutra_status note_wait(struct path_work *work, struct path_rows *rows, row_t event) {
    struct event_places places;
    event_find(work->trace, event, NULL, &places);
    struct wait_row wait = {.event = event,
                            .stream = event_key(&work->reader, &places, FIELD_WAIT_STREAM, STREAM_NONE),
                            .record = event_key(&work->reader, &places, FIELD_WAIT_RECORD, -1)};
    if (!key_is_integer(wait.stream) && !work->rules.extended)
        return stop_crash(work, "event %u: its wait_on_stream is not an integer", event);
    rows->waits[rows->n_waits++] = wait;
    return SUTRA_OK;
}

static bool is_on_gpu(const struct path_work *work, const struct path_rows *rows, row_t event) {
    bool on = work->rules.extended ? on_stream(rows, event) : rows->stream[event] > 0;
    return on || name_has(rows, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
}

/* Puts a row on the list. */
static enum sutra_status keep_row(struct path_work *work, struct path_rows *rows, row_t event) {
    rows->roles[work->events->name[event]].name |= NAME_USED;
    rows->roles[work->events->category[event]].category |= CATEGORY_USED;
    enum sutra_status status = put_stream(work, rows, event);
    if (!status && work->events->flags[event] & EVENT_HAS_WAIT)
        status = note_wait(work, rows, event);
    if (status)
        return status;
    rows->state[event] = (uint8_t)(ROW_KEPT | (is_on_gpu(work, rows, event) ? ROW_GPU : 0));
    rows->list[rows->n++] = event;
    return SUTRA_OK;
}

static enum sutra_status take_row(struct path_work *work, struct path_rows *rows, const struct time_rules *rules,
                                  row_t event) {
    struct event_time time;
    bool counts;
    enum time_state state = time_read(work->events, event, rules, &time);
    rows->n_untimed += state == TIME_NO_START;
    if (state == TIME_NO_DURATION || state == TIME_NO_START)
        return SUTRA_OK;
    enum sutra_status status = has_category(work, rows, event, &counts);
    if (status || !counts)
        return status;
    uint8_t flags = work->events->flags[event];
    if ((!(flags & EVENT_HAS_NAME) || flags & EVENT_NAME_NO_STRING) && !work->rules.extended)
        return stop_crash(work, "event %u: its name is not a string", event);
    if (state == TIME_TOO_LARGE)
        return stop_crash(work, "event %u: its times are too large", event);
    rows->ts[event] = (int64_t)time.start.bits;
    rows->dur[event] = number_as_double(time.dur);
    return keep_row(work, rows, event);
}

static enum sutra_status make_columns(const struct path_work *work, struct path_rows *rows) {
    row_t n = work->events->n, n_waits = 0;
    for (row_t event = 0; event < n; event++)
        n_waits += (work->events->flags[event] & EVENT_HAS_WAIT) != 0;
    rows->events = work->events;
    rows->ts = arena_take(work->results, n, sizeof *rows->ts);
    rows->dur = arena_take(work->results, n, sizeof *rows->dur);
    rows->stream = arena_take(work->results, n, sizeof *rows->stream);
    rows->state = arena_zeros(work->results, n, sizeof *rows->state);
    rows->list = arena_take(work->results, n, sizeof *rows->list);
    rows->waits = arena_take(work->results, n_waits, sizeof *rows->waits);
    return work_taken(work);
}

static void gather_roles(struct path_rows *rows, uint32_t n_strings) {
    for (uint32_t string = 0; string < n_strings; string++) {
        struct string_roles roles = rows->roles[string];
        if (!string_is_used(roles))
            continue;
        rows->used.name |= roles.name;
        rows->used.category |= roles.category;
    }
}

enum sutra_status rows_read(struct path_work *work, struct path_rows *rows) {
    const struct time_rules rules = {.whole = times_are_rounded(times_look(work->events)),
                                     .start_most = (double)NUMBER_INTEGER_LIMIT,
                                     .dur_most = DBL_MAX};
    enum sutra_status status = give_roles(work, rows);
    if (!status)
        status = make_columns(work, rows);
    if (!status && !work->rules.extended)
        status = check_columns(work);
    for (row_t event = 0; event < work->events->n && !status; event++)
        status = take_row(work, rows, &rules, event);
    if (!status && rows->n == 0)
        status = stop_crash(work, "no event has a duration and a category");
    if (status)
        return status;
    times_shift(rows->ts, rows->list, rows->n);
    gather_roles(rows, work->trace->strings.n);
    return SUTRA_OK;
}
