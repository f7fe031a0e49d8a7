/*
 * steps.c - the table of the CPU engine, and its steps that are one or two passes over the rows: rows by thread, joins,
 * order between threads, lanes and frames.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/key_index.h"
#include "match/rules.h"
#include "match/steps.h"

/* Engines on a device copy the columns; the CPU engine reads them where they are. */
static void load(void *state, const struct cpu_ops *ops) {
    (void)state;
    (void)ops;
}

struct engine engine_cpu(struct pool *pool) {
#define STEP_ENTRY(name, what, pieces) .name = cpu_##name,
    return (struct engine){.name = "cpu", .state = pool, .concurrent = true, .load = load, STEPS(STEP_ENTRY)};
#undef STEP_ENTRY
}

/* A stable counting sort. */
void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows) {
    memset(start, 0, ((size_t)ops->n_threads + 1) * sizeof *start);
    for (row_t i = 0; i < ops->n; i++)
        start[ops->thread[i] + 1]++;
    for (uint32_t t = 0; t < ops->n_threads; t++)
        start[t + 1] += start[t];
    /* Placing the rows moves start[t] to the start of t + 1; the memmove() restores it. */
    for (row_t i = 0; i < ops->n; i++) {
        row_t row = order ? order[i] : i;
        rows[start[ops->thread[row]]++] = row;
    }
    memmove(start + 1, start, (size_t)ops->n_threads * sizeof *start);
    start[0] = 0;
}

enum sutra_status cpu_join(void *pool, struct join_step *step, struct sutra_error *error) {
    struct engine engine = engine_cpu(pool);
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, &engine, step->keys, step->n, KEY_LAST, NULL, error);
    for (row_t i = 0; i < step->n_wanted && !status; i++)
        step->found[i] = key_index_find(&index, step->wanted[i]);
    key_index_free(&index);
    return status;
}

/* One pass over runs of equal starts. Two choices (struct begun) summarize the operators that began before a run, so a
 * group that begins in the run has its result immediately; then the run is merged into the summary. */
enum sutra_status cpu_thread_order(void *pool, struct thread_order_step *step, struct sutra_error *error) {
    (void)pool;
    const struct cpu_ops *ops = step->ops;
    struct thread_state {
        row_t last;   /* the thread's last operator, or ROW_NONE */
        row_t before; /* the result of its group */
    } *states = reallocarray(NULL, (size_t)ops->n_threads + 1, sizeof *states);
    TRY_ALLOC(states, error);
    for (uint32_t t = 0; t < ops->n_threads; t++)
        states[t] = (struct thread_state){ROW_NONE, ROW_NONE};

    struct begun begun = {start_choice_none(), start_choice_none()};
    for (row_t i = 0; i < ops->n;) {
        struct number ts = number_at(ops->ts, i);
        struct begun run = {start_choice_none(), start_choice_none()};
        do {
            uint32_t thread = ops->thread[i];
            struct thread_state *state = &states[thread];
            if (state->last == ROW_NONE || group_begins(number_at(ops->ts, i), number_at(ops->ts, state->last),
                                                        number_at(ops->dur, state->last), step->gap))
                state->before = begun_for(&begun, thread);
            state->last = i;
            step->before[i] = state->before;
            start_choice_add(&run.latest, i, thread);
            i++;
        } while (i < ops->n && number_compare(number_at(ops->ts, i), ts) == 0);
        if (number_compare(ts, number_integer(0)) > 0)
            begun = begun_merge(&begun, &run);
    }
    free(states);
    return SUTRA_OK;
}

/* Groups the items by lane, in which times ascend too; each query is a binary search. */
enum sutra_status cpu_lane_neighbours(void *pool, struct lane_neighbours_step *step, struct sutra_error *error) {
    (void)pool;
    const struct lane_items *items = step->items;
    struct arena arena = {0};
    row_t *start = arena_zeros(&arena, (size_t)items->n_lanes + 2, sizeof *start);
    row_t *item = arena_alloc(&arena, items->n, sizeof *item);
    if (arena.failed) {
        arena_free(&arena);
        return error_memory(error);
    }
    row_t *next = start + 1; /* counts at first, then the next position of each lane, finally the lane's end */
    for (row_t k = 0; k < items->n; k++)
        next[items->lane[k] + 1]++;
    for (uint32_t t = 0; t < items->n_lanes; t++)
        next[t + 1] += next[t];
    for (row_t k = 0; k < items->n; k++)
        item[next[items->lane[k]]++] = k;

    for (row_t i = 0; i < step->n; i++) {
        row_t begin = start[step->lane[i]], end = start[step->lane[i] + 1];
        struct bisection at = {begin, end};
        while (at.low < at.high)
            bisect(&at, items->time[item[bisect_middle(at)]] <= step->time[i]);
        if (step->before)
            step->before[i] = at.low > begin ? item[at.low - 1] : ROW_NONE;
        if (step->after)
            step->after[i] = at.low < end ? item[at.low] : ROW_NONE;
    }
    arena_free(&arena);
    return SUTRA_OK;
}

enum sutra_status cpu_queue_lengths(void *pool, struct queue_lengths_step *step, struct sutra_error *error) {
    (void)pool;
    uint32_t *current = calloc((size_t)step->n_lanes + 1, sizeof *current);
    TRY_ALLOC(current, error);
    for (row_t i = 0; i < step->n; i++)
        step->length[i] = current[step->lane[i]] += step->up[i] ? 1 : UINT32_MAX;
    free(current);
    return SUTRA_OK;
}

/* One pass with a stack of open frames for each thread. */
enum sutra_status cpu_match_frames(void *pool, struct match_frames_step *step, struct sutra_error *error) {
    (void)pool;
    const struct frame_tokens *tokens = step->tokens;
    row_t *open = malloc(((size_t)tokens->n + 1) * sizeof *open);
    TRY_ALLOC(open, error);
    for (uint32_t t = 0; t < tokens->n_threads; t++) {
        row_t n_open = 0;
        for (row_t i = tokens->thread_start[t]; i < tokens->thread_start[t + 1]; i++) {
            step->partner[i] = n_open ? open[n_open - 1] : ROW_NONE;
            if (tokens->begins[i])
                open[n_open++] = i;
            else if (n_open)
                n_open--;
        }
    }
    free(open);
    return SUTRA_OK;
}
