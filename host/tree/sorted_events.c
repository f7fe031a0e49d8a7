/*
 * sorted_events.c - sorting events by start; and parents of events in any order, for those who have plain arrays.
 *
 *     start of the rows   5 2 9 2      order   1 3 0 2       parents go back: row order[i] is below row order[above[i]]
 */
#include "tree/sorted_events.h"

#include "columns/number.h"
#include "facts/threads.h"
#include "sutra/tree.h"

static enum sutra_status sort_by_start(const struct tree_events *from, struct sutra_context *context,
                                       struct arena *arena, row_t *order, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, from->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < from->n && !status; i++) {
        order[i] = i;
        keys[i] = integer_sort_key(from->start[i]);
    }
    if (!status)
        status =
            context->engine.sort_keys(context->engine.state, &(struct sort_keys_step){keys, order, from->n}, error);
    arena_release(arena, mark);
    return status;
}

enum sutra_status sorted_events_make(struct sorted_events *sorted, struct sutra_context *context,
                                     const struct tree_events *from, struct arena *arena, struct sutra_error *error) {
    row_t n = from->n, *order = arena_take(arena, n, sizeof *order);
    int64_t *start = arena_take(arena, n, sizeof *start), *end = arena_take(arena, n, sizeof *end);
    uint32_t *thread = arena_take(arena, n, sizeof *thread);
    uint32_t *forward = from->forward ? arena_take(arena, n, sizeof *forward) : NULL;
    uint8_t *placed = from->placed ? arena_take(arena, n, sizeof *placed) : NULL;
    enum sutra_status status = sort_by_start(from, context, arena, order, error);
    for (row_t i = 0; i < n && !status; i++) {
        row_t row = order[i];
        start[i] = from->start[row];
        end[i] = from->end[row];
        thread[i] = from->thread[row];
        if (forward)
            forward[i] = from->forward[row];
        if (placed)
            placed[i] = from->placed[row];
    }
    *sorted = (struct sorted_events){{n, from->n_threads, start, end, thread, forward, placed}, order};
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
            return error_set(error, SUTRA_DATA, "event %llu: time beyond 2^62 ns", (unsigned long long)i);
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
static enum sutra_status find_parents(const struct sorted_events *sorted, const struct engine *engine,
                                      struct arena *arena, uint32_t *parent, int64_t *closing,
                                      struct sutra_error *error) {
    row_t n = sorted->events.n, *above = arena_take(arena, n, sizeof *above);
    int64_t *closes = arena_take(arena, n, sizeof *closes);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status =
            engine->event_parents(engine->state, &(struct event_parents_step){&sorted->events, above, closes}, error);
    for (row_t i = 0; i < n && !status; i++) {
        if (sorted->events.placed && sorted->events.placed[i])
            continue;
        parent[sorted->order[i]] = above[i] == ROW_NONE ? ROW_NONE : sorted->order[above[i]];
        closing[sorted->order[i]] = closes[i];
    }
    return status;
}

enum sutra_status sutra_event_parents(struct sutra_context *context, const struct sutra_event_columns *events,
                                      uint32_t *parent, int64_t *closing_ns, struct sutra_error *error) {
    enum sutra_status status = check_times(events, error);
    if (status)
        return status;
    struct arena arena = {0};
    struct sorted_events sorted;
    uint32_t *thread = arena_take(&arena, events->n, sizeof *thread);
    uint32_t *forward = arena_take(&arena, events->n, sizeof *forward);
    struct tree_events from = {.n = (row_t)events->n,
                               .start = events->start_ns,
                               .end = events->end_ns,
                               .thread = thread,
                               .forward = forward,
                               .placed = events->placed};
    if (arena.failed || !number_tids(events, thread, forward, &from.n_threads))
        status = error_memory(error);
    if (!status)
        status = sorted_events_make(&sorted, context, &from, &arena, error);
    if (!status)
        status = find_parents(&sorted, &context->engine, &arena, parent, closing_ns, error);
    arena_free(&arena);
    return status;
}
