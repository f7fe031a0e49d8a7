/*
 * call_tree.c - the call tree of each CPU thread, see hta.h. O(n log n).
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"

static int64_t call_end(const struct hta_call_tree *tree, row_t event) {
    return hta_end(&tree->input->rows, event);
}
/* ---- Rows of threads, in order ---- */

bool call_tree_has(const struct hta_input *input, row_t event) {
    const struct hta_rows *rows = &input->rows;
    if (rows->state[event] & HTA_STREAM)
        return false;
    return !input->options.compat || (rows->events->pid[event] != 0 && rows->events->tid[event] != 0);
}

static enum sutra_status sort_by(struct hta_call_tree *tree, uint64_t *keys, struct sutra_error *error) {
    const struct engine *engine = tree->input->engine;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, tree->event, tree->n}, error);
}

/* Sorts the rows by descending duration, start, and thread: stable sorts, the most important key last. */
static enum sutra_status sort_rows(struct hta_call_tree *tree, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &tree->input->rows;
    uint64_t *keys = arena_alloc(arena, tree->n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < tree->n; i++)
        keys[i] = integer_sort_key(-(call_end(tree, tree->event[i]) - rows->start[tree->event[i]]));
    TRY(sort_by(tree, keys, error));
    for (row_t i = 0; i < tree->n; i++)
        keys[i] = integer_sort_key(rows->start[tree->event[i]]);
    TRY(sort_by(tree, keys, error));
    for (row_t i = 0; i < tree->n; i++) {
        row_t event = tree->event[i];
        keys[i] = tuples_number(&tree->threads, (struct tuple){{rows->events->pid[event], rows->events->tid[event]}});
        TRY_ALLOC(keys[i] != TUPLE_NONE, error);
    }
    TRY(sort_by(tree, keys, error));
    tree->first = arena_zeros(arena, (size_t)tree->threads.n + 1, sizeof *tree->first);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < tree->n; i++)
        tree->first[keys[i] + 1]++;
    for (uint32_t t = 0; t < tree->threads.n; t++)
        tree->first[t + 1] += tree->first[t];
    return SUTRA_OK;
}

/* ---- Forward and backward threads, for HTA only ---- */

static bool thread_has(const struct hta_call_tree *tree, uint32_t thread, const uint8_t *names) {
    for (row_t i = tree->first[thread]; i < tree->first[thread + 1]; i++)
        if (names[tree->input->rows.events->name[tree->event[i]]])
            return true;
    return false;
}

/* A thread with steps is a forward thread, any other thread with names of autograd a backward thread. HTA joins them
 * only if there is exactly one of each. */
static enum sutra_status find_forward_backward(struct hta_call_tree *tree, struct arena *arena,
                                               struct sutra_error *error) {
    const struct strings *strings = tree->input->rows.strings;
    uint8_t *steps = arena_alloc(arena, strings->n, 1), *autograd = arena_alloc(arena, strings->n, 1);
    uint32_t n_forward = 0, n_backward = 0;
    TRY(arena_status(arena, error));
    for (uint32_t string = 0; string < strings->n; string++) {
        steps[string] = text_compare(strings, string, TEXT_BEGINS, STEP_NAME "#");
        autograd[string] = text_compare(strings, string, TEXT_HAS, "autograd::");
    }
    for (uint32_t thread = 0; thread < tree->threads.n; thread++) {
        if (thread_has(tree, thread, steps)) {
            tree->forward = thread;
            n_forward++;
        } else if (thread_has(tree, thread, autograd)) {
            tree->backward = thread;
            n_backward++;
        }
    }
    if (n_forward != 1 || n_backward != 1)
        tree->forward = tree->backward = TUPLE_NONE;
    return SUTRA_OK;
}

static void find_anchors(struct hta_call_tree *tree, const char *begin) {
    const struct hta_rows *rows = &tree->input->rows;
    for (row_t i = tree->first[tree->forward]; i < tree->first[tree->forward + 1]; i++)
        if (text_compare(rows->strings, rows->events->name[tree->event[i]], TEXT_BEGINS, begin))
            tree->anchor[tree->n_anchors++] = tree->event[i];
}

/* The last anchor that starts no later than a row, if it contains the row; else ROW_NONE. */
static row_t anchor_of(const struct hta_call_tree *tree, row_t event) {
    const int64_t *start = tree->input->rows.start;
    struct bisection at = {0, tree->n_anchors};
    while (at.low < at.high)
        bisect(&at, start[tree->anchor[bisect_middle(at)]] <= start[event]);
    bool in = at.low > 0 && call_end(tree, event) <= call_end(tree, tree->anchor[at.low - 1]);
    return in ? tree->anchor[at.low - 1] : ROW_NONE;
}

/* ---- Nesting ---- */

/* Whether an interval has ended when a row starts. A row of no duration is inside an interval that it touches. */
static bool is_over(const struct hta_call_tree *tree, int64_t end, row_t event) {
    int64_t start = tree->input->rows.start[event];
    return end < start || (end == start && call_end(tree, event) > start);
}

/* Visits the rows of a thread with the parent of each, or ROW_NONE. In HTA each row that ends removes the last row of
 * the stack, whichever row that is; `ended` counts rows that have ended. */
static void visit_thread(const struct hta_call_tree *tree, uint32_t thread, call_visit *visit, void *arg) {
    row_t *stack = tree->stack, n = 0, ended = tree->first[thread];
    for (row_t i = tree->first[thread]; i < tree->first[thread + 1]; i++) {
        row_t event = tree->event[i];
        if (tree->ends)
            for (; n > 0 && is_over(tree, tree->ends[ended], event); n--)
                ended++;
        else
            while (n > 0 && is_over(tree, call_end(tree, stack[n - 1]), event))
                n--;
        row_t parent = n > 0 ? stack[n - 1] : thread == tree->backward ? anchor_of(tree, event) : ROW_NONE;
        visit(arg, event, parent);
        stack[n++] = event;
    }
}

void call_tree_visit(const struct hta_call_tree *tree, call_visit *visit, void *arg) {
    for (uint32_t thread = 0; thread < tree->threads.n; thread++)
        if (thread != tree->backward)
            visit_thread(tree, thread, visit, arg);
    if (tree->backward != TUPLE_NONE)
        visit_thread(tree, tree->backward, visit, arg);
}

enum sutra_status call_tree_make(struct hta_call_tree *tree, const struct hta_input *input, struct arena *arena,
                                 struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    *tree = (struct hta_call_tree){.input = input,
                                   .event = arena_alloc(arena, rows->n, sizeof *tree->event),
                                   .forward = TUPLE_NONE,
                                   .backward = TUPLE_NONE};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++)
        if (call_tree_has(input, rows->list[i]))
            tree->event[tree->n++] = rows->list[i];
    TRY(sort_rows(tree, arena, error));
    tree->stack = arena_alloc(arena, tree->n, sizeof *tree->stack);
    tree->anchor = arena_alloc(arena, tree->n, sizeof *tree->anchor);
    TRY(arena_status(arena, error));
    if (!input->options.compat)
        return SUTRA_OK;
    TRY(find_forward_backward(tree, arena, error));
    tree->ends = arena_alloc(arena, tree->n, sizeof *tree->ends);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < tree->n; i++)
        tree->ends[i] = call_end(tree, tree->event[i]);
    for (uint32_t t = 0; t < tree->threads.n; t++)
        qsort(tree->ends + tree->first[t], tree->first[t + 1] - tree->first[t], sizeof *tree->ends, compare_int64s);
    if (tree->forward != TUPLE_NONE)
        find_anchors(tree, "## backward ##");
    if (tree->forward != TUPLE_NONE && tree->n_anchors == 0)
        find_anchors(tree, STEP_NAME "#");
    return SUTRA_OK;
}

void call_tree_free(struct hta_call_tree *tree) {
    tuples_free(&tree->threads);
}
