/*
 * window.c - which rows the path may use: those of complete steps, in the annotation's window.
 *
 * Where there are several steps the reference leaves out the last one and what comes after it; a row of the GPU stays if
 * a row of the CPU of its correlation stays. The order of rows then is: GPU rows, CPU rows, each as in the file.
 *
 * In the window are rows without a stream that begin in it, and rows on a stream whose call does.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "critical_path/analysis.h"
#include "match/key_index.h"

/* Whether a step's name is as the reference reads it: ProfilerStep, "#", digits, with white space between. */
static bool is_step_name(const char *text) {
    text += strlen("ProfilerStep");
    while (isspace((unsigned char)*text))
        text++;
    if (*text++ != '#')
        return false;
    while (isspace((unsigned char)*text))
        text++;
    return isdigit((unsigned char)*text);
}

static enum sutra_status check_step_names(struct analysis *analysis) {
    const struct strings *strings = &analysis->trace->strings;
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *text = strings_text(strings, string);
        uint32_t role = analysis->roles[string];
        if (role & NAME_USED && role & NAME_STEP && strncmp(text, "ProfilerStep", 12) == 0 && !is_step_name(text))
            return stop_crash(analysis, "the name \"%.100s\" has no step number", text);
    }
    return SUTRA_OK;
}

static uint32_t count_step_strings(const struct analysis *analysis) {
    uint32_t n = 0;
    for (uint32_t string = 0; string < analysis->trace->strings.n; string++) {
        uint32_t role = analysis->roles[string];
        n += role & NAME_STEP && role & (NAME_USED | CATEGORY_USED);
    }
    return n;
}

/* Start of the last step, or INT64_MIN where no row of the CPU is a step. */
static int64_t last_step(const struct analysis *analysis) {
    int64_t last = INT64_MIN;
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        bool step = !(analysis->state[event] & ROW_GPU) && name_has(analysis, event, NAME_STEP);
        if (step && analysis->ts[event] > last)
            last = analysis->ts[event];
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

static enum sutra_status keep_cpu_rows(struct analysis *analysis, struct kept_rows *kept) {
    int64_t last = last_step(analysis);
    kept->rows = malloc(((size_t)analysis->n_full + 1) * sizeof *kept->rows);
    kept->keys = malloc(((size_t)analysis->n_full + 1) * sizeof *kept->keys);
    kept->repeated = calloc((size_t)analysis->n_full + 1, 1);
    if (!kept->rows || !kept->keys || !kept->repeated)
        return error_memory(analysis->error);
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        if (analysis->state[event] & ROW_GPU || analysis->ts[event] >= last)
            continue;
        kept->keys[kept->n] = analysis->events->correlation[event];
        kept->rows[kept->n++] = event;
    }
    enum sutra_status status = key_index_build(&kept->index, &analysis->context->engine, kept->keys, kept->n,
                                               KEY_FIRST, NULL, analysis->error);
    for (row_t i = 0; i < kept->n && !status; i++) {
        row_t first = key_index_find(&kept->index, kept->keys[i]);
        kept->repeated[first] |= first != i;
    }
    return status;
}

static enum sutra_status keep_gpu_rows(struct analysis *analysis, const struct kept_rows *kept) {
    row_t n = 0;
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        if (!(analysis->state[event] & ROW_GPU))
            continue;
        row_t found = key_index_find(&kept->index, analysis->events->correlation[event]);
        if (found == ROW_NONE)
            continue;
        if (kept->repeated[found] && analysis->link[event] != ROW_NONE && analysis->link[event] > 0)
            return stop_empty(analysis, "several calls have the correlation of event %u", event);
        analysis->full[n++] = event;
    }
    memcpy(analysis->full + n, kept->rows, kept->n * sizeof *kept->rows);
    analysis->n_full = n + kept->n;
    return SUTRA_OK;
}

static enum sutra_status drop_last_step(struct analysis *analysis) {
    struct kept_rows kept = {0};
    enum sutra_status status = keep_cpu_rows(analysis, &kept);
    if (!status)
        status = keep_gpu_rows(analysis, &kept);
    free(kept.rows);
    free(kept.keys);
    free(kept.repeated);
    key_index_free(&kept.index);
    return status;
}

/* Finds the row of the annotation; with extended rules rows on the CPU are preferred. */
static row_t find_annotation(const struct analysis *analysis, bool cpu_only) {
    uint64_t n_before = analysis->rules.instance;
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        if (!name_has(analysis, event, NAME_ANNOTATION) || (cpu_only && analysis->state[event] & ROW_GPU))
            continue;
        if (n_before-- == 0)
            return event;
    }
    return ROW_NONE;
}

static enum sutra_status set_window(struct analysis *analysis) {
    const char *name = analysis->rules.annotation;
    analysis->window_begin = INT64_MIN;
    analysis->window_end = INFINITY;
    if (!name)
        return SUTRA_OK;
    row_t row = ROW_NONE;
    if (analysis->rules.extended)
        row = find_annotation(analysis, true);
    if (row == ROW_NONE)
        row = find_annotation(analysis, false);
    if (row == ROW_NONE && analysis->rules.instance == 0)
        return stop_crash(analysis, "no event's name contains \"%.100s\"", name);
    if (row == ROW_NONE)
        return stop_crash(analysis, "there is no instance %llu of \"%.100s\"",
                          (unsigned long long)analysis->rules.instance, name);
    analysis->annotation = row;
    analysis->window_begin = analysis->ts[row];
    analysis->window_end = (double)analysis->ts[row] + analysis->dur[row];
    return SUTRA_OK;
}

static bool begins_inside(const struct analysis *analysis, row_t event) {
    return analysis->ts[event] >= analysis->window_begin && (double)analysis->ts[event] <= analysis->window_end;
}

static bool is_inside(const struct analysis *analysis, row_t event) {
    return begins_inside(analysis, event) && analysis->dur[event] > 0;
}

/* Calls per row that they caused, up to 2. */
struct calls {
    uint8_t *inside, *all;
};

static void count_calls(const struct analysis *analysis, struct calls *calls) {
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i], caused = analysis->link[event];
        if (on_stream(analysis, event) || caused == ROW_NONE)
            continue;
        calls->all[caused] = (uint8_t)(calls->all[caused] + (calls->all[caused] < 2));
        if (is_inside(analysis, event))
            calls->inside[caused] = (uint8_t)(calls->inside[caused] + (calls->inside[caused] < 2));
    }
}

/* How often the reference would take a row on a stream: 2 is more than it can bear. */
static int times_taken(const struct analysis *analysis, const struct calls *calls, row_t event) {
    if (analysis->rules.extended) {
        row_t call = analysis->link[event];
        return call == ROW_NONE ? begins_inside(analysis, event) : is_inside(analysis, call);
    }
    if (name_has(analysis, event, NAME_STREAM_WAIT))
        return calls->all[event] > 1 ? calls->all[event] : 1;
    return calls->inside[event];
}

static enum sutra_status clip_rows(struct analysis *analysis, const struct calls *calls) {
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        int times = on_stream(analysis, event) ? times_taken(analysis, calls, event) : is_inside(analysis, event);
        if (times > 1)
            return stop_empty(analysis, "several calls have the correlation of event %u", event);
        if (times && !(analysis->state[event] & ROW_CLIPPED)) {
            analysis->state[event] |= ROW_CLIPPED;
            analysis->n_clipped++;
        }
    }
    if (analysis->n_clipped == 0)
        return stop_empty(analysis, "nothing happens in the window");
    analysis->clipped = malloc(((size_t)analysis->n_clipped + 1) * sizeof *analysis->clipped);
    if (!analysis->clipped)
        return error_memory(analysis->error);
    row_t n = 0;
    for (row_t event = 0; event < analysis->events->n; event++)
        if (analysis->state[event] & ROW_CLIPPED)
            analysis->clipped[n++] = event;
    return SUTRA_OK;
}

static enum sutra_status clip(struct analysis *analysis) {
    size_t n = (size_t)analysis->events->n + 1;
    struct calls calls = {.inside = calloc(n, 1), .all = calloc(n, 1)};
    enum sutra_status status = SUTRA_OK;
    if (!calls.inside || !calls.all) {
        status = error_memory(analysis->error);
    } else {
        count_calls(analysis, &calls);
        status = clip_rows(analysis, &calls);
    }
    free(calls.inside);
    free(calls.all);
    return status;
}

enum sutra_status window_find(struct analysis *analysis) {
    enum sutra_status status = SUTRA_OK;
    if (!analysis->rules.extended) {
        uint32_t n_steps = count_step_strings(analysis);
        status = check_step_names(analysis);
        if (!status && !analysis->outcome && n_steps > 1)
            status = drop_last_step(analysis);
    }
    for (row_t i = 0; i < analysis->n_full; i++)
        analysis->state[analysis->full[i]] |= ROW_FULL;
    if (!status && !analysis->outcome)
        status = set_window(analysis);
    if (!status && !analysis->outcome)
        status = clip(analysis);
    return status;
}
