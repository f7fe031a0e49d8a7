/*
 * rows.c - which events of the trace count, and the fields that decide about them.
 *
 * An event counts if it has a duration and a category other than "Trace". As soon as one start of the trace is no
 * integer, or missing, all times are rounded to whole microseconds: starts up, ends down. So starts are always
 * integers; a duration may have a fraction only where all starts are integers.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "critical_path/path_search.h"
#include "text/string_text.h"

static enum sutra_status give_roles(struct path_search *search) {
    const struct strings *strings = &search->trace->strings;
    search->roles = names_find(strings, search->rules.extended ? READER_PATH_EXTENDED : READER_PATH, &search->arena);
    if (!search->roles)
        return error_memory(search->error);
    if (search->rules.annotation)
        names_mark(strings, search->roles, TEXT_HAS, search->rules.annotation, NAME_ANNOTATION);
    return SUTRA_OK;
}

/* The reference's table has a column for each key that some event has; it needs these. */
static enum sutra_status check_columns(struct path_search *search) {
    static const enum event_field needed[] = {FIELD_TS,   FIELD_DUR, FIELD_CATEGORY, FIELD_NAME,
                                              FIELD_ARGS, FIELD_PID, FIELD_TID};
    enum { N_NEEDED = sizeof needed / sizeof *needed };
    uint32_t seen = 0;
    for (row_t event = 0; event < search->events->n && seen != (1 << N_NEEDED) - 1; event++) {
        struct event_places places;
        event_find(search->trace, event, NULL, &places);
        for (int i = 0; i < N_NEEDED; i++)
            seen |= (uint32_t)(places.field[needed[i]].at > 0) << i;
    }
    for (int i = 0; i < N_NEEDED; i++)
        if (!(seen >> i & 1))
            return stop_crash(search, "no event has the field %s", event_field_name(needed[i]));
    return SUTRA_OK;
}

static bool needs_rounding(const struct device_events *events) {
    bool rounded = false;
    for (row_t event = 0; event < events->n; event++)
        rounded |= !(events->flags[event] & EVENT_HAS_TS) || events->ts.kind[event] == NUMBER_DOUBLE;
    return rounded;
}

/* What the file has at a field whose column does not tell: the first character of its value, 0 where it is absent. */
static char first_character(const struct path_search *search, row_t event, enum event_field field) {
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    size_t at = places.field[field].at;
    return at ? search->trace->document.source.bytes[at] : 0;
}

/* Whether the event has a category that does not drop it. */
static bool has_category(struct path_search *search, row_t event) {
    bool is_string = search->events->category[event] != STRING_NONE;
    if (is_string && !category_has(search, event, CATEGORY_EMPTY))
        return !category_has(search, event, CATEGORY_TRACE);
    char first = first_character(search, event, FIELD_CATEGORY);
    if (first == '"')
        return true;
    if (first && first != 'n' && !search->rules.extended)
        stop_crash(search, "event %u: its category is not a string", event);
    return false;
}

/* Sets the row's times; false: they are beyond what can be computed with. */
static bool put_times(struct path_search *search, row_t event) {
    struct number ts = number_at(search->events->ts, event);
    double start = number_as_double(ts), dur = number_as_double(number_at(search->events->dur, event));
    if (!isfinite(start) || !isfinite(dur) || fabs(start) > (double)NUMBER_INTEGER_LIMIT)
        return false;
    search->ts[event] = number_is_double(ts) ? (int64_t)ceil(start) : (int64_t)ts.bits;
    search->dur[event] = search->rounded ? floor(start + dur) - ceil(start) : dur;
    return true;
}

/* A stream of digits in quotes counts as that number; other strings stand for themselves. */
static value_key stream_of_text(struct path_search *search, row_t event) {
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    value_key stream = search->events->stream[event];
    if (stream == KEY_NULL || stream == KEY_UNHASHABLE)
        return STREAM_NONE;
    field_int(&search->reader, places.field[FIELD_STREAM], &stream);
    return stream;
}

static void put_stream(struct path_search *search, row_t event) {
    value_key stream = search->events->stream[event];
    if (stream == KEY_ABSENT)
        stream = STREAM_NONE;
    else if (!key_is_integer(stream) && search->rules.extended)
        stream = stream_of_text(search, event);
    else if (!key_is_integer(stream))
        stop_crash(search, "event %u: its stream is no integer", event);
    search->stream[event] = stream;
}

static void note_wait(struct path_search *search, row_t event) {
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    struct wait_row wait = {.event = event,
                            .stream = event_key(search, &places, FIELD_WAIT_STREAM, STREAM_NONE),
                            .record = event_key(search, &places, FIELD_WAIT_RECORD, -1)};
    if (!key_is_integer(wait.stream) && !search->rules.extended)
        stop_crash(search, "event %u: its wait_on_stream is no integer", event);
    search->waits[search->n_waits++] = wait;
}

static bool is_on_gpu(const struct path_search *search, row_t event) {
    bool on = search->rules.extended ? on_stream(search, event) : search->stream[event] > 0;
    return on || name_has(search, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
}

static void take_row(struct path_search *search, row_t event) {
    const struct device_events *events = search->events;
    bool in_time = !search->rounded || events->flags[event] & EVENT_HAS_TS;
    if (!(events->flags[event] & EVENT_HAS_DUR) || !in_time || !has_category(search, event))
        return;
    bool named = events->flags[event] & EVENT_HAS_NAME && !(events->flags[event] & EVENT_NAME_NO_STRING);
    if (!named && !search->rules.extended) {
        stop_crash(search, "event %u: its name is not a string", event);
        return;
    }
    if (!put_times(search, event)) {
        stop_crash(search, "event %u: its times are too large", event);
        return;
    }
    put_stream(search, event);
    search->state[event] = (uint8_t)(ROW_KEPT | (is_on_gpu(search, event) ? ROW_GPU : 0));
    if (events->flags[event] & EVENT_HAS_WAIT)
        note_wait(search, event);
    search->roles[events->name[event]].name |= NAME_USED;
    search->roles[events->category[event]].category |= CATEGORY_USED;
    search->full[search->n_full++] = event;
}

static enum sutra_status make_columns(struct path_search *search) {
    size_t n = (size_t)search->events->n + 1;
    row_t n_waits = 0;
    for (row_t event = 0; event < search->events->n; event++)
        n_waits += (search->events->flags[event] & EVENT_HAS_WAIT) != 0;
    search->ts = malloc(n * sizeof *search->ts);
    search->dur = malloc(n * sizeof *search->dur);
    search->stream = malloc(n * sizeof *search->stream);
    search->state = calloc(n, sizeof *search->state);
    search->full = malloc(n * sizeof *search->full);
    search->waits = malloc(((size_t)n_waits + 1) * sizeof *search->waits);
    if (!search->ts || !search->dur || !search->stream || !search->state || !search->full || !search->waits ||
        !graph_init(&search->graph, search->events->n))
        return error_memory(search->error);
    return SUTRA_OK;
}

/* Times count from the first row's. */
static void shift_times(struct path_search *search) {
    int64_t first = INT64_MAX;
    for (row_t i = 0; i < search->n_full; i++)
        if (search->ts[search->full[i]] < first)
            first = search->ts[search->full[i]];
    for (row_t i = 0; i < search->n_full; i++)
        search->ts[search->full[i]] -= first;
}

static void gather_roles(struct path_search *search) {
    for (uint32_t string = 0; string < search->trace->strings.n; string++) {
        struct string_roles roles = search->roles[string];
        if (!is_used(roles))
            continue;
        search->roles_used.name |= roles.name;
        search->roles_used.category |= roles.category;
    }
}

enum sutra_status rows_read(struct path_search *search) {
    enum sutra_status status = give_roles(search);
    if (!status)
        status = make_columns(search);
    if (!status && !search->rules.extended)
        status = check_columns(search);
    if (status || search->outcome)
        return status;
    search->rounded = needs_rounding(search->events);
    for (row_t event = 0; event < search->events->n && !search->outcome; event++)
        take_row(search, event);
    if (!search->outcome && search->n_full == 0)
        return stop_crash(search, "no event has a duration and a category");
    shift_times(search);
    gather_roles(search);
    return SUTRA_OK;
}
