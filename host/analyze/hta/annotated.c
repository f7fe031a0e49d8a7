/*
 * annotated.c - each event of the GPU with the shortest of the user's annotations on its stream that runs at some
 * time while it does.
 *
 *     annotations   [ step .................................. ]      the shortest takes all kernels that it meets and
 *                     [ forward ....... ]   [ backward ]             that no shorter one has taken; touching is not
 *     kernels          [a]  [ b ]     [ c ]      [d]       [e]       meeting
 *
 * Kernels lie by thread (a stream of a device) and start in a tree of their ends, from which they are taken out, so
 * that each is found once: O((k + a) log k) for kernels and annotations.
 *
 * HTA 0.6 looks kernels up by their times: a kernel also gets what one with the same times on
 * another stream has.
 *
 * The table of all rows, which has the same first columns, is made here as well.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/kernels.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

struct annotated {
    const struct hta_input *input;
    row_t n, n_annotations;
    row_t *event;      /* of kernels, in the order of the table */
    row_t *annotation; /* events of annotations, the shortest first, the last in the table of equal ones */
    row_t *of_kernel;  /* the place of its annotation in that list, or ROW_NONE */

    struct tuples threads; /* of kernels */
    uint32_t *thread;      /* of each kernel */
    row_t *order;          /* kernels by thread and start */
    row_t *first;          /* of each thread in order[], and the end */
    struct end_tree ends;  /* of kernels in order[] */
};

static struct tuple thread_of(const struct annotated *annotated, row_t event) {
    const struct device_events *events = annotated->input->rows.events;
    return (struct tuple){{events->pid[event], events->tid[event]}};
}

static int64_t start_of(const struct annotated *annotated, row_t event) {
    return annotated->input->rows.start[event];
}

/* What ends before it begins is empty. */
static int64_t end_of(const struct annotated *annotated, row_t event) {
    int64_t dur = annotated->input->rows.dur[event];
    return start_of(annotated, event) + (dur > 0 ? dur : 0);
}

/* ---- In order ---- */

static enum sutra_status sort_annotations(struct annotated *annotated, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &annotated->input->rows;
    const struct engine *engine = annotated->input->engine;
    uint64_t *keys = arena_take(arena, annotated->n_annotations, sizeof *keys);
    if (!keys)
        return error_memory(error);
    row_t n = annotated->n_annotations;
    for (row_t i = 0; i < n / 2; i++) { /* the last of the table come first where the sort leaves them */
        row_t other = annotated->annotation[n - 1 - i];
        annotated->annotation[n - 1 - i] = annotated->annotation[i];
        annotated->annotation[i] = other;
    }
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(rows->dur[annotated->annotation[i]]);
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, annotated->annotation, n}, error);
}

/* Kernels by start and then by thread; the ends of kernels in this order. */
static enum sutra_status sort_kernels(struct annotated *annotated, struct arena *arena, struct sutra_error *error) {
    const struct engine *engine = annotated->input->engine;
    row_t n = annotated->n;
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    int64_t *ends = arena_take(arena, n, sizeof *ends);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        keys[i] = integer_sort_key(start_of(annotated, annotated->event[i]));
        annotated->order[i] = i;
        annotated->thread[i] = tuples_number(&annotated->threads, thread_of(annotated, annotated->event[i]));
        if (annotated->thread[i] == TUPLE_NONE)
            return error_memory(error);
    }
    struct sort_keys_step step = {keys, annotated->order, n};
    enum sutra_status status = engine->sort_keys(engine->state, &step, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = annotated->thread[annotated->order[i]];
    if (!status)
        status = engine->sort_keys(engine->state, &step, error);
    annotated->first = arena_zeros(arena, (size_t)annotated->threads.n + 1, sizeof *annotated->first);
    if (status || !annotated->first)
        return status ? status : error_memory(error);
    for (row_t i = 0; i < n; i++) {
        ends[i] = end_of(annotated, annotated->event[annotated->order[i]]);
        annotated->first[annotated->thread[i] + 1]++;
    }
    for (uint32_t t = 0; t < annotated->threads.n; t++)
        annotated->first[t + 1] += annotated->first[t];
    return end_tree_make(&annotated->ends, arena, ends, n) ? SUTRA_OK : error_memory(error);
}

/* ---- Who meets whom ---- */

/* How many kernels of a thread, from the first of all on, begin before a moment. */
static row_t count_started(const struct annotated *annotated, uint32_t thread, int64_t at) {
    struct bisection search = {annotated->first[thread], annotated->first[thread + 1]};
    while (search.low < search.high)
        bisect(&search, start_of(annotated, annotated->event[annotated->order[bisect_middle(search)]]) < at);
    return search.low;
}

/* Gives the annotation at place `i` to all kernels that it meets and that have none. */
static void give(struct annotated *annotated, row_t i) {
    row_t event = annotated->annotation[i];
    uint32_t thread = tuples_find(&annotated->threads, thread_of(annotated, event));
    if (thread == TUPLE_NONE)
        return;
    row_t first = annotated->first[thread], bound = count_started(annotated, thread, end_of(annotated, event));
    for (;;) {
        row_t kernel = end_tree_last(&annotated->ends, bound, start_of(annotated, event) + 1);
        if (kernel == ROW_NONE || kernel < first)
            return;
        annotated->of_kernel[annotated->order[kernel]] = i;
        end_tree_remove(&annotated->ends, kernel);
    }
}

/* ---- HTA 0.6 ---- */

/* A place in the order in which it writes annotations: threads as they first occur among the annotations by falling
 * length, then that order. */
struct written_order {
    struct tuples threads, times;
    row_t *last; /* of each pair of times: the kernel that was written last */
};

static bool is_later(const struct annotated *annotated, const struct written_order *writing, row_t a, row_t b) {
    row_t left = annotated->of_kernel[a], right = annotated->of_kernel[b];
    if (left == ROW_NONE || right == ROW_NONE)
        return left != ROW_NONE;
    uint32_t thread_a = tuples_find(&writing->threads, thread_of(annotated, annotated->annotation[left]));
    uint32_t thread_b = tuples_find(&writing->threads, thread_of(annotated, annotated->annotation[right]));
    return thread_a != thread_b ? thread_a > thread_b : left < right;
}

static enum sutra_status spread_by_times(struct annotated *annotated, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &annotated->input->rows;
    struct written_order writing = {.last = arena_take(arena, annotated->n, sizeof *writing.last)};
    uint32_t *times = arena_take(arena, annotated->n, sizeof *times);
    bool ok = !arena->failed;
    for (row_t i = annotated->n_annotations; i-- > 0 && ok;)
        ok = tuples_number(&writing.threads, thread_of(annotated, annotated->annotation[i])) != TUPLE_NONE;
    for (row_t i = 0; i < annotated->n && ok; i++) {
        row_t event = annotated->event[i];
        uint32_t n = writing.times.n;
        times[i] = tuples_number(&writing.times, (struct tuple){{rows->start[event], rows->dur[event]}});
        ok = times[i] != TUPLE_NONE;
        if (ok && (times[i] == n || is_later(annotated, &writing, i, writing.last[times[i]])))
            writing.last[times[i]] = i;
    }
    row_t *given = ok ? arena_take(arena, annotated->n, sizeof *given) : NULL;
    for (row_t i = 0; i < annotated->n && given; i++)
        given[i] = annotated->of_kernel[writing.last[times[i]]];
    if (given)
        annotated->of_kernel = given;
    tuples_free(&writing.threads);
    tuples_free(&writing.times);
    return given ? SUTRA_OK : error_memory(error);
}

/* ---- The table ---- */

/* A text in the length that the options request. */
static void add_name(struct sutra_table *table, const struct hta_input *input, uint32_t string, struct buffer *room) {
    if (!input->options.short_names || string == STRING_NONE) {
        table_string(table, input->rows.strings, string);
        return;
    }
    hta_short_name(strings_text(input->rows.strings, string), strings_length(input->rows.strings, string), room);
    table->failed |= room->failed;
    table_text(table, room->length ? room->bytes : "", room->length);
}

/* The columns that all tables of events begin with. */
static void add_event(struct sutra_table *table, const struct hta_input *input, row_t event, struct buffer *room) {
    const struct hta_rows *rows = &input->rows;
    const struct device_events *events = rows->events;
    const struct values *values = &input->context->values;
    row_t link = rows->link[event];
    table_integer(table, event);
    table_number(table, us_of(rows->start[event]));
    table_number(table, us_of(rows->dur[event]));
    table_number(table, us_of(rows->start[event] + rows->dur[event]));
    table_id(table, values, events->pid[event]);
    table_id(table, values, events->tid[event]);
    table_integer(table, rows->stream[event]);
    table_integer(table, column_key(events->correlation[event]));
    table_integer(table, link == ROW_NONE ? -1 : (int64_t)link);
    add_name(table, input, events->category[event], room);
    add_name(table, input, events->name[event], room);
}

/* Process and thread ids are text where one of them is no integer. */
static void type_ids(struct sutra_table *table, const struct device_events *events, const row_t *list, row_t n) {
    enum { PID = 4, TID = 5 };
    table_retype(table, PID, kind_of_ids(events->pid, list, n));
    table_retype(table, TID, kind_of_ids(events->tid, list, n));
}

static void add_rows(const struct annotated *annotated, struct sutra_hta *hta) {
    const struct device_events *events = annotated->input->rows.events;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_ANNOTATED);
    struct buffer room = {0};
    type_ids(table, events, annotated->event, annotated->n);
    for (row_t i = 0; i < annotated->n; i++) {
        row_t given = annotated->of_kernel[i];
        add_event(table, annotated->input, annotated->event[i], &room);
        add_name(table, annotated->input, given == ROW_NONE ? STRING_NONE : events->name[annotated->annotation[given]],
                 &room);
    }
    buffer_free(&room);
}

static void gather(struct annotated *annotated) {
    const struct hta_rows *rows = &annotated->input->rows;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (category_roles(rows->events, rows->roles, event) & CATEGORY_GPU_ANNOTATION)
            annotated->annotation[annotated->n_annotations++] = event;
        if (rows->state[event] & HTA_GPU)
            annotated->event[annotated->n++] = event;
    }
}

static enum sutra_status annotate(struct annotated *annotated, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    const struct sutra_hta_options *options = &annotated->input->options;
    enum sutra_status status = sort_annotations(annotated, arena, error);
    if (!status)
        status = sort_kernels(annotated, arena, error);
    for (row_t i = 0; i < annotated->n_annotations && !status; i++)
        give(annotated, i);
    if (!status && options->compat && options->hta_version == SUTRA_HTA_VERSION_0_6)
        status = spread_by_times(annotated, arena, error);
    if (!status)
        add_rows(annotated, hta);
    return status;
}

enum sutra_status hta_annotated(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    row_t n = input->rows.n;
    struct annotated annotated = {.input = input,
                                  .event = arena_take(arena, n, sizeof *annotated.event),
                                  .annotation = arena_take(arena, n, sizeof *annotated.annotation),
                                  .of_kernel = arena_take(arena, n, sizeof *annotated.of_kernel),
                                  .thread = arena_take(arena, n, sizeof *annotated.thread),
                                  .order = arena_take(arena, n, sizeof *annotated.order)};
    if (arena->failed)
        return error_memory(error);
    memset(annotated.of_kernel, 0xff, (size_t)n * sizeof *annotated.of_kernel);
    gather(&annotated);
    if (annotated.n_annotations == 0) {
        hta->reasons[SUTRA_HTA_ANNOTATED] = "no event has the category gpu_user_annotation";
        return SUTRA_OK;
    }
    enum sutra_status status = annotate(&annotated, arena, hta, error);
    tuples_free(&annotated.threads);
    return status;
}

/* Table of all rows, with their steps. */
enum sutra_status hta_row_table(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    enum { ITERATION = 11 };
    const struct hta_rows *rows = &input->rows;
    struct buffer room = {0};
    (void)arena;
    (void)error;
    if (!input->options.rows) {
        hta->reasons[SUTRA_HTA_ROWS] = "a table on request";
        return SUTRA_OK;
    }
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_ROWS);
    type_ids(table, rows->events, rows->list, rows->n);
    for (row_t i = 0; i < rows->n; i++)
        if (hta_iteration(input, rows->list[i]) == ITERATION_NAN)
            table_retype(table, ITERATION, SUTRA_COLUMN_REAL);
    for (row_t i = 0; i < rows->n; i++) {
        int64_t iteration = hta_iteration(input, rows->list[i]);
        add_event(table, input, rows->list[i], &room);
        table_number(table, iteration == ITERATION_NAN ? NAN : (double)iteration);
    }
    buffer_free(&room);
    return SUTRA_OK;
}
