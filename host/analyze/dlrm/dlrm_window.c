/*
 * dlrm_window.c - the events that count, by time, without data loading; where the window begins.
 *
 * In come the rows that trimming left; out go those with a duration, sorted by (start rising, duration falling), file
 * order among equals, less those that begin while data is loaded:
 *
 *     DataLoader      ## Forward ##           DataLoader      ## Forward ##
 *     |-- left out ---|-- kept ---------------|-- left out ---|-- kept ---
 *
 * and less the last one, which the original drops too. O(n log n) for the sort.
 */
#include "analyze/dlrm/dlrm_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/string_text.h"

#define LOADER_LEAST_US 100

/* The integer that Python's int() makes of an id; false for others, and for those beyond 64 bits. */
static bool id_integer(const struct sutra_dlrm *dlrm, value_key id, int64_t *value) {
    const struct strings *odd = &dlrm->context->values.strings;
    char text[24];
    if (key_is_integer(id)) {
        *value = id;
        return true;
    }
    if (id < KEY_VALUES)
        return false;
    uint32_t string = (uint32_t)(id - KEY_VALUES); /* a letter for the type, then the value */
    size_t length = strings_length(odd, string) - 1;
    if (strings_text(odd, string)[0] != VALUES_STRING || length >= sizeof text)
        return false;
    size_t n = python_int(strings_text(odd, string) + 1, length, text);
    text[n] = 0;
    *value = strtoll(text, NULL, 10);
    return n > 0;
}

/* Calls whose tid is more than twice their pid: not real threads in old traces. */
static bool tid_is_odd(const struct sutra_dlrm *dlrm, row_t event) {
    int64_t tid, pid;
    if (!event_in(dlrm, event, CATEGORY_CALL) || !id_integer(dlrm, dlrm->events->tid[event], &tid) ||
        !id_integer(dlrm, dlrm->events->pid[event], &pid) || pid == 0)
        return false;
    double ratio = (double)tid / (double)pid;
    return ratio > 2 || ratio < -2;
}

static bool row_counts(struct sutra_dlrm *dlrm, row_t event) {
    struct sutra_dlrm_report *report = &dlrm->report;
    uint8_t flags = dlrm->events->flags[event];
    if (!(flags & EVENT_HAS_DUR))
        return false;
    if (!(flags & EVENT_HAS_TS)) {
        report->n_without_ts++;
        return false;
    }
    if (!dlrm->options.compat && number_compare(event_dur(dlrm, event), number_integer(0)) < 0) {
        report->n_negative++;
        return false;
    }
    bool odd = tid_is_odd(dlrm, event);
    report->n_odd_tid += odd;
    return !odd;
}

/* ---- Order ---- */

/* Stably by falling duration, then stably by rising start. */
static enum sutra_status sort_rows(const struct sutra_dlrm *dlrm, row_t *rows, row_t n, struct sutra_error *error) {
    const struct engine *engine = &dlrm->context->engine;
    row_t *order = column_new(n, sizeof *order), *before = column_new(n, sizeof *before);
    struct number_column key = {0};
    enum sutra_status status = SUTRA_OK;
    if (!order || !before || !numbers_new(&key, n)) {
        status = error_memory(error);
        goto out;
    }
    for (row_t i = 0; i < n; i++)
        number_put(key, i, number_subtract(number_integer(0), event_dur(dlrm, rows[i])));
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){key, n, order}, error);
    if (status)
        goto out;
    for (row_t i = 0; i < n; i++) {
        before[i] = rows[order[i]];
        number_put(key, i, event_ts(dlrm, before[i]));
    }
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){key, n, order}, error);
    for (row_t i = 0; i < n && !status; i++)
        rows[i] = before[order[i]];
out:
    free(order);
    free(before);
    numbers_free(&key);
    return status;
}

/* ---- Data loading ---- */

struct skips {
    struct number *from, *to; /* of each interval that is not empty, both rising */
    row_t n;
};

/* The i-th loader's start to the i-th forward's, of which there must be as many. */
static void pair_loaders(struct sutra_dlrm *dlrm, const row_t *loaders, const row_t *forwards, row_t n,
                         struct skips *skips) {
    struct number *skipped = &dlrm->window.skipped;
    for (row_t i = 0; i < n; i++) {
        struct number from = event_ts(dlrm, loaders[i]), to = event_ts(dlrm, forwards[i]);
        *skipped = number_add(*skipped, number_subtract(to, from));
        if (number_compare(from, to) >= 0)
            continue;
        skips->from[skips->n] = from;
        skips->to[skips->n++] = to;
    }
}

/* Leaves out rows whose start lies in an interval: as many have begun as have ended where it lies in none. */
static row_t leave_out(const struct sutra_dlrm *dlrm, const struct skips *skips, row_t *rows, row_t n) {
    row_t kept = 0, begun = 0, ended = 0;
    for (row_t i = 0; i < n; i++) {
        struct number ts = event_ts(dlrm, rows[i]);
        while (begun < skips->n && number_compare(skips->from[begun], ts) <= 0)
            begun++;
        while (ended < skips->n && number_compare(skips->to[ended], ts) <= 0)
            ended++;
        if (begun == ended)
            rows[kept++] = rows[i];
    }
    return kept;
}

static enum sutra_status skip_loading(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct dlrm_window *window = &dlrm->window;
    struct sutra_dlrm_report *report = &dlrm->report;
    row_t *loaders = column_new(window->n, sizeof *loaders), *forwards = column_new(window->n, sizeof *forwards);
    struct skips skips = {0};
    enum sutra_status status = SUTRA_OK;
    if (!loaders || !forwards) {
        status = error_memory(error);
        goto out;
    }
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (event_is(dlrm, event, NAME_LOADER) &&
            number_compare(event_dur(dlrm, event), number_integer(LOADER_LEAST_US)) > 0)
            loaders[report->n_loaders++] = event;
        if (event_is(dlrm, event, NAME_FORWARD))
            forwards[report->n_forwards++] = event;
    }
    if (report->n_loaders != report->n_forwards || !report->n_loaders)
        goto out;
    skips.from = column_new(report->n_loaders, sizeof *skips.from);
    skips.to = column_new(report->n_loaders, sizeof *skips.to);
    if (!skips.from || !skips.to) {
        status = error_memory(error);
        goto out;
    }
    pair_loaders(dlrm, loaders, forwards, (row_t)report->n_loaders, &skips);
    window->n = leave_out(dlrm, &skips, window->rows, window->n);
out:
    free(loaders);
    free(forwards);
    free(skips.from);
    free(skips.to);
    return status;
}

/* ---- The window ---- */

static bool has_marker(const struct sutra_dlrm *dlrm) {
    const struct dlrm_window *window = &dlrm->window;
    for (row_t i = 0; i < window->n; i++)
        if (event_is(dlrm, window->rows[i], NAME_MARKER))
            return true;
    return false;
}

static void take_marker(struct sutra_dlrm *dlrm, const char *marker) {
    for (uint32_t string = 0; string < dlrm->trace->strings.n; string++) {
        dlrm->roles[string] &= ~(uint32_t)NAME_MARKER;
        if (text_begins(&dlrm->trace->strings, string, marker))
            dlrm->roles[string] |= NAME_MARKER;
    }
    dlrm->report.marker = marker;
}

/* The marker that was asked for, or the first one that some name begins with. */
static enum sutra_status choose_marker(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    static const char *const usual[] = {"## ", "ProfilerStep", ""};
    take_marker(dlrm, dlrm->marker ? dlrm->marker : usual[0]);
    for (size_t i = 1; !dlrm->marker && !dlrm->options.compat && !has_marker(dlrm) && i < 3; i++)
        take_marker(dlrm, usual[i]);
    if (has_marker(dlrm))
        return SUTRA_OK;
    return error_file(error, SUTRA_DATA, dlrm->trace->document.source.name,
                      "no event with a duration has a name that begins with the module marker '%s'; give another one "
                      "(--module-marker ProfilerStep, or '' for the first event's thread)",
                      dlrm->report.marker);
}

static void find_main_thread(struct sutra_dlrm *dlrm) {
    struct dlrm_window *window = &dlrm->window;
    for (row_t i = 0; i < window->n; i++)
        if (event_is(dlrm, window->rows[i], NAME_MARKER)) {
            window->main_tid = dlrm->events->tid[window->rows[i]];
            return;
        }
}

/* Begins behind the last entry of a record function before the first label, if there is one. */
static void cut_begin(struct sutra_dlrm *dlrm) {
    struct dlrm_window *window = &dlrm->window;
    row_t first = 0;
    while (first < window->n &&
           (dlrm->roles[dlrm->events->name[window->rows[first]]] & (NAME_MARKER | NAME_COLON)) != NAME_MARKER)
        first++;
    if (first == window->n)
        return;
    while (first > 0 && !event_is(dlrm, window->rows[first - 1], NAME_ENTER))
        first--;
    if (first == 0)
        return;
    window->begin = event_ts(dlrm, window->rows[first - 1]);
    window->n -= first;
    memmove(window->rows, window->rows + first, window->n * sizeof *window->rows);
}

enum sutra_status dlrm_window_find(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct dlrm_window *window = &dlrm->window;
    row_t n = (row_t)dlrm->report.n_events;
    window->rows = column_new(n, sizeof *window->rows);
    if (!window->rows)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        row_t event = dlrm->trimmed ? dlrm->trimmed[i] : i;
        if (row_counts(dlrm, event))
            window->rows[window->n++] = event;
    }
    if (!window->n)
        return error_file(error, SUTRA_DATA, dlrm->trace->document.source.name,
                          "none of %" PRIu64 " events has a start and a duration: there is nothing to analyse",
                          dlrm->report.n_events);
    enum sutra_status status = sort_rows(dlrm, window->rows, window->n, error);
    if (!status)
        status = choose_marker(dlrm, error);
    if (status)
        return status;
    find_main_thread(dlrm);
    window->begin = event_ts(dlrm, window->rows[0]);
    window->end = event_ts(dlrm, window->rows[window->n - 1]);
    window->skipped = number_integer(0);
    status = skip_loading(dlrm, error);
    if (status)
        return status;
    cut_begin(dlrm);
    window->n -= window->n > 0;
    return SUTRA_OK;
}
