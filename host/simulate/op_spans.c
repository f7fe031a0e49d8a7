/*
 * op_spans.c - one sweep over operators by their start, with a stack of those that run: the last one that began lies on
 * top. Those below that have ended meanwhile are taken off once they come to the top.
 */
#include "simulate/op_spans.h"

#include <math.h>
#include <stdlib.h>

struct started_op {
    double start, end;
    row_t op;
};

/* By start, the longer first, then by row. */
static int compare_started(const void *left, const void *right) {
    const struct started_op *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

struct op_sweep {
    struct op_spans *spans;
    struct started_op *stack;
    row_t n_stack;
    double now; /* up to where spans are made */
};

/* A span from now on. */
static void add_span(struct op_sweep *sweep, row_t op, double until) {
    struct op_spans *spans = sweep->spans;
    if (spans->n == 0 || spans->op[spans->n - 1] != op) {
        spans->start[spans->n] = sweep->now;
        spans->op[spans->n++] = op;
    }
    sweep->now = until;
}

/* Makes the spans until operators end or the time comes. */
static void run_until(struct op_sweep *sweep, double time) {
    while (sweep->n_stack && sweep->now < time) {
        const struct started_op *top = &sweep->stack[sweep->n_stack - 1];
        if (top->end <= sweep->now)
            sweep->n_stack--;
        else
            add_span(sweep, top->op, fmin(top->end, time));
    }
}

bool op_spans_make(const struct timeline_ops *ops, struct arena *arena, struct op_spans *spans) {
    const size_t most = 3 * (size_t)ops->n + 1; /* an operator begins, goes on once more, and leaves a gap */
    struct started_op *order = arena_take(arena, ops->n, sizeof *order);
    struct op_sweep sweep = {.spans = spans, .stack = arena_take(arena, ops->n, sizeof *sweep.stack), .now = -INFINITY};
    *spans =
        (struct op_spans){0, arena_take(arena, most, sizeof *spans->start), arena_take(arena, most, sizeof *spans->op)};
    if (arena->failed)
        return false;
    for (row_t i = 0; i < ops->n; i++)
        order[i] = (struct started_op){ops->start[i], ops->end[i], i};
    if (ops->n)
        qsort(order, ops->n, sizeof *order, compare_started);
    for (row_t i = 0; i < ops->n; i++) {
        run_until(&sweep, order[i].start);
        if (sweep.now < order[i].start)
            add_span(&sweep, ROW_NONE, order[i].start);
        sweep.stack[sweep.n_stack++] = order[i];
    }
    run_until(&sweep, INFINITY);
    add_span(&sweep, ROW_NONE, INFINITY);
    return true;
}
