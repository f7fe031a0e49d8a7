/*
 * queue.c - how many kernels wait on each stream, just behind each launch and each kernel's start.
 *
 * Launches count up at their start, kernels down at theirs, in the order of time, launches before kernels at the same
 * time. Only two things are asked later: whether a launch found the stream idle, and whether its kernel left it empty,
 * so two bits of each row are kept. Cost: one sort of launches and kernels, O(n) else.
 */
#include "critical_path/queue.h"

#include <stdlib.h>

#include "base/error.h"
#include "critical_path/path_search.h"
#include "match/key_index.h"

struct queue_rows {
    row_t *launch; /* in the order of full */
    value_key *key;
    row_t n_launches;
    struct key_index index; /* correlation -> launch */
    row_t *kernel;          /* rows on a stream whose correlation a launch has */
    row_t *kernel_launch;   /* position of that launch */
    uint32_t *lane;         /* number of the kernel's stream */
    row_t n_kernels;
    row_t *start;  /* start[i + 1]: kernels of launch i, then where they begin in `caused` */
    row_t *caused; /* kernels in the order of their launches */
    struct tuples lanes;
};

static void rows_free(struct queue_rows *rows) {
    free(rows->launch);
    free(rows->key);
    key_index_free(&rows->index);
    free(rows->kernel);
    free(rows->kernel_launch);
    free(rows->lane);
    free(rows->start);
    free(rows->caused);
    tuples_free(&rows->lanes);
}

static bool rows_alloc(struct queue_rows *rows, row_t n) {
    size_t size = (size_t)n + 2;
    rows->launch = malloc(size * sizeof *rows->launch);
    rows->key = malloc(size * sizeof *rows->key);
    rows->kernel = malloc(size * sizeof *rows->kernel);
    rows->kernel_launch = malloc(size * sizeof *rows->kernel_launch);
    rows->lane = malloc(size * sizeof *rows->lane);
    rows->start = calloc(size, sizeof *rows->start);
    rows->caused = malloc(size * sizeof *rows->caused);
    return rows->launch && rows->key && rows->kernel && rows->kernel_launch && rows->lane && rows->start &&
           rows->caused;
}

static bool is_launch(const struct path_search *search, row_t event) {
    row_t link = search->link[event];
    if (!name_has(search, event, NAME_LAUNCH) || link == ROW_NONE)
        return false;
    return search->rules.extended ? !(search->state[event] & ROW_GPU) : link > 0;
}

static enum sutra_status gather_launches(struct path_search *search, struct queue_rows *rows) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (!is_launch(search, event))
            continue;
        rows->key[rows->n_launches] = search->events->correlation[event];
        rows->launch[rows->n_launches++] = event;
    }
    row_t second;
    enum sutra_status status = key_index_build(&rows->index, &search->context->engine, rows->key, rows->n_launches,
                                               KEY_LAST, &second, search->error);
    if (status || search->rules.extended)
        return status;
    if (rows->n_launches == 0)
        return stop_crash(search, "no launch has a kernel");
    if (second != ROW_NONE)
        return stop_crash(search, "two launches have the correlation of event %u", rows->launch[second]);
    return SUTRA_OK;
}

/* The number of a row's stream; with extended rules each device has streams of its own. */
static uint32_t lane_of(const struct path_search *search, struct tuples *lanes, row_t event) {
    value_key device = search->rules.extended ? search->events->pid[event] : 0;
    return tuples_number(lanes, (struct tuple){{search->stream[event], device}});
}

static enum sutra_status gather_kernels(struct path_search *search, struct queue_rows *rows) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        if (!on_stream(search, event) || (search->rules.extended && category_has(search, event, CATEGORY_SYNC)))
            continue;
        row_t launch = key_index_find(&rows->index, search->events->correlation[event]);
        if (launch == ROW_NONE)
            continue;
        uint32_t lane = lane_of(search, &rows->lanes, event);
        if (lane == TUPLE_NONE)
            return error_memory(search->error);
        rows->start[launch + 1]++;
        rows->kernel_launch[rows->n_kernels] = launch;
        rows->lane[rows->n_kernels] = lane;
        rows->kernel[rows->n_kernels++] = event;
    }
    return SUTRA_OK;
}

/* The reference wants as many launches as kernels, and can look up no row twice. */
static enum sutra_status check_counts(struct path_search *search, const struct queue_rows *rows) {
    if (search->rules.extended)
        return SUTRA_OK;
    for (row_t i = 0; i < rows->n_launches; i++)
        if (rows->start[i + 1] == 0)
            return stop_crash(search, "the launch at event %u has no kernel on a stream", rows->launch[i]);
    for (row_t i = 0; i < rows->n_launches; i++)
        if (rows->start[i + 1] > 1 || on_stream(search, rows->launch[i]))
            return stop_empty(search, "several kernels have the correlation of event %u", rows->launch[i]);
    return SUTRA_OK;
}

/* Lists the kernels by launch. */
static void group_kernels(struct queue_rows *rows) {
    for (row_t i = 0; i < rows->n_launches; i++)
        rows->start[i + 1] += rows->start[i];
    for (row_t i = rows->n_kernels; i-- > 0;)
        rows->caused[--rows->start[rows->kernel_launch[i] + 1]] = i;
}

/* Launches and kernels' starts in the order of time. Before it is sorted, entry i < n is the launch of kernel
 * caused[i], entry n + k the start of kernel k. */
struct series {
    row_t n;
    uint64_t *keys;
    row_t *order;
    uint32_t *lane, *length;
    uint8_t *launch;
};

static bool series_alloc(struct series *series, row_t n_kernels) {
    series->n = 2 * n_kernels;
    size_t size = (size_t)series->n + 1;
    series->keys = malloc(size * sizeof *series->keys);
    series->order = malloc(size * sizeof *series->order);
    series->lane = malloc(size * sizeof *series->lane);
    series->length = malloc(size * sizeof *series->length);
    series->launch = malloc(size);
    return series->keys && series->order && series->lane && series->length && series->launch;
}

static void series_free(struct series *series) {
    free(series->keys);
    free(series->order);
    free(series->lane);
    free(series->length);
    free(series->launch);
}

static row_t kernel_of(const struct queue_rows *rows, row_t entry) {
    return entry < rows->n_kernels ? rows->caused[entry] : entry - rows->n_kernels;
}

static enum sutra_status sort_series(struct path_search *search, const struct queue_rows *rows, struct series *series) {
    for (row_t i = 0; i < rows->n_kernels; i++) {
        series->keys[i] = (uint64_t)search->ts[rows->launch[rows->kernel_launch[rows->caused[i]]]];
        series->keys[rows->n_kernels + i] = (uint64_t)search->ts[rows->kernel[i]];
        series->order[i] = i;
        series->order[rows->n_kernels + i] = rows->n_kernels + i;
    }
    enum sutra_status status = search_sort(search, series->keys, series->order, series->n);
    for (row_t i = 0; i < series->n; i++) {
        series->launch[i] = series->order[i] < rows->n_kernels;
        series->lane[i] = rows->lane[kernel_of(rows, series->order[i])];
    }
    return status;
}

static void note_lengths(struct path_search *search, const struct queue_rows *rows, const struct series *series) {
    for (row_t i = 0; i < series->n; i++) {
        row_t kernel = kernel_of(rows, series->order[i]);
        uint32_t now = series->length[i];
        row_t event = series->launch[i] ? rows->launch[rows->kernel_launch[kernel]] : rows->kernel[kernel];
        search->queue[event] |= (uint8_t)(QUEUE_SEEN | (now == 1 ? QUEUE_ONE : 0) | (now == 0 ? QUEUE_ZERO : 0));
        if (series->launch[i] && now == 1)
            search->queue[rows->kernel[kernel]] |= QUEUE_LAUNCH_ONE;
    }
}

static enum sutra_status run_series(struct path_search *search, const struct queue_rows *rows) {
    const struct engine *engine = &search->context->engine;
    struct series series = {0};
    if (rows->n_kernels > ROW_LIMIT / 2)
        return error_set(search->error, SUTRA_DATA, "more than %u kernels: cut the trace", ROW_LIMIT / 2);
    enum sutra_status status = series_alloc(&series, rows->n_kernels) ? SUTRA_OK : error_memory(search->error);
    if (!status)
        status = sort_series(search, rows, &series);
    struct queue_lengths_step step = {series.lane, series.launch, series.n, rows->lanes.n, series.length};
    if (!status)
        status = engine->queue_lengths(engine->state, &step, search->error);
    if (!status)
        note_lengths(search, rows, &series);
    series_free(&series);
    return status;
}

enum sutra_status queue_measure(struct path_search *search) {
    struct queue_rows rows = {0};
    search->queue = calloc((size_t)search->events->n + 1, 1);
    enum sutra_status status =
        rows_alloc(&rows, search->n_full) && search->queue ? SUTRA_OK : error_memory(search->error);
    if (!status)
        status = gather_launches(search, &rows);
    if (!status && !search->outcome)
        status = gather_kernels(search, &rows);
    if (!status && !search->outcome)
        status = check_counts(search, &rows);
    if (!status && !search->outcome) {
        group_kernels(&rows);
        status = run_series(search, &rows);
    }
    rows_free(&rows);
    return status;
}
