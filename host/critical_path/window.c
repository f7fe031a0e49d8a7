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
#include <stdlib.h>
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

static enum sutra_status check_step_names(struct path_search *search) {
    const struct strings *strings = &search->trace->strings;
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *text = strings_text(strings, string);
        bool used = search->roles[string].name & NAME_USED;
        if (used && text_compare(strings, string, TEXT_BEGINS, STEP_NAME) && !is_step_name(text))
            return stop_crash(search, "the name \"%.100s\" has no step number", text);
    }
    return SUTRA_OK;
}

static uint32_t count_step_strings(const struct path_search *search) {
    uint32_t n = 0;
    for (uint32_t string = 0; string < search->trace->strings.n; string++) {
        struct string_roles roles = search->roles[string];
        n += roles.name & NAME_STEP && is_used(roles);
    }
    return n;
}

/* Start of the last step, or INT64_MIN where no row of the CPU is a step. */
static int64_t last_step(const struct path_search *search) {
    int64_t last = INT64_MIN;
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        bool step = !(search->state[event] & ROW_GPU) && name_has(search, event, NAME_STEP);
        if (step && search->ts[event] > last)
            last = search->ts[event];
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

static enum sutra_status keep_cpu_rows(struct path_search *search, struct kept_rows *kept) {
    int64_t last = last_step(search);
    kept->rows = malloc(((size_t)search->n_full + 1) * sizeof *kept->rows);
    kept->keys = malloc(((size_t)search->n_full + 1) * sizeof *kept->keys);
    kept->repeated = calloc((size_t)search->n_full + 1, 1);
    if (!kept->rows || !kept->keys || !kept->repeated)
        return error_memory(search->error);
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (search->state[event] & ROW_GPU || search->ts[event] >= last)
            continue;
        kept->keys[kept->n] = search->events->correlation[event];
        kept->rows[kept->n++] = event;
    }
    enum sutra_status status =
        key_index_build(&kept->index, &search->context->engine, kept->keys, kept->n, KEY_FIRST, NULL, search->error);
    for (row_t i = 0; i < kept->n && !status; i++) {
        row_t first = key_index_find(&kept->index, kept->keys[i]);
        kept->repeated[first] |= first != i;
    }
    return status;
}

static enum sutra_status keep_gpu_rows(struct path_search *search, const struct kept_rows *kept) {
    row_t n = 0;
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (!(search->state[event] & ROW_GPU))
            continue;
        row_t found = key_index_find(&kept->index, search->events->correlation[event]);
        if (found == ROW_NONE)
            continue;
        if (kept->repeated[found] && search->link[event] != ROW_NONE && search->link[event] > 0)
            return stop_empty(search, "several calls have the correlation of event %u", event);
        search->full[n++] = event;
    }
    memcpy(search->full + n, kept->rows, kept->n * sizeof *kept->rows);
    search->n_full = n + kept->n;
    return SUTRA_OK;
}

static enum sutra_status drop_last_step(struct path_search *search) {
    struct kept_rows kept = {0};
    enum sutra_status status = keep_cpu_rows(search, &kept);
    if (!status)
        status = keep_gpu_rows(search, &kept);
    free(kept.rows);
    free(kept.keys);
    free(kept.repeated);
    key_index_free(&kept.index);
    return status;
}

/* Finds the row of the annotation; with extended rules rows on the CPU are preferred. */
static row_t find_annotation(const struct path_search *search, bool cpu_only) {
    uint64_t n_before = search->rules.instance;
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (!name_has(search, event, NAME_ANNOTATION) || (cpu_only && search->state[event] & ROW_GPU))
            continue;
        if (n_before-- == 0)
            return event;
    }
    return ROW_NONE;
}

static enum sutra_status set_window(struct path_search *search) {
    const char *name = search->rules.annotation;
    search->window_begin = INT64_MIN;
    search->window_end = INFINITY;
    if (!name)
        return SUTRA_OK;
    row_t row = ROW_NONE;
    if (search->rules.extended)
        row = find_annotation(search, true);
    if (row == ROW_NONE)
        row = find_annotation(search, false);
    if (row == ROW_NONE && search->rules.instance == 0)
        return stop_crash(search, "no event's name contains \"%.100s\"", name);
    if (row == ROW_NONE)
        return stop_crash(search, "there is no instance %llu of \"%.100s\"", (unsigned long long)search->rules.instance,
                          name);
    search->annotation = row;
    search->window_begin = search->ts[row];
    search->window_end = (double)search->ts[row] + search->dur[row];
    return SUTRA_OK;
}

static bool begins_inside(const struct path_search *search, row_t event) {
    return search->ts[event] >= search->window_begin && (double)search->ts[event] <= search->window_end;
}

static bool is_inside(const struct path_search *search, row_t event) {
    return begins_inside(search, event) && search->dur[event] > 0;
}

/* Calls per row that they caused, up to 2. */
struct call_counts {
    uint8_t *inside, *all;
};

static void count_calls(const struct path_search *search, struct call_counts *calls) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i], caused = search->link[event];
        if (on_stream(search, event) || caused == ROW_NONE)
            continue;
        calls->all[caused] = (uint8_t)(calls->all[caused] + (calls->all[caused] < 2));
        if (is_inside(search, event))
            calls->inside[caused] = (uint8_t)(calls->inside[caused] + (calls->inside[caused] < 2));
    }
}

/* How often the reference would take a row on a stream: 2 is more than it can bear. */
static int times_taken(const struct path_search *search, const struct call_counts *calls, row_t event) {
    if (search->rules.extended) {
        row_t call = search->link[event];
        return call == ROW_NONE ? begins_inside(search, event) : is_inside(search, call);
    }
    if (name_has(search, event, NAME_STREAM_WAIT))
        return calls->all[event] > 1 ? calls->all[event] : 1;
    return calls->inside[event];
}

static enum sutra_status clip_rows(struct path_search *search, const struct call_counts *calls) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        int times = on_stream(search, event) ? times_taken(search, calls, event) : is_inside(search, event);
        if (times > 1)
            return stop_empty(search, "several calls have the correlation of event %u", event);
        if (times && !(search->state[event] & ROW_CLIPPED)) {
            search->state[event] |= ROW_CLIPPED;
            search->n_clipped++;
        }
    }
    if (search->n_clipped == 0)
        return stop_empty(search, "nothing happens in the window");
    search->clipped = malloc(((size_t)search->n_clipped + 1) * sizeof *search->clipped);
    if (!search->clipped)
        return error_memory(search->error);
    row_t n = 0;
    for (row_t event = 0; event < search->events->n; event++)
        if (search->state[event] & ROW_CLIPPED)
            search->clipped[n++] = event;
    return SUTRA_OK;
}

static enum sutra_status clip(struct path_search *search) {
    size_t n = (size_t)search->events->n + 1;
    struct call_counts calls = {.inside = calloc(n, 1), .all = calloc(n, 1)};
    enum sutra_status status = SUTRA_OK;
    if (!calls.inside || !calls.all) {
        status = error_memory(search->error);
    } else {
        count_calls(search, &calls);
        status = clip_rows(search, &calls);
    }
    free(calls.inside);
    free(calls.all);
    return status;
}

enum sutra_status window_find(struct path_search *search) {
    enum sutra_status status = SUTRA_OK;
    if (!search->rules.extended) {
        uint32_t n_steps = count_step_strings(search);
        status = check_step_names(search);
        if (!status && !search->outcome && n_steps > 1)
            status = drop_last_step(search);
    }
    for (row_t i = 0; i < search->n_full; i++)
        search->state[search->full[i]] |= ROW_FULL;
    if (!status && !search->outcome)
        status = set_window(search);
    if (!status && !search->outcome)
        status = clip(search);
    return status;
}
