/*
 * timeline_ops.c - operators of the processor: their order, their cuts, and which of them was running at a moment; in
 * come operators with times, out go rows.
 */
#include <math.h>
#include <string.h>

#include "columns/number.h"
#include "simulate/timeline_stages.h"

bool timeline_sort(const struct timeline_work *work, row_t n, const double *const *keys, int n_keys, row_t *order) {
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *sort_keys = arena_take(work->arena, n, sizeof *sort_keys);
    bool done = !work->arena->failed;
    for (row_t i = 0; done && i < n; i++)
        order[i] = i;
    for (int k = 0; done && k < n_keys; k++) {
        for (row_t i = 0; i < n; i++)
            sort_keys[i] = double_sort_key(keys[k][order[i]]);
        struct sort_keys_step step = {sort_keys, order, n};
        done = !work->engine->sort_keys(work->engine->state, &step, NULL);
    }
    arena_release(work->arena, mark);
    return done;
}

/* An operator's cut is known when the next one of its thread has been seen. */
static bool cut_ops(const struct timeline_work *work, struct timeline_order *made) {
    const struct timeline_ops *ops = &work->input->ops;
    struct arena_mark mark = arena_mark(work->arena);
    row_t *last = arena_take(work->arena, ops->n_threads, sizeof *last);
    if (work->arena->failed)
        return false;
    memset(last, 0xff, ops->n_threads * sizeof *last);
    for (row_t i = 0; i < ops->n; i++) {
        row_t op = made->order[i], before = last[ops->thread[op]];
        if (before != ROW_NONE && ops->start[op] < ops->end[before])
            made->cut[before] = ops->start[op];
        made->cut[op] = ops->end[op];
        made->is_abutting[op] = before != ROW_NONE && ops->start[op] == ops->end[before];
        last[ops->thread[op]] = op;
    }
    arena_release(work->arena, mark);
    return true;
}

bool timeline_order_ops(const struct timeline_work *work, struct timeline_order *made) {
    const struct timeline_ops *ops = &work->input->ops;
    made->order = arena_take(work->arena, ops->n, sizeof *made->order);
    made->cut = arena_take(work->arena, ops->n, sizeof *made->cut);
    made->is_abutting = arena_take(work->arena, ops->n, sizeof *made->is_abutting);
    double *falling_end = arena_take(work->arena, ops->n, sizeof *falling_end);
    if (work->arena->failed)
        return false;
    made->last_end = -INFINITY;
    for (row_t i = 0; i < ops->n; i++) {
        falling_end[i] = -ops->end[i];
        made->last_end = fmax(made->last_end, ops->end[i]);
    }
    const double *keys[] = {falling_end, ops->start};
    return timeline_sort(work, ops->n, keys, 2, made->order) && cut_ops(work, made);
}

/* ---- Owners ---- */

struct owner_queries owner_queries_take(struct arena *arena, row_t n) {
    return (struct owner_queries){
        .n = n,
        .time = arena_take(arena, n, sizeof(double)),
        .thread = arena_take(arena, n, sizeof(uint32_t)),
        .op = arena_take(arena, n, sizeof(row_t)),
    };
}

/* Operators that have begun and may still run, the innermost last; those that end no later than a later one are out of
 * it. So their ends fall from the first to the last. */
struct open_ops {
    row_t *rows;
    row_t n;
};

static void open_op(struct open_ops *open, const double *end, row_t op) {
    while (open->n && end[open->rows[open->n - 1]] <= end[op])
        open->n--;
    open->rows[open->n++] = op;
}

/* The last one that has not ended before the time, or ROW_NONE. */
static row_t running_op(const struct open_ops *open, const double *end, double time) {
    struct bisection at = {0, open->n};
    while (at.low < at.high)
        bisect(&at, end[open->rows[bisect_middle(at)]] >= time);
    return at.low ? open->rows[at.low - 1] : ROW_NONE;
}

/* Room for the open operators of each thread, and of all of them at threads[n_threads]. */
static struct open_ops *take_open_ops(const struct timeline_work *work) {
    const struct timeline_ops *ops = &work->input->ops;
    struct open_ops *threads = arena_zeros(work->arena, (size_t)ops->n_threads + 1, sizeof *threads);
    row_t *rows = arena_take(work->arena, (size_t)ops->n * 2, sizeof *rows);
    if (work->arena->failed)
        return NULL;
    for (row_t i = 0; i < ops->n; i++)
        threads[ops->thread[i]].n++;
    for (uint32_t t = 0; t < ops->n_threads; t++) {
        threads[t].rows = rows;
        rows += threads[t].n;
        threads[t].n = 0;
    }
    threads[ops->n_threads].rows = rows;
    return threads;
}

/* Goes through the moments and the operators in the order of time. */
static void sweep_owners(const struct timeline_ops *ops, const row_t *order, const row_t *moments,
                         struct open_ops *threads, struct owner_queries *queries) {
    struct open_ops *all = &threads[ops->n_threads];
    row_t begun = 0, begun_before = 0;
    for (row_t i = 0; i < queries->n; i++) {
        row_t query = moments[i];
        double time = queries->time[query];
        uint32_t thread = queries->thread[query];
        for (; begun < ops->n && ops->start[order[begun]] <= time; begun++)
            open_op(&threads[ops->thread[order[begun]]], ops->end, order[begun]);
        for (; begun_before < ops->n && ops->start[order[begun_before]] < time; begun_before++)
            open_op(all, ops->end, order[begun_before]);
        queries->op[query] = thread == THREAD_UNKNOWN
                                 ? ROW_NONE
                                 : running_op(thread == THREAD_ALL ? all : &threads[thread], ops->end, time);
    }
}

bool timeline_find_owners(const struct timeline_work *work, const struct timeline_order *made,
                          struct owner_queries *queries) {
    struct arena_mark mark = arena_mark(work->arena);
    row_t *moments = arena_take(work->arena, queries->n, sizeof *moments);
    struct open_ops *threads = take_open_ops(work);
    const double *keys[] = {queries->time};
    bool done = threads && !work->arena->failed && timeline_sort(work, queries->n, keys, 1, moments);
    if (done)
        sweep_owners(&work->input->ops, made->order, moments, threads, queries);
    arena_release(work->arena, mark);
    return done;
}
