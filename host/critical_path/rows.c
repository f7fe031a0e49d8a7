/*
 * rows.c - which events of the trace count, and the fields that decide about them.
 *
 * An event counts if it has a duration and a category other than "Trace". As soon as one start of the trace is no
 * integer, or missing, all times are rounded to whole microseconds: starts up, ends down. So starts are always
 * integers; a duration may have a fraction only where all starts are integers.
 */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "critical_path/path.h"
#include "critical_path/rows.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "match/key_index.h"

/*
 * Ties rows of calls to the rows of the GPU that they caused; and where the reference ties what belongs to
 * nothing.
 */

/* A correlation without a partner counts as row 0 in the reference, unless it is below 0. */
static row_t link_without_partner(const struct path_work *work, value_key key) {
    return is_correlation(key) && key >= 0 && !work->rules.extended ? 0 : ROW_NONE;
}

enum sutra_status links_find(struct path_work *work, struct path_rows *rows) {
    rows->link = arena_take(work->results, work->events->n, sizeof *rows->link);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++) {
        value_key key = work->events->correlation[rows->list[i]];
        if (!key_is_integer(key) && !work->rules.extended)
            return stop_crash(work, "event %u: its correlation is not an integer", rows->list[i]);
        rows->link[rows->list[i]] = link_without_partner(work, key);
    }
    if (!status)
        status = correlation_partners(work->events, rows->list, rows->n, rows->state, ROW_GPU, work->engine,
                                      &work->scratch, rows->link, work->error);
    return status;
}

/*
 * Which rows the path may use: those of complete steps, in the annotation's window.
 *
 * Where there are several steps the reference leaves out the last one and what comes after it; a row of the GPU stays
 * if a row of the CPU of its correlation stays. The order of rows then is: GPU rows, CPU rows, each as in the file.
 *
 * In the window are rows without a stream that begin in it, and rows on a stream whose call does.
 */

/* Whether a step's name is as the reference reads it: ProfilerStep, "#", digits, with white space between. */
static bool is_step_name(const char *text) {
    text += strlen(STEP_NAME);
    while (isspace((unsigned char)*text))
        text++;
    if (*text++ != '#')
        return false;
    while (isspace((unsigned char)*text))
        text++;
    return isdigit((unsigned char)*text);
}

static enum sutra_status check_step_names(const struct path_work *work, const struct path_rows *rows) {
    const struct strings *strings = &work->trace->strings;
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *text = strings_text(strings, string);
        bool used = rows->roles[string].name & NAME_USED;
        if (used && text_compare(strings, string, TEXT_BEGINS, STEP_NAME) && !is_step_name(text))
            return stop_crash(work, "the name \"%.100s\" has no step number", text);
    }
    return SUTRA_OK;
}

/* Start of the last step, or INT64_MIN where no row of the CPU is a step. */
static int64_t last_step(const struct path_rows *rows) {
    int64_t last = INT64_MIN;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        bool step = !(rows->state[event] & ROW_GPU) && name_has(rows, event, NAME_STEP);
        if (step && rows->ts[event] > last)
            last = rows->ts[event];
    }
    return last;
}

/* The rows of the CPU that stay, with an index of their correlations; repeated[i]: another row has that of row i. */
struct kept_rows {
    row_t *rows;
    value_key *keys;
    uint8_t *repeated;
    row_t n;
    struct key_index index;
};

static enum sutra_status keep_cpu_rows(struct path_work *work, const struct path_rows *rows, struct kept_rows *kept) {
    int64_t last = last_step(rows);
    kept->rows = arena_take(&work->scratch, rows->n, sizeof *kept->rows);
    kept->keys = arena_take(&work->scratch, rows->n, sizeof *kept->keys);
    kept->repeated = arena_zeros(&work->scratch, rows->n, 1);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++) {
        row_t event = rows->list[i];
        if (rows->state[event] & ROW_GPU || rows->ts[event] >= last)
            continue;
        kept->keys[kept->n] = work->events->correlation[event];
        kept->rows[kept->n++] = event;
    }
    if (!status)
        status = key_index_build(&kept->index, work->engine, kept->keys, kept->n, KEY_FIRST, NULL, work->error);
    for (row_t i = 0; i < kept->n && !status; i++) {
        row_t first = key_index_find(&kept->index, kept->keys[i]);
        kept->repeated[first] |= first != i;
    }
    return status;
}

static enum sutra_status keep_gpu_rows(const struct path_work *work, struct path_rows *rows,
                                       const struct kept_rows *kept) {
    row_t n = 0;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & ROW_GPU))
            continue;
        row_t found = key_index_find(&kept->index, work->events->correlation[event]);
        if (found == ROW_NONE)
            continue;
        if (kept->repeated[found] && rows->link[event] != ROW_NONE && rows->link[event] > 0)
            return stop_empty(work, "several calls have the correlation of event %u", event);
        rows->list[n++] = event;
    }
    memcpy(rows->list + n, kept->rows, kept->n * sizeof *kept->rows);
    rows->n = n + kept->n;
    return SUTRA_OK;
}

static enum sutra_status drop_last_step(struct path_work *work, struct path_rows *rows) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct kept_rows kept = {0};
    enum sutra_status status = keep_cpu_rows(work, rows, &kept);
    if (!status)
        status = keep_gpu_rows(work, rows, &kept);
    key_index_free(&kept.index);
    arena_release(&work->scratch, mark);
    return status;
}

/* Finds the row of the annotation; with extended rules rows on the CPU are preferred. */
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

static enum sutra_status set_window(const struct path_work *work, const struct path_rows *rows,
                                    struct path_window *window) {
    const char *name = work->rules.annotation;
    window->begin = INT64_MIN;
    window->end = INFINITY;
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

/* Whether no row in the window takes any time: by extended rules they count nevertheless. */
static bool is_timeless(const struct path_rows *rows, const struct path_window *window) {
    for (row_t i = 0; i < rows->n; i++)
        if (begins_inside(rows, window, rows->list[i]) && rows->dur[rows->list[i]] > 0)
            return false;
    return true;
}

/* Calls per row that they caused, up to 2. */
struct call_counts {
    uint8_t *inside, *all;
};

static void count_calls(const struct path_rows *rows, const struct path_window *window, struct call_counts *calls) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], caused = rows->link[event];
        if (on_stream(rows, event) || caused == ROW_NONE)
            continue;
        calls->all[caused] = (uint8_t)(calls->all[caused] + (calls->all[caused] < 2));
        if (is_inside(rows, window, event))
            calls->inside[caused] = (uint8_t)(calls->inside[caused] + (calls->inside[caused] < 2));
    }
}

/* How often the reference would take a row on a stream: 2 is more than it can bear. */
static int times_taken(const struct path_work *work, const struct path_rows *rows, const struct path_window *window,
                       const struct call_counts *calls, row_t event) {
    if (work->rules.extended) {
        row_t call = rows->link[event];
        return call == ROW_NONE ? begins_inside(rows, window, event) : is_inside(rows, window, call);
    }
    if (name_has(rows, event, NAME_STREAM_WAIT))
        return calls->all[event] > 1 ? calls->all[event] : 1;
    return calls->inside[event];
}

static enum sutra_status clip_rows(const struct path_work *work, struct path_rows *rows, struct path_window *window,
                                   const struct call_counts *calls) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        int times =
            on_stream(rows, event) ? times_taken(work, rows, window, calls, event) : is_inside(rows, window, event);
        if (times > 1)
            return stop_empty(work, "several calls have the correlation of event %u", event);
        if (times && !(rows->state[event] & ROW_CLIPPED)) {
            rows->state[event] |= ROW_CLIPPED;
            window->n++;
        }
    }
    if (window->n == 0)
        return stop_empty(work, "no events in the window");
    window->rows = arena_take(work->results, window->n, sizeof *window->rows);
    if (!window->rows)
        return error_memory(work->error);
    row_t n = 0;
    for (row_t event = 0; event < work->events->n; event++)
        if (rows->state[event] & ROW_CLIPPED)
            window->rows[n++] = event;
    return SUTRA_OK;
}

static enum sutra_status clip(struct path_work *work, struct path_rows *rows, struct path_window *window) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct call_counts calls = {.inside = arena_zeros(&work->scratch, work->events->n, 1),
                                .all = arena_zeros(&work->scratch, work->events->n, 1)};
    enum sutra_status status = work_taken(work);
    if (!status) {
        count_calls(rows, window, &calls);
        status = clip_rows(work, rows, window, &calls);
    }
    arena_release(&work->scratch, mark);
    return status;
}

enum sutra_status window_find(struct path_work *work, struct path_rows *rows, struct path_window *window) {
    enum sutra_status status = SUTRA_OK;
    if (!work->rules.extended) {
        status = check_step_names(work, rows);
        if (!status && names_count_steps(&work->trace->strings, rows->roles) > 1)
            status = drop_last_step(work, rows);
    }
    for (row_t i = 0; i < rows->n; i++)
        rows->state[rows->list[i]] |= ROW_FULL;
    if (!status)
        status = set_window(work, rows, window);
    window->timeless = !status && work->rules.extended && is_timeless(rows, window);
    if (!status)
        status = clip(work, rows, window);
    return status;
}

/*
 * Nesting: which frame ends where. In come the rows of all threads, sorted; out go the beginnings and ends
 * of operators, in order.
 *
 * As in the reference an end closes whatever frame is the innermost. So only the number of ends before each beginning
 * counts, and ends are tokens without an owner until the engine has matched them:
 *
 *     rows     [ a        [ b ]     ]          c begins and ends at once: its end comes before its beginning
 *                             [ c ]
 *     tokens   (  (  )  )  ...
 *
 * At each moment come first the ends up to then, then one end for each row of no length, then the beginnings. Behind
 * the last one all that is open ends. Matching is done twice: all frames, then those that are operators. Cost: a sort
 * of the ends, and what the engine takes.
 */

/* Tokens before they are matched. */
struct tokens {
    struct frame_tokens table;
    row_t *thread_start;
    uint8_t *begins;
    row_t *event; /* of beginnings; of ends, once they are matched */
    row_t *partner;
};

static struct tokens tokens_take(struct arena *arena, uint64_t n, uint32_t n_threads) {
    struct tokens tokens = {.thread_start = arena_zeros(arena, (size_t)n_threads + 1, sizeof *tokens.thread_start),
                            .begins = arena_take(arena, n, 1),
                            .event = arena_take(arena, n, sizeof *tokens.event),
                            .partner = arena_take(arena, n, sizeof *tokens.partner)};
    tokens.table = (struct frame_tokens){0, n_threads, tokens.thread_start, tokens.begins};
    return tokens;
}

static void put_token(struct tokens *tokens, row_t event, bool begins) {
    tokens->begins[tokens->table.n] = begins;
    tokens->event[tokens->table.n++] = event;
}

static void put_ends(struct tokens *tokens, row_t n) {
    while (n-- > 0)
        put_token(tokens, ROW_NONE, false);
}

/* Microseconds that a frame is open: the reference cuts off fractions. */
static int64_t frame_length(const struct path_rows *rows, row_t event) {
    return (int64_t)fmin(fmax(rows->dur[event], 0), (double)NUMBER_INTEGER_LIMIT);
}

/* ---- Ends ---- */

/* The times at which frames of some length end, by thread and time. */
struct ends {
    uint64_t *time;
    row_t *begin; /* which of the rows ends there */
    row_t n;
};

static enum sutra_status sort_ends(struct path_work *work, const struct path_rows *rows, const row_t *row,
                                   const uint32_t *thread, row_t n, struct ends *ends) {
    uint64_t *keys = arena_take(&work->scratch, n, sizeof *keys);
    ends->time = arena_take(&work->scratch, n, sizeof *ends->time);
    ends->begin = arena_take(&work->scratch, n, sizeof *ends->begin);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < n && !status; i++)
        if (frame_length(rows, row[i]) > 0) {
            keys[ends->n] = (uint64_t)(rows->ts[row[i]] + frame_length(rows, row[i]));
            ends->begin[ends->n++] = i;
        }
    if (!status)
        status = work_sort(work, keys, ends->begin, ends->n);
    for (row_t i = 0; i < ends->n && !status; i++)
        keys[i] = thread[ends->begin[i]];
    if (!status)
        status = work_sort(work, keys, ends->begin, ends->n);
    for (row_t i = 0; i < ends->n && !status; i++)
        ends->time[i] = (uint64_t)(rows->ts[row[ends->begin[i]]] + frame_length(rows, row[ends->begin[i]]));
    return status;
}

/* ---- Tokens ---- */

/* Rows and ends of all threads, and how far they have been gone through. */
struct merge {
    const struct path_rows *rows;
    const row_t *row;
    const uint32_t *thread;
    row_t n;
    const struct ends *ends;
    row_t next_row, next_end;
};

/* The ends up to a moment on a thread; `all`: whatever the moment. */
static row_t count_ends(struct merge *merge, uint32_t thread, uint64_t moment, bool all) {
    const struct ends *ends = merge->ends;
    row_t first = merge->next_end;
    while (merge->next_end < ends->n && merge->thread[ends->begin[merge->next_end]] == thread &&
           (all || ends->time[merge->next_end] <= moment))
        merge->next_end++;
    return merge->next_end - first;
}

/* The tokens of the rows that begin together; returns how many of them have no length. */
static row_t put_moment(struct merge *merge, struct tokens *tokens) {
    const struct path_rows *rows = merge->rows;
    row_t begin = merge->next_row, end = begin, n_empty = 0;
    uint32_t thread = merge->thread[begin];
    int64_t now = rows->ts[merge->row[begin]];
    for (; end < merge->n && merge->thread[end] == thread && rows->ts[merge->row[end]] == now; end++)
        n_empty += frame_length(rows, merge->row[end]) == 0;
    put_ends(tokens, count_ends(merge, thread, (uint64_t)now, false));
    put_ends(tokens, n_empty);
    for (row_t i = begin; i < end; i++)
        put_token(tokens, merge->row[i], true);
    merge->next_row = end;
    return n_empty;
}

/* An end that closed nothing leaves a frame open: such are no more than the rows of no length. */
static void put_thread(struct merge *merge, struct tokens *tokens) {
    uint32_t thread = merge->thread[merge->next_row];
    row_t n_empty = 0;
    while (merge->next_row < merge->n && merge->thread[merge->next_row] == thread)
        n_empty += put_moment(merge, tokens);
    put_ends(tokens, count_ends(merge, thread, 0, true));
    put_ends(tokens, n_empty);
}

static uint32_t count_threads(const uint32_t *thread, row_t n) {
    uint32_t n_threads = 0;
    for (row_t i = 0; i < n; i++)
        n_threads += i == 0 || thread[i] != thread[i - 1];
    return n_threads;
}

static enum sutra_status put_tokens(struct path_work *work, const struct path_rows *rows, const row_t *row,
                                    const uint32_t *thread, row_t n, struct tokens *tokens) {
    struct ends ends = {0};
    struct merge merge = {rows, row, thread, n, &ends, 0, 0};
    if (n > ROW_LIMIT / 3)
        return error_set(work->error, SUTRA_DATA, "more than %u events on threads: cut the trace", ROW_LIMIT / 3);
    *tokens = tokens_take(&work->scratch, 3 * (uint64_t)n, count_threads(thread, n));
    enum sutra_status status = sort_ends(work, rows, row, thread, n, &ends);
    for (uint32_t t = 0; t < tokens->table.n_threads && !status; t++) {
        put_thread(&merge, tokens);
        tokens->thread_start[t + 1] = tokens->table.n;
    }
    return status;
}

/* ---- Operators ---- */

/* Gives each end the event that it closes. */
static void name_ends(struct tokens *tokens) {
    for (row_t i = 0; i < tokens->table.n; i++)
        if (!tokens->begins[i])
            tokens->event[i] = tokens->partner[i] == ROW_NONE ? ROW_NONE : tokens->event[tokens->partner[i]];
}

static void keep_operators(const struct path_work *work, const struct path_rows *rows, struct tokens *tokens) {
    row_t n = 0, i = 0;
    for (uint32_t t = 0; t < tokens->table.n_threads; t++) {
        for (; i < tokens->thread_start[t + 1]; i++) {
            if (tokens->event[i] == ROW_NONE || !is_operator(work, rows, tokens->event[i]))
                continue;
            tokens->begins[n] = tokens->begins[i];
            tokens->event[n++] = tokens->event[i];
        }
        tokens->thread_start[t + 1] = n;
    }
    tokens->table.n = n;
}

/* Turns partners into the operators around: of a beginning the one that it is matched with, of an end that of its
 * beginning, which is done by then. */
static void put_above(struct tokens *tokens) {
    for (row_t i = 0; i < tokens->table.n; i++) {
        row_t partner = tokens->partner[i];
        if (!tokens->begins[i])
            tokens->partner[i] = tokens->partner[partner];
        else if (partner != ROW_NONE)
            tokens->partner[i] = tokens->event[partner];
    }
}

enum sutra_status frames_find(struct path_work *work, const struct path_rows *rows, const row_t *row,
                              const uint32_t *thread, row_t n, struct frames *frames) {
    const struct engine *engine = work->engine;
    struct tokens tokens = {0};
    enum sutra_status status = put_tokens(work, rows, row, thread, n, &tokens);
    struct match_frames_step step = {&tokens.table, tokens.partner};
    if (!status)
        status = engine->match_frames(engine->state, &step, work->error);
    if (!status) {
        name_ends(&tokens);
        keep_operators(work, rows, &tokens);
        status = engine->match_frames(engine->state, &step, work->error);
    }
    if (!status)
        put_above(&tokens);
    *frames = (struct frames){tokens.table.n, tokens.table.n_threads, tokens.thread_start,
                              tokens.begins,  tokens.event,           tokens.partner};
    return status;
}

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
