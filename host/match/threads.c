/*
 * threads.c - which operator of another thread each group of operators waits for; in come the operators in the
 * order of their starts, out goes a row for each.
 *
 * One pass over runs of equal starts. What has begun before a run is known in full by two choices (struct begun), so a
 * group that begins in the run is answered at once; then the run itself joins what has begun. A thread remembers its
 * last operator and its group's answer.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/rules.h"
#include "match/steps.h"

/*
 * Items on lanes: which one stands before a moment and which behind it, and how many are under way.
 *
 * For the first, items are brought together by lane, where their times rise too, and each question is a binary search.
 * The second is a count for each lane.
 */

/* Items by lane, stably: those of lane t are places start[t] .. start[t + 1] - 1. */
struct lane_index {
    row_t *start, *item;
};

static bool index_items(struct arena *arena, struct lane_index *index, const struct lane_items *items) {
    index->start = arena_zeros(arena, (size_t)items->n_lanes + 2, sizeof *index->start);
    index->item = arena_take(arena, items->n, sizeof *index->item);
    if (arena->failed)
        return false;
    row_t *next = index->start + 1; /* first the counts, then where the lane goes on, in the end where it ends */
    for (row_t k = 0; k < items->n; k++)
        next[items->lane[k] + 1]++;
    for (uint32_t t = 0; t < items->n_lanes; t++)
        next[t + 1] += next[t];
    for (row_t k = 0; k < items->n; k++)
        index->item[next[items->lane[k]]++] = k;
    return true;
}

static void find_neighbours(const struct lane_index *index, const struct lane_neighbours_step *step, row_t i) {
    row_t begin = index->start[step->lane[i]], end = index->start[step->lane[i] + 1];
    struct bisection at = {begin, end};
    while (at.low < at.high)
        bisect(&at, step->items->time[index->item[bisect_middle(at)]] <= step->time[i]);
    if (step->before)
        step->before[i] = at.low > begin ? index->item[at.low - 1] : ROW_NONE;
    if (step->after)
        step->after[i] = at.low < end ? index->item[at.low] : ROW_NONE;
}

enum sutra_status cpu_lane_neighbours(void *pool, struct lane_neighbours_step *step, struct sutra_error *error) {
    (void)pool;
    struct arena arena = {0};
    struct lane_index index;
    enum sutra_status status = index_items(&arena, &index, step->items) ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < step->n && !status; i++)
        find_neighbours(&index, step, i);
    arena_free(&arena);
    return status;
}

enum sutra_status cpu_queue_lengths(void *pool, struct queue_lengths_step *step, struct sutra_error *error) {
    (void)pool;
    uint32_t *now = calloc((size_t)step->n_lanes + 1, sizeof *now);
    if (!now)
        return error_memory(error);
    for (row_t i = 0; i < step->n; i++)
        step->length[i] = now[step->lane[i]] += step->up[i] ? 1 : UINT32_MAX;
    free(now);
    return SUTRA_OK;
}

/*
 * Which frame an end closes, and which frame is around a beginning; in come the tokens of all threads, out
 * goes a token for each. The open frames of a thread are a stack; one pass.
 */

static void match_thread(const struct frame_tokens *tokens, row_t begin, row_t end, row_t *open, row_t *partner) {
    row_t n_open = 0;
    for (row_t i = begin; i < end; i++) {
        partner[i] = n_open ? open[n_open - 1] : ROW_NONE;
        if (tokens->begins[i])
            open[n_open++] = i;
        else if (n_open)
            n_open--;
    }
}

enum sutra_status cpu_match_frames(void *pool, struct match_frames_step *step, struct sutra_error *error) {
    (void)pool;
    const struct frame_tokens *tokens = step->tokens;
    row_t *open = malloc(((size_t)tokens->n + 1) * sizeof *open);
    if (!open)
        return error_memory(error);
    for (uint32_t t = 0; t < tokens->n_threads; t++)
        match_thread(tokens, tokens->thread_start[t], tokens->thread_start[t + 1], open, step->partner);
    free(open);
    return SUTRA_OK;
}

struct thread_state {
    row_t last;   /* the thread's last operator, or ROW_NONE */
    row_t before; /* the answer of its group */
};

static void place_op(const struct cpu_ops *ops, row_t i, int64_t gap, const struct begun *begun,
                     struct thread_state *state) {
    if (state->last == ROW_NONE ||
        group_begins(number_at(ops->ts, i), number_at(ops->ts, state->last), number_at(ops->dur, state->last), gap))
        state->before = begun_for(begun, ops->thread[i]);
    state->last = i;
}

enum sutra_status cpu_thread_order(void *pool, struct thread_order_step *step, struct sutra_error *error) {
    (void)pool;
    const struct cpu_ops *ops = step->ops;
    struct thread_state *states = reallocarray(NULL, (size_t)ops->n_threads + 1, sizeof *states);
    if (!states)
        return error_memory(error);
    for (uint32_t t = 0; t < ops->n_threads; t++)
        states[t] = (struct thread_state){ROW_NONE, ROW_NONE};

    struct begun begun = {start_choice_none(), start_choice_none()};
    for (row_t i = 0; i < ops->n;) {
        struct number ts = number_at(ops->ts, i);
        struct begun run = {start_choice_none(), start_choice_none()};
        do {
            uint32_t thread = ops->thread[i];
            place_op(ops, i, step->gap, &begun, &states[thread]);
            step->before[i] = states[thread].before;
            start_choice_add(&run.latest, i, thread);
            i++;
        } while (i < ops->n && number_compare(number_at(ops->ts, i), ts) == 0);
        if (number_compare(ts, number_integer(0)) > 0)
            begun = begun_merge(&begun, &run);
    }
    free(states);
    return SUTRA_OK;
}
