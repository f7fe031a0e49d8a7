/*
 * sorted_events.c - sorting events by start; and parents of events in any order, for those who have plain arrays.
 */
#include "tree/sorted_events.h"

#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "sutra/tree.h"
#include "tree/thread_numbers.h"

void sorted_events_free(struct sorted_events *sorted) {
    free(sorted->order);
    free(sorted->start);
    free(sorted->end);
    free(sorted->thread);
    free(sorted->forward);
    free(sorted->placed);
    *sorted = (struct sorted_events){0};
}

static bool alloc_columns(struct sorted_events *sorted, const struct unsorted_events *from) {
    row_t n = from->n;
    sorted->order = column_new(n, sizeof *sorted->order);
    sorted->start = column_new(n, sizeof *sorted->start);
    sorted->end = column_new(n, sizeof *sorted->end);
    sorted->thread = column_new(n, sizeof *sorted->thread);
    sorted->forward = from->forward ? column_new(n, sizeof *sorted->forward) : NULL;
    sorted->placed = from->placed ? column_new(n, sizeof *sorted->placed) : NULL;
    return sorted->order && sorted->start && sorted->end && sorted->thread && (!from->forward || sorted->forward) &&
           (!from->placed || sorted->placed);
}

static enum sutra_status sort_by_start(struct sorted_events *sorted, struct sutra_context *context,
                                       const struct unsorted_events *from, struct sutra_error *error) {
    uint64_t *keys = column_new(from->n, sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < from->n; i++) {
        sorted->order[i] = i;
        keys[i] = integer_sort_key(from->start[i]);
    }
    struct sort_keys_step step = {keys, sorted->order, from->n};
    enum sutra_status status = context->engine.sort_keys(context->engine.state, &step, error);
    free(keys);
    return status;
}

enum sutra_status sorted_events_make(struct sorted_events *sorted, struct sutra_context *context,
                                     const struct unsorted_events *from, struct sutra_error *error) {
    *sorted = (struct sorted_events){0};
    if (!alloc_columns(sorted, from))
        return error_memory(error);
    enum sutra_status status = sort_by_start(sorted, context, from, error);
    for (row_t i = 0; i < from->n && !status; i++) {
        row_t row = sorted->order[i];
        sorted->start[i] = from->start[row];
        sorted->end[i] = from->end[row];
        sorted->thread[i] = from->thread[row];
        if (from->forward)
            sorted->forward[i] = from->forward[row];
        if (from->placed)
            sorted->placed[i] = from->placed[row];
    }
    sorted->events = (struct tree_events){.n = from->n,
                                          .n_threads = from->n_threads,
                                          .start = sorted->start,
                                          .end = sorted->end,
                                          .thread = sorted->thread,
                                          .forward = sorted->forward,
                                          .placed = sorted->placed};
    return status;
}

/* ---- For plain arrays ---- */

static bool time_fits(int64_t time) {
    return time < NUMBER_INTEGER_LIMIT && time > -NUMBER_INTEGER_LIMIT;
}

static enum sutra_status check_times(const struct sutra_event_columns *events, struct sutra_error *error) {
    if (events->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events", ROW_LIMIT);
    for (uint64_t i = 0; i < events->n; i++)
        if (!time_fits(events->start_ns[i]) || (events->end_ns[i] != EVENT_NO_END && !time_fits(events->end_ns[i])))
            return error_set(error, SUTRA_DATA, "event %llu: a time beyond 2^62 ns", (unsigned long long)i);
    return SUTRA_OK;
}

/* Numbers of tids, and of forward tids that are a tid. */
static bool number_tids(const struct sutra_event_columns *events, uint32_t *thread, uint32_t *forward,
                        uint32_t *n_threads) {
    struct thread_numbers threads;
    bool ok = thread_numbers_init(&threads);
    for (uint64_t i = 0; i < events->n && ok; i++)
        ok = (thread[i] = thread_number(&threads, (uint64_t)events->tid[i], 0)) != PAIR_NONE;
    for (uint64_t i = 0; i < events->n && ok; i++)
        forward[i] = events->forward_tid && events->forward_tid[i]
                         ? pair_table_find(&threads.table, (uint64_t)events->forward_tid[i], 0)
                         : THREAD_NONE;
    *n_threads = threads.n;
    thread_numbers_free(&threads);
    return ok;
}

/* From positions back to rows. */
static enum sutra_status find_parents(const struct sorted_events *sorted, const struct engine *engine, uint32_t *parent,
                                      int64_t *closing, struct sutra_error *error) {
    row_t n = sorted->events.n;
    row_t *above = column_new(n, sizeof *above);
    int64_t *closes = column_new(n, sizeof *closes);
    enum sutra_status status =
        above && closes
            ? engine->event_parents(engine->state, &(struct event_parents_step){&sorted->events, above, closes}, error)
            : error_memory(error);
    for (row_t i = 0; i < n && !status; i++) {
        if (sorted->placed && sorted->placed[i])
            continue;
        parent[sorted->order[i]] = above[i] == ROW_NONE ? ROW_NONE : sorted->order[above[i]];
        closing[sorted->order[i]] = closes[i];
    }
    free(above);
    free(closes);
    return status;
}

enum sutra_status sutra_event_parents(struct sutra_context *context, const struct sutra_event_columns *events,
                                      uint32_t *parent, int64_t *closing_ns, struct sutra_error *error) {
    enum sutra_status status = check_times(events, error);
    if (status)
        return status;
    struct sorted_events sorted = {0};
    uint32_t *thread = column_new(events->n, sizeof *thread), *forward = column_new(events->n, sizeof *forward);
    struct unsorted_events from = {.n = (row_t)events->n,
                                   .start = events->start_ns,
                                   .end = events->end_ns,
                                   .thread = thread,
                                   .forward = forward,
                                   .placed = events->placed};
    if (!thread || !forward || !number_tids(events, thread, forward, &from.n_threads))
        status = error_memory(error);
    if (!status)
        status = sorted_events_make(&sorted, context, &from, error);
    if (!status)
        status = find_parents(&sorted, &context->engine, parent, closing_ns, error);
    sorted_events_free(&sorted);
    free(thread);
    free(forward);
    return status;
}
