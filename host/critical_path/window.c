/*
 * window.c - which rows the path may use: those of complete steps, in the annotation's window.
 *
 * Where there are several steps the reference leaves out the last one and what comes after it; a row of the GPU stays
 * if a row of the CPU of its correlation stays. The order of rows then is: GPU rows, CPU rows, each as in the file.
 *
 * In the window are rows without a stream that begin in it, and rows on a stream whose call does.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "critical_path/path_search.h"
#include "match/key_index.h"

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
