/*
 * annotated.c - the shortest user annotation that overlaps each GPU event on its stream; and the table of all rows,
 * which begins with the same columns.
 *
 *     annotations   [ step .................................. ]      shortest first: an annotation gets all kernels
 *                     [ forward ....... ]   [ backward ]             that overlap it (touching is no overlap) and that
 *     kernels          [a]  [ b ]     [ c ]      [d]       [e]       no shorter annotation has
 *
 * Kernels are ordered by thread (a stream of a device) and start, in a tree of their ends. Each kernel is removed when
 * it is found: O((k + a) log k) for k kernels and a annotations.
 *
 * HTA 0.6 finds kernels by their times: a kernel also gets the annotation of a kernel with the same times on another
 * stream.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/end_tree.h"
#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

struct annotated {
    const struct hta_input *input;
    row_t n, n_annotations;
    row_t *event;      /* of kernels, in the order of the table */
    row_t *annotation; /* events of annotations, the shortest first, the last in the table of equal ones */
    row_t *of_kernel;  /* index of its annotation in that list, or ROW_NONE */

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

/* An event with a duration below 0 ends at its start. */
static int64_t end_of(const struct hta_rows *rows, row_t event) {
    return rows->start[event] + MAX(rows->dur[event], 0);
}

static enum sutra_status sort_annotations(struct annotated *annotated, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &annotated->input->rows;
    const struct engine *engine = annotated->input->engine;
    row_t n = annotated->n_annotations;
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n / 2; i++) { /* reversed: the sort is stable, and the last of the table goes first */
        row_t other = annotated->annotation[n - 1 - i];
        annotated->annotation[n - 1 - i] = annotated->annotation[i];
        annotated->annotation[i] = other;
    }
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(rows->dur[annotated->annotation[i]]);
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, annotated->annotation, n}, error);
}

/* Orders kernels by thread and start, and makes the tree of their ends. */
static enum sutra_status sort_kernels(struct annotated *annotated, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &annotated->input->rows;
    const struct engine *engine = annotated->input->engine;
    row_t n = annotated->n;
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    int64_t *ends = arena_alloc(arena, n, sizeof *ends);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        keys[i] = integer_sort_key(rows->start[annotated->event[i]]);
        annotated->order[i] = i;
        annotated->thread[i] = tuples_number(&annotated->threads, thread_of(annotated, annotated->event[i]));
        TRY_ALLOC(annotated->thread[i] != TUPLE_NONE, error);
    }
    struct sort_keys_step step = {keys, annotated->order, n};
    TRY(engine->sort_keys(engine->state, &step, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = annotated->thread[annotated->order[i]];
    TRY(engine->sort_keys(engine->state, &step, error));
    annotated->first = arena_zeros(arena, (size_t)annotated->threads.n + 1, sizeof *annotated->first);
    TRY_ALLOC(annotated->first, error);
    for (row_t i = 0; i < n; i++) {
        ends[i] = end_of(rows, annotated->event[annotated->order[i]]);
        annotated->first[annotated->thread[i] + 1]++;
    }
    for (uint32_t t = 0; t < annotated->threads.n; t++)
        annotated->first[t + 1] += annotated->first[t];
    return end_tree_make(&annotated->ends, arena, ends, n) ? SUTRA_OK : error_memory(error);
}

/* Attributes kernels to annotation `i`: all that overlap it and have no annotation yet. */
static void attribute_kernels(struct annotated *annotated, row_t i) {
    const struct hta_rows *rows = &annotated->input->rows;
    row_t event = annotated->annotation[i];
    uint32_t thread = tuples_find(&annotated->threads, thread_of(annotated, event));
    if (thread == TUPLE_NONE)
        return;
    /* kernels order[first..low) start before the annotation ends; find kernels that end after it starts */
    row_t first = annotated->first[thread];
    struct bisection search = {first, annotated->first[thread + 1]};
    while (search.low < search.high)
        bisect(&search, rows->start[annotated->event[annotated->order[bisect_middle(search)]]] < end_of(rows, event));
    for (;;) {
        row_t kernel = end_tree_last(&annotated->ends, search.low, rows->start[event] + 1);
        if (kernel == ROW_NONE || kernel < first)
            return;
        annotated->of_kernel[annotated->order[kernel]] = i;
        end_tree_remove(&annotated->ends, kernel);
    }
}

/* ---- HTA 0.6 ---- */

/* Whether HTA writes kernel `a`'s annotation after kernel `b`'s: threads as they first occur among the annotations
 * by descending length, then by that order. */
static bool is_written_later(const struct annotated *annotated, const struct tuples *threads, row_t a, row_t b) {
    row_t left = annotated->of_kernel[a], right = annotated->of_kernel[b];
    if (left == ROW_NONE || right == ROW_NONE)
        return left != ROW_NONE;
    uint32_t thread_a = tuples_find(threads, thread_of(annotated, annotated->annotation[left]));
    uint32_t thread_b = tuples_find(threads, thread_of(annotated, annotated->annotation[right]));
    return thread_a != thread_b ? thread_a > thread_b : left < right;
}

/* Kernels with the same times get the annotation that HTA writes last. */
static enum sutra_status spread_by_times(struct annotated *annotated, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &annotated->input->rows;
    struct tuples threads = {0}, times = {0};
    row_t *last = arena_alloc(arena, annotated->n, sizeof *last); /* by pair of times: the kernel written last */
    uint32_t *times_of = arena_alloc(arena, annotated->n, sizeof *times_of);
    row_t *annotation = arena_alloc(arena, annotated->n, sizeof *annotation);
    bool ok = !arena->failed;
    for (row_t i = annotated->n_annotations; i-- > 0 && ok;)
        ok = tuples_number(&threads, thread_of(annotated, annotated->annotation[i])) != TUPLE_NONE;
    for (row_t i = 0; i < annotated->n && ok; i++) {
        row_t event = annotated->event[i];
        uint32_t n = times.n;
        times_of[i] = tuples_number(&times, (struct tuple){{rows->start[event], rows->dur[event]}});
        ok = times_of[i] != TUPLE_NONE;
        if (ok && (times_of[i] == n || is_written_later(annotated, &threads, i, last[times_of[i]])))
            last[times_of[i]] = i;
    }
    for (row_t i = 0; i < annotated->n && ok; i++)
        annotation[i] = annotated->of_kernel[last[times_of[i]]];
    if (ok)
        annotated->of_kernel = annotation;
    tuples_free(&threads);
    tuples_free(&times);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Tables ---- */

/* Adds a text, shortened if the options request it. */
static void add_name(struct sutra_table *table, const struct hta_input *input, uint32_t string,
                     struct buffer *short_name) {
    if (!input->options.short_names || string == STRING_NONE) {
        table_string(table, input->rows.strings, string);
        return;
    }
    hta_short_name(strings_text(input->rows.strings, string), strings_length(input->rows.strings, string), short_name);
    table->failed |= short_name->failed;
    table_text(table, short_name->length ? short_name->bytes : "", short_name->length);
}

/* Adds the columns that all tables of events begin with. */
static void add_event(struct sutra_table *table, const struct hta_input *input, row_t event,
                      struct buffer *short_name) {
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
    add_name(table, input, events->category[event], short_name);
    add_name(table, input, events->name[event], short_name);
}

/* Process and thread ids are text if one of them is no integer. */
static void type_ids(struct sutra_table *table, const struct device_events *events, const row_t *list, row_t n) {
    enum { PID = 4, TID = 5 };
    table_retype(table, PID, kind_of_ids(events->pid, list, n));
    table_retype(table, TID, kind_of_ids(events->tid, list, n));
}

static enum sutra_status annotate(struct annotated *annotated, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    const struct sutra_hta_options *options = &annotated->input->options;
    const struct device_events *events = annotated->input->rows.events;
    struct buffer short_name = {0};
    TRY(sort_annotations(annotated, arena, error));
    TRY(sort_kernels(annotated, arena, error));
    for (row_t i = 0; i < annotated->n_annotations; i++)
        attribute_kernels(annotated, i);
    if (options->compat && options->hta_version == SUTRA_HTA_VERSION_0_6)
        TRY(spread_by_times(annotated, arena, error));
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_ANNOTATED);
    type_ids(table, events, annotated->event, annotated->n);
    for (row_t i = 0; i < annotated->n; i++) {
        row_t annotation = annotated->of_kernel[i];
        add_event(table, annotated->input, annotated->event[i], &short_name);
        add_name(table, annotated->input,
                 annotation == ROW_NONE ? STRING_NONE : events->name[annotated->annotation[annotation]], &short_name);
    }
    buffer_free(&short_name);
    return SUTRA_OK;
}

enum sutra_status hta_annotated(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    row_t n = rows->n;
    struct annotated annotated = {.input = input,
                                  .event = arena_alloc(arena, n, sizeof *annotated.event),
                                  .annotation = arena_alloc(arena, n, sizeof *annotated.annotation),
                                  .of_kernel = arena_alloc(arena, n, sizeof *annotated.of_kernel),
                                  .thread = arena_alloc(arena, n, sizeof *annotated.thread),
                                  .order = arena_alloc(arena, n, sizeof *annotated.order)};
    TRY(arena_status(arena, error));
    memset(annotated.of_kernel, 0xff, (size_t)n * sizeof *annotated.of_kernel);
    for (row_t i = 0; i < n; i++) {
        row_t event = rows->list[i];
        if (category_roles(rows->events, rows->roles, event) & CATEGORY_GPU_ANNOTATION)
            annotated.annotation[annotated.n_annotations++] = event;
        if (rows->state[event] & HTA_GPU)
            annotated.event[annotated.n++] = event;
    }
    if (annotated.n_annotations == 0) {
        hta->result.reasons[SUTRA_HTA_ANNOTATED] = "no event has the category gpu_user_annotation";
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
    struct buffer short_name = {0};
    (void)arena;
    (void)error;
    if (!input->options.rows) {
        hta->result.reasons[SUTRA_HTA_ROWS] = "a table on request";
        return SUTRA_OK;
    }
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_ROWS);
    type_ids(table, rows->events, rows->list, rows->n);
    for (row_t i = 0; i < rows->n; i++)
        if (hta_iteration(input, rows->list[i]) == ITERATION_NAN)
            table_retype(table, ITERATION, SUTRA_COLUMN_REAL);
    for (row_t i = 0; i < rows->n; i++) {
        int64_t iteration = hta_iteration(input, rows->list[i]);
        add_event(table, input, rows->list[i], &short_name);
        table_number(table, iteration == ITERATION_NAN ? NAN : (double)iteration);
    }
    buffer_free(&short_name);
    return SUTRA_OK;
}
