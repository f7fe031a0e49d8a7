/*
 * window.c - trims the trace, and finds the window: the events that count, by time, without data loading.
 *
 * Input: all events. Output: events with a duration, sorted by start (ascending), then duration (descending), then file
 * order, without events that start while data is loaded:
 *
 *     DataLoader      ## Forward ##           DataLoader      ## Forward ##
 *     |-- skipped ----|-- kept ---------------|-- skipped ----|-- kept ---
 *
 * and without the last event, which the notebook drops too. By our rules GPU activity is kept. Cost: O(n log n) for the
 * sort.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "base/error.h"
#include "text/strings.h"

/*
 * ---- Trimming: some iterations, a time range, or all events ----
 *
 * Finds rows in file order, or NULL for all, and their number of iterations. An iteration begins with each event whose
 * name contains DataLoader or, without such events, ## Forward ##, in file order. Cost: O(n).
 */

#define ITERS_DEFAULT 10

struct trim_span {
    struct number from, to;
    bool with_from, with_to; /* whether the span includes its ends */
};

static bool has_ts(const struct dlrm_work *work, row_t event) {
    return (work->events->flags[event] & EVENT_HAS_TS) != 0;
}

static enum sutra_status keep_span(struct dlrm_work *work, const struct trim_span *span, struct dlrm_trimmed *trimmed,
                                   struct sutra_error *error) {
    trimmed->rows = arena_alloc(work->arena, work->events->n, sizeof *trimmed->rows);
    TRY(arena_status(work->arena, error));
    for (row_t event = 0; event < work->events->n; event++) {
        if (!has_ts(work, event))
            continue;
        int from = number_compare(event_ts(work, event), span->from);
        int to = number_compare(event_ts(work, event), span->to);
        if ((from > 0 || (span->with_from && from == 0)) && (to < 0 || (span->with_to && to == 0)))
            trimmed->rows[trimmed->n++] = event;
    }
    return SUTRA_OK;
}

/* ---- Iterations ---- */

/* The span from event number `skip` of this role to the event `iters` later; false if there are too few events. */
static bool find_iterations(const struct dlrm_work *work, uint32_t role, uint64_t skip, uint64_t iters,
                            struct trim_span *span) {
    uint64_t n = 0;
    for (row_t event = 0; event < work->events->n; event++) {
        if (!event_is(work, event, role) || !has_ts(work, event))
            continue;
        if (n == skip)
            span->from = event_ts(work, event);
        if (n++ - skip == iters) {
            span->to = event_ts(work, event);
            return true;
        }
    }
    return false;
}

/* Counts the kept CPU events of the role with a duration of more than `us`. */
static uint64_t count_iterations(const struct dlrm_work *work, const struct dlrm_trimmed *trimmed, uint32_t role,
                                 int64_t us) {
    uint64_t n = 0;
    for (row_t i = 0; i < trimmed->n; i++) {
        row_t event = dlrm_trimmed_at(trimmed, i);
        n += event_is(work, event, role) && work->events->stream[event] == KEY_ABSENT &&
             number_compare(event_dur(work, event), number_integer(us)) > 0;
    }
    return n;
}

static enum sutra_status keep_iterations(struct dlrm_work *work, struct dlrm_trimmed *trimmed,
                                         struct sutra_error *error) {
    const struct sutra_dlrm_options *options = work->options;
    uint64_t iters = options->iters ? options->iters : ITERS_DEFAULT;
    struct trim_span span = {.with_from = true};
    if (find_iterations(work, DLRM_LOADER, options->skip_iters, iters, &span) ||
        find_iterations(work, DLRM_FORWARD, options->skip_iters, iters, &span)) {
        trimmed->iters = iters;
        return keep_span(work, &span, trimmed, error);
    }
    if (options->iters || options->compat)
        context_warn(
            work->context,
            "fewer than %llu iterations (DataLoader or ## Forward ## events) after the first %llu: analyzing the "
            "full trace as %llu iterations",
            (unsigned long long)iters, (unsigned long long)options->skip_iters, (unsigned long long)iters);
    return SUTRA_OK;
}

/* ---- Time ranges ---- */

static enum sutra_status keep_time(struct dlrm_work *work, struct dlrm_trimmed *trimmed, struct sutra_error *error) {
    const struct sutra_dlrm_options *options = work->options;
    struct number first = {0}, last = {0};
    /* First and last start. */
    bool found = false;
    for (row_t event = 0; event < work->events->n; event++) {
        if (!has_ts(work, event))
            continue;
        struct number ts = event_ts(work, event);
        if (!found || number_compare(ts, first) < 0)
            first = ts;
        if (!found || number_compare(ts, last) > 0)
            last = ts;
        found = true;
    }
    if (!found)
        return SUTRA_OK;
    double begin = number_as_double(first), end = number_as_double(last);
    struct trim_span span = {.with_from = true, .with_to = true};
    span.from = number_double(options->from);
    span.to = number_double(options->to);
    if (options->trim == SUTRA_TRIM_PERCENTAGE) {
        double range = end - begin;
        span = (struct trim_span){.from = number_double(begin + options->from / 100 * range),
                                  .to = number_double(begin + options->to / 100 * range)};
    } else if (options->from < begin || options->to > end) {
        return error_file(error, SUTRA_USAGE, work->trace->document.source.name,
                          "the time range is not inside the trace: its events start from %.17g to %.17g us", begin,
                          end);
    }
    return keep_span(work, &span, trimmed, error);
}

enum sutra_status dlrm_trim(struct dlrm_work *work, struct dlrm_trimmed *trimmed, struct sutra_error *error) {
    const struct sutra_dlrm_options *options = work->options;
    enum sutra_status status = SUTRA_OK;
    *trimmed = (struct dlrm_trimmed){0};
    if (options->trim == SUTRA_TRIM_AUTO)
        status = keep_iterations(work, trimmed, error);
    else if (options->trim != SUTRA_TRIM_NONE)
        status = keep_time(work, trimmed, error);
    if (!trimmed->rows)
        trimmed->n = work->events->n;
    if (!trimmed->iters && (options->iters || options->compat))
        trimmed->iters = options->iters ? options->iters : ITERS_DEFAULT;
    /* Count the iterations of the kept events, at least 1. */
    if (!trimmed->iters)
        trimmed->iters = count_iterations(work, trimmed, DLRM_LOADER, 100);
    if (!trimmed->iters)
        trimmed->iters = count_iterations(work, trimmed, DLRM_FORWARD, 0);
    if (!trimmed->iters)
        trimmed->iters = count_iterations(work, trimmed, NAME_STEP, 0);
    trimmed->iters += !trimmed->iters;
    return status;
}

#define LOADER_MIN_US 100

/* The integer that Python's int() returns for an id; false for other values and beyond 64 bits. */
static bool id_integer(const struct dlrm_work *work, value_key id, int64_t *value) {
    char text[24];
    if (key_is_integer(id)) {
        *value = id;
        return true;
    }
    if (id < KEY_VALUES)
        return false;
    struct value odd = values_at(&work->context->values, id);
    if (odd.type != VALUES_STRING || odd.length >= sizeof text)
        return false;
    size_t n = python_int(odd.text, odd.length, text);
    text[n] = 0;
    *value = strtoll(text, NULL, 10);
    return n > 0;
}

/* Calls whose tid is more than twice their pid: no real threads in old traces, but autograd's threads in new ones. */
static bool tid_is_odd(const struct dlrm_work *work, row_t event) {
    int64_t tid, pid;
    if (!event_in(work, event, CATEGORY_RUNTIME) || !id_integer(work, work->events->tid[event], &tid) ||
        !id_integer(work, work->events->pid[event], &pid) || pid == 0)
        return false;
    double ratio = (double)tid / (double)pid;
    return ratio > 2 || ratio < -2;
}

/* ---- Data loading ---- */

static enum sutra_status skip_loading(struct dlrm_work *work, struct dlrm_window *window, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    row_t *loaders = arena_alloc(scratch, window->n, sizeof *loaders);
    row_t *forwards = arena_alloc(scratch, window->n, sizeof *forwards);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (event_is(work, event, DLRM_LOADER) &&
            number_compare(event_dur(work, event), number_integer(LOADER_MIN_US)) > 0)
            loaders[window->n_loaders++] = event;
        if (event_is(work, event, DLRM_FORWARD))
            forwards[window->n_forwards++] = event;
    }
    if (window->n_loaders != window->n_forwards || !window->n_loaders)
        return SUTRA_OK;

    /* The intervals that are not empty; starts and ends ascend. */
    row_t n_skips = 0;
    struct number *skip_from = arena_alloc(scratch, window->n_loaders, sizeof *skip_from);
    struct number *skip_to = arena_alloc(scratch, window->n_loaders, sizeof *skip_to);
    TRY(arena_status(scratch, error));
    /* Data loading lasts from the i-th loader's start to the i-th forward's. */
    for (row_t i = 0; i < ((row_t)window->n_loaders); i++) {
        struct number from = event_ts(work, loaders[i]), to = event_ts(work, forwards[i]);
        window->skipped = number_add(window->skipped, number_subtract(to, from));
        if (number_compare(from, to) >= 0)
            continue;
        skip_from[n_skips] = from;
        skip_to[n_skips++] = to;
    }

    /* Skip rows that start in an interval, where more intervals have begun than ended. By our rules only CPU events
     * are skipped: GPU activity was launched earlier. */
    row_t kept = 0, begun = 0, ended = 0;
    for (row_t i = 0; i < window->n; i++) {
        struct number ts = event_ts(work, window->rows[i]);
        while (begun < n_skips && number_compare(skip_from[begun], ts) <= 0)
            begun++;
        while (ended < n_skips && number_compare(skip_to[ended], ts) <= 0)
            ended++;
        if (begun == ended || (!work->as_notebook && event_is_work(work, window->rows[i])))
            window->rows[kept++] = window->rows[i];
    }
    window->n = kept;
    return SUTRA_OK;
}

/* ---- The window ---- */

static bool has_marker(const struct dlrm_work *work, const struct dlrm_window *window) {
    for (row_t i = 0; i < window->n; i++)
        if (event_is(work, window->rows[i], DLRM_MARKER))
            return true;
    return false;
}

static void set_marker(struct dlrm_work *work, struct dlrm_window *window, const char *marker) {
    for (uint32_t string = 0; string < work->trace->strings.n; string++)
        work->roles[string].name &= ~(uint32_t)DLRM_MARKER;
    names_mark(&work->trace->strings, work->roles, TEXT_BEGINS, marker, DLRM_MARKER);
    window->marker = marker;
}

/* Moves the start after the last entry of a record function before the first label, if it exists. */
static void cut_begin(const struct dlrm_work *work, struct dlrm_window *window) {
    row_t first = 0;
    while (first < window->n &&
           (name_roles(work->events, work->roles, window->rows[first]) & (DLRM_MARKER | DLRM_COLON)) != DLRM_MARKER)
        first++;
    if (first == window->n)
        return;
    while (first > 0 && !event_is(work, window->rows[first - 1], DLRM_ENTER))
        first--;
    if (first == 0)
        return;
    window->begin = event_ts(work, window->rows[first - 1]);
    window->n -= first;
    memmove(window->rows, window->rows + first, window->n * sizeof *window->rows);
}

static enum sutra_status find_window(struct dlrm_work *work, struct dlrm_window *window, struct sutra_error *error) {
    /* Sort stably by descending duration, then stably by ascending start. */
    const struct engine *engine = work->engine;
    struct arena *scratch = &work->scratch;
    row_t *order = arena_alloc(scratch, window->n, sizeof *order),
          *before = arena_alloc(scratch, window->n, sizeof *before);
    struct number_column key = numbers_alloc(scratch, window->n);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < window->n; i++)
        number_set(key, i, number_subtract(number_integer(0), event_dur(work, window->rows[i])));
    TRY(engine->sort_numbers(engine->state, &(struct sort_numbers_step){key, window->n, order}, error));
    for (row_t i = 0; i < window->n; i++) {
        before[i] = window->rows[order[i]];
        number_set(key, i, event_ts(work, before[i]));
    }
    TRY(engine->sort_numbers(engine->state, &(struct sort_numbers_step){key, window->n, order}, error));
    for (row_t i = 0; i < window->n; i++)
        window->rows[i] = before[order[i]];
    /* The requested marker, or the first usual marker that a name begins with. */
    static const char *const usual[] = {"## ", STEP_NAME, ""};
    const char *given = work->options->module_marker;
    set_marker(work, window, given ? given : usual[0]);
    for (size_t i = 1; !given && !work->options->compat && !has_marker(work, window) && i < 3; i++)
        set_marker(work, window, usual[i]);
    if (!has_marker(work, window))
        return error_file(
            error, SUTRA_DATA, work->trace->document.source.name,
            "no event with a duration has a name that begins with the module marker '%s'; select another marker "
            "(--module-marker ProfilerStep, or '' for the first event's thread)",
            window->marker);
    row_t marker = 0; /* its thread is the main thread */
    while (!event_is(work, window->rows[marker], DLRM_MARKER))
        marker++;
    window->main_tid = work->events->tid[window->rows[marker]];
    window->begin = event_ts(work, window->rows[0]);
    window->end = event_ts(work, window->rows[window->n - 1]);
    window->skipped = number_integer(0);
    TRY(skip_loading(work, window, error));
    cut_begin(work, window);
    window->n -= window->n > 0 && (work->as_notebook || !event_is_work(work, window->rows[window->n - 1]));
    return SUTRA_OK;
}

static double device_time(const struct dlrm_work *work, const row_t *rows, row_t n) {
    double us = 0;
    for (row_t i = 0; i < n; i++)
        if (event_is_work(work, rows[i]))
            us += number_as_double(event_dur(work, rows[i]));
    return us;
}

enum sutra_status dlrm_window_find(struct dlrm_work *work, const struct dlrm_trimmed *trimmed,
                                   struct dlrm_window *window, struct sutra_error *error) {
    *window = (struct dlrm_window){.rows = arena_alloc(work->arena, trimmed->n, sizeof *window->rows)};
    TRY_ALLOC(window->rows, error);
    for (row_t i = 0; i < trimmed->n; i++) {
        row_t event = dlrm_trimmed_at(trimmed, i);
        /* Count the reasons for skipping an event. */
        uint16_t flags = work->events->flags[event];
        if (!(flags & EVENT_HAS_DUR))
            continue;
        if (!(flags & EVENT_HAS_TS)) {
            window->n_without_ts++;
            continue;
        }
        if (!work->options->compat && number_compare(event_dur(work, event), number_integer(0)) < 0) {
            window->n_negative++;
            continue;
        }
        bool odd = work->as_notebook && tid_is_odd(work, event);
        window->n_odd_tid += odd;
        if (odd)
            continue;
        window->rows[window->n++] = event;
    }
    if (!window->n)
        return error_file(error, SUTRA_DATA, work->trace->document.source.name,
                          "none of the %" PRIu32 " events has a start time and a duration: nothing to analyze",
                          trimmed->n);
    struct arena_mark mark = arena_mark(&work->scratch);
    window->device_us = device_time(work, window->rows, window->n);
    enum sutra_status status = find_window(work, window, error);
    window->selected_us = device_time(work, window->rows, window->n);
    arena_release(&work->scratch, mark);
    return status;
}
