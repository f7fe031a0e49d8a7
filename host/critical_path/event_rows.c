/*
 * event_rows.c - selects the events that the critical path may use: their times, streams, links and window.
 *
 * An event counts if it has a duration and a category other than "Trace". If at least one start of the trace is missing
 * or no integer, all times are rounded to whole microseconds: starts up, ends down. So starts are always integers;
 * durations have fractions only if all starts are integers.
 *
 * Links: a call and the GPU activity with the same correlation.
 *
 * Window: if there are several profiler steps, HTA drops the last step and all later rows. A GPU row stays if a CPU row
 * with its correlation stays. The remaining rows are listed GPU rows first, then CPU rows, each in file order. The
 * window contains the rows without a stream that start in the annotation's time range, and the rows on a stream whose
 * call does. Cost: O(events).
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "critical_path/path.h"
#include "facts/launches.h"
#include "facts/profiler_steps.h"
#include "facts/times.h"
#include "match/key_index.h"

__attribute__((format(printf, 3, 0))) static void set_verdict(struct path_verdict *verdict, enum outcome outcome,
                                                              const char *format, va_list arguments) {
    verdict->outcome = outcome;
    vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
}

enum sutra_status stop_empty(const struct path_work *work, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set_verdict(work->verdict, OUTCOME_EMPTY, format, arguments);
    va_end(arguments);
    return SEARCH_ENDED;
}

enum sutra_status stop_crash(const struct path_work *work, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set_verdict(work->verdict, OUTCOME_CRASH, format, arguments);
    va_end(arguments);
    return SEARCH_ENDED;
}

enum sutra_status links_find(struct path_work *work, struct path_rows *rows) {
    rows->link = arena_alloc(work->results, work->events->n, sizeof *rows->link);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < rows->n; i++) {
        value_key key = work->events->correlation[rows->list[i]];
        if (!key_is_integer(key) && !work->rules.extended)
            return stop_crash(work, "event %u: its correlation is not an integer", rows->list[i]);

        /* In HTA, the partner of an unmatched correlation is row 0, unless the correlation is negative. */
        rows->link[rows->list[i]] = is_correlation(key) && key >= 0 && !work->rules.extended ? 0 : ROW_NONE;
    }
    return correlation_partners(work->events, rows->list, rows->n, rows->state, ROW_GPU, work->engine, &work->scratch,
                                rows->link, work->error);
}

/* ---- Window ---- */

/* Drops the last step and all later rows. */
static enum sutra_status drop_last_step(struct path_work *work, struct path_rows *rows) {
    struct arena_mark mark = arena_mark(&work->scratch);
    row_t *kept = arena_alloc(&work->scratch, rows->n, sizeof *kept), n_kept = 0, n = 0; /* the CPU rows that stay */
    value_key *keys = arena_alloc(&work->scratch, rows->n, sizeof *keys);
    uint8_t *repeated = arena_zeros(&work->scratch, rows->n, 1); /* another row has its correlation */
    struct key_index index = {0};
    TRY(work_check_memory(work));
    int64_t last_step = INT64_MIN;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & ROW_GPU) && name_has(rows, event, NAME_STEP))
            last_step = MAX(rows->ts[event], last_step);
    }
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (rows->state[event] & ROW_GPU || rows->ts[event] >= last_step)
            continue;
        keys[n_kept] = work->events->correlation[event];
        kept[n_kept++] = event;
    }
    enum sutra_status status = key_index_build(&index, work->engine, keys, n_kept, KEY_FIRST, NULL, work->error);
    for (row_t i = 0; i < n_kept && !status; i++) {
        row_t first = key_index_find(&index, keys[i]);
        repeated[first] |= first != i;
    }
    for (row_t i = 0; i < rows->n && !status; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & ROW_GPU))
            continue;
        row_t found = key_index_find(&index, work->events->correlation[event]);
        if (found == ROW_NONE)
            continue;
        if (repeated[found] && rows->link[event] != ROW_NONE && rows->link[event] > 0)
            status = stop_empty(work, "several calls have the correlation of event %u", event);
        rows->list[n++] = event;
    }
    if (!status) {
        memcpy(rows->list + n, kept, n_kept * sizeof *kept);
        rows->n = n + n_kept;
    }
    key_index_free(&index);
    arena_release(&work->scratch, mark);
    return status;
}

/* Finds the row of the annotation. */
static row_t find_annotation(const struct path_work *work, const struct path_rows *rows, bool cpu_only) {
    uint64_t n_before = work->rules.instance;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!name_has(rows, event, NAME_ANNOTATION) || (cpu_only && rows->state[event] & ROW_GPU))
            continue;
        if (n_before-- == 0)
            return event;
    }
    return ROW_NONE;
}

/* Sets the window to the time range of the selected steps, by CPU rows if a step has one. */
static enum sutra_status set_step_window(const struct path_work *work, const struct path_rows *rows,
                                         struct path_window *window) {
    snprintf(window->steps, sizeof window->steps, STEP_NAME "#%.60s", work->rules.step);
    uint8_t skipped_state = ROW_GPU;
    for (int pass = 0; pass < 2 && window->annotation == ROW_NONE; pass++, skipped_state = 0)
        for (row_t i = 0; i < rows->n; i++) {
            row_t event = rows->list[i];
            if (!name_has(rows, event, NAME_ANNOTATION) || rows->state[event] & skipped_state)
                continue;
            const double end = (double)rows->ts[event] + rows->dur[event];
            bool is_first = window->annotation == ROW_NONE;
            window->begin = is_first ? rows->ts[event] : MIN(window->begin, rows->ts[event]);
            window->end = is_first ? end : fmax(window->end, end);
            window->annotation = is_first ? event : window->annotation;
        }
    if (window->annotation != ROW_NONE)
        return SUTRA_OK;
    char text[200];
    profiler_steps_explain(&work->trace->strings, work->rules.step, text, sizeof text);
    return stop_crash(work, "%s", text);
}

/* Sets the window to the time range of the annotation. The extended rules prefer CPU rows. */
static enum sutra_status set_window(const struct path_work *work, const struct path_rows *rows,
                                    struct path_window *window) {
    const char *name = work->rules.annotation;
    window->begin = INT64_MIN;
    window->end = INFINITY;
    if (work->rules.step)
        return set_step_window(work, rows, window);
    if (!name || !*name)
        return SUTRA_OK;
    row_t row = ROW_NONE;
    if (work->rules.extended)
        row = find_annotation(work, rows, true);
    if (row == ROW_NONE)
        row = find_annotation(work, rows, false);
    if (row == ROW_NONE && work->rules.instance == 0)
        return stop_crash(work, "no event name contains \"%.100s\"", name);
    if (row == ROW_NONE)
        return stop_crash(work, "instance %llu of \"%.100s\" not found", (unsigned long long)work->rules.instance,
                          name);
    window->annotation = row;
    window->begin = rows->ts[row];
    window->end = (double)rows->ts[row] + rows->dur[row];
    return SUTRA_OK;
}

static bool begins_inside(const struct path_rows *rows, const struct path_window *window, row_t event) {
    return rows->ts[event] >= window->begin && (double)rows->ts[event] <= window->end;
}

static bool is_inside(const struct path_rows *rows, const struct path_window *window, row_t event) {
    return begins_inside(rows, window, event) && (rows->dur[event] > 0 || (window->timeless && rows->dur[event] >= 0));
}

/* Marks and lists the rows in the window. */
static enum sutra_status clip_rows(struct path_work *work, struct path_rows *rows, struct path_window *window) {
    /* By row on a stream: its calls in the window, and all its calls; at most 2. */
    uint8_t *calls_inside = arena_zeros(&work->scratch, work->events->n, 1);
    uint8_t *calls = arena_zeros(&work->scratch, work->events->n, 1);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], caused = rows->link[event];
        if (on_stream(rows, event) || caused == ROW_NONE)
            continue;
        calls[caused] = (uint8_t)(calls[caused] + (calls[caused] < 2));
        if (is_inside(rows, window, event))
            calls_inside[caused] = (uint8_t)(calls_inside[caused] + (calls_inside[caused] < 2));
    }
    for (row_t i = 0; i < rows->n; i++) {
        /* How often HTA selects the row. HTA fails on rows that it selects twice. */
        row_t event = rows->list[i], call = rows->link[event];
        int n_selections;
        if (!on_stream(rows, event))
            n_selections = is_inside(rows, window, event);
        else if (work->rules.extended)
            n_selections = call == ROW_NONE ? begins_inside(rows, window, event) : is_inside(rows, window, call);
        else
            n_selections = name_has(rows, event, NAME_STREAM_WAIT) ? MAX(calls[event], 1) : calls_inside[event];
        if (n_selections > 1)
            return stop_empty(work, "several calls have the correlation of event %u", event);
        if (n_selections && !(rows->state[event] & ROW_CLIPPED)) {
            rows->state[event] |= ROW_CLIPPED;
            window->n++;
        }
    }
    if (window->n == 0)
        return stop_empty(work, "no events in the window");
    window->rows = arena_alloc(work->results, window->n, sizeof *window->rows);
    TRY(arena_status(work->results, work->error));
    row_t n = 0;
    for (row_t event = 0; event < work->events->n; event++)
        if (rows->state[event] & ROW_CLIPPED)
            window->rows[n++] = event;
    return SUTRA_OK;
}

enum sutra_status window_find(struct path_work *work, struct path_rows *rows, struct path_window *window) {
    if (!work->rules.extended) {
        /* HTA needs a number in each name that begins with STEP_NAME. */
        const struct strings *strings = &work->trace->strings;
        for (uint32_t string = 0; string < strings->n; string++) {
            const char *text = strings_text(strings, string);
            bool used = rows->roles[string].name & NAME_USED;
            if (used && text_compare(strings, string, TEXT_BEGINS, STEP_NAME) &&
                !profiler_step_number(text, strings_length(strings, string), STEPS_HTA))
                return stop_crash(work, "the name \"%.100s\" has no step number", text);
        }
        if (names_count_steps(strings, rows->roles) > 1)
            TRY(drop_last_step(work, rows));
    }
    for (row_t i = 0; i < rows->n; i++)
        rows->state[rows->list[i]] |= ROW_FULL;
    TRY(set_window(work, rows, window));

    /* By the extended rules, rows of length 0 count if the window has no others. */
    window->timeless = work->rules.extended;
    for (row_t i = 0; i < rows->n && window->timeless; i++)
        if (begins_inside(rows, window, rows->list[i]) && rows->dur[rows->list[i]] > 0)
            window->timeless = false;
    struct arena_mark mark = arena_mark(&work->scratch);
    TRY(clip_rows(work, rows, window));
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}

/* ---- Fields of the events ---- */

/* Whether the event has a category with which it counts. */
static enum sutra_status has_category(const struct path_work *work, const struct path_rows *rows, row_t event,
                                      bool *has) {
    bool is_string = work->events->category[event] != STRING_NONE;
    *has = is_string && !category_has(rows, event, CATEGORY_TRACE);
    if (is_string && !category_has(rows, event, CATEGORY_EMPTY))
        return SUTRA_OK;

    /* The column does not distinguish absent and malformed categories. Check the first character in the file. */
    struct event_spans places;
    event_find(work->trace, event, NULL, &places);
    size_t at = places.field[FIELD_CATEGORY].at;
    char first = at ? work->trace->document.source.bytes[at] : 0;
    *has = first == '"';
    if (first && first != '"' && first != 'n' && !work->rules.extended)
        return stop_crash(work, "event %u: its category is not a string", event);
    return SUTRA_OK;
}

/* Appends the row of an event if the event counts. */
static enum sutra_status add_event(struct path_work *work, struct path_rows *rows, const struct time_rules *rules,
                                   row_t event) {
    struct event_time time;
    bool counts;
    enum time_state state = time_read(work->events, event, rules, &time);
    rows->n_untimed += state == TIME_NO_START;
    if (state == TIME_NO_DURATION || state == TIME_NO_START)
        return SUTRA_OK;
    TRY(has_category(work, rows, event, &counts));
    if (!counts)
        return SUTRA_OK;
    uint16_t flags = work->events->flags[event];
    if ((!(flags & EVENT_HAS_NAME) || flags & EVENT_NAME_NO_STRING) && !work->rules.extended)
        return stop_crash(work, "event %u: its name is not a string", event);
    if (state == TIME_TOO_LARGE)
        return stop_crash(work, "event %u: its times are too large", event);
    rows->ts[event] = (int64_t)time.start.bits;
    rows->dur[event] = number_as_double(time.dur);
    rows->roles[work->events->name[event]].name |= NAME_USED;
    rows->roles[work->events->category[event]].category |= CATEGORY_USED;
    /* The stream. By the extended rules, a string of digits is a number, other strings are names. */
    value_key stream = work->events->stream[event];
    rows->stream[event] = stream;
    if (!key_is_integer(stream) && stream != KEY_ABSENT && !work->rules.extended)
        return stop_crash(work, "event %u: its stream is not an integer", event);
    struct event_spans places;
    if (stream == KEY_ABSENT || stream == KEY_NULL || stream == KEY_UNHASHABLE) {
        rows->stream[event] = STREAM_NONE;
    } else if (!key_is_integer(stream)) {
        event_find(work->trace, event, NULL, &places);
        field_int(&work->reader, places.field[FIELD_STREAM], &rows->stream[event]);
    }
    if (flags & EVENT_HAS_WAIT) {
        event_find(work->trace, event, NULL, &places);
        struct wait_row wait = {.event = event,
                                .stream = event_key(&work->reader, &places, FIELD_WAIT_STREAM, STREAM_NONE),
                                .record = event_key(&work->reader, &places, FIELD_WAIT_RECORD, -1)};
        if (!key_is_integer(wait.stream) && !work->rules.extended)
            return stop_crash(work, "event %u: its wait_on_stream is not an integer", event);
        rows->waits[rows->n_waits++] = wait;
    }
    bool on_gpu = (work->rules.extended ? on_stream(rows, event) : rows->stream[event] > 0) ||
                  name_has(rows, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
    rows->state[event] = (uint8_t)(ROW_KEPT | (on_gpu ? ROW_GPU : 0));
    rows->list[rows->n++] = event;
    return SUTRA_OK;
}

enum sutra_status rows_read(struct path_work *work, struct path_rows *rows) {
    const struct time_rules rules = {.whole = times_are_rounded(times_inspect(work->events)),
                                     .skips_unusable = work->rules.extended,
                                     .max_start = (double)NUMBER_INTEGER_LIMIT,
                                     .max_dur = DBL_MAX};
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
    if (work->rules.step)
        profiler_steps_mark(strings, rows->roles, work->rules.step, NAME_ANNOTATION);
    else if (work->rules.annotation)
        names_mark(strings, rows->roles, TEXT_HAS, work->rules.annotation, NAME_ANNOTATION);
    row_t n = work->events->n, n_waits = 0;
    for (row_t event = 0; event < n; event++)
        n_waits += (work->events->flags[event] & EVENT_HAS_WAIT) != 0;
    rows->events = work->events;
    rows->ts = arena_alloc(work->results, n, sizeof *rows->ts);
    rows->dur = arena_alloc(work->results, n, sizeof *rows->dur);
    rows->stream = arena_alloc(work->results, n, sizeof *rows->stream);
    rows->state = arena_zeros(work->results, n, sizeof *rows->state);
    rows->list = arena_alloc(work->results, n, sizeof *rows->list);
    rows->waits = arena_alloc(work->results, n_waits, sizeof *rows->waits);
    TRY(work_check_memory(work));

    /* HTA's table has a column for each key that occurs in an event. HTA needs these columns. */
    static const enum event_field needed[] = {FIELD_TS,   FIELD_DUR, FIELD_CATEGORY, FIELD_NAME,
                                              FIELD_ARGS, FIELD_PID, FIELD_TID};
    enum { N_NEEDED = sizeof needed / sizeof *needed };
    uint32_t found = work->rules.extended ? (1u << N_NEEDED) - 1 : 0;
    for (row_t event = 0; event < n && found != (1 << N_NEEDED) - 1; event++) {
        struct event_spans places;
        event_find(work->trace, event, NULL, &places);
        for (int i = 0; i < N_NEEDED; i++)
            found |= (uint32_t)(places.field[needed[i]].at > 0) << i;
    }
    for (int i = 0; i < N_NEEDED; i++)
        if (!(found >> i & 1))
            return stop_crash(work, "no event has the field %s", event_field_name(needed[i]));
    for (row_t event = 0; event < n; event++)
        TRY(add_event(work, rows, &rules, event));
    if (rows->n == 0)
        return stop_crash(work, "no event has a duration and a category");
    times_shift(rows->ts, rows->list, rows->n);

    for (uint32_t string = 0; string < strings->n; string++)
        if (string_is_used(rows->roles[string])) {
            rows->used.name |= rows->roles[string].name;
            rows->used.category |= rows->roles[string].category;
        }
    return SUTRA_OK;
}
