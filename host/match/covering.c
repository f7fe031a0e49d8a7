/*
 * covering.c - which operator runs at a moment: in come operators with rising starts and moments, out goes for each
 * moment the operator with the latest start among those that contain it.
 *
 * A tree over the operators holds in each node the operator of its range that ends last:
 *
 *     node   1: [0, 8)   2: [0, 4)  3: [4, 8)   4: [0, 2)  5: [2, 4) ...   size + i: operator i alone
 *
 * Operators that begin before the moment are those up to some place; the last of them that ends after the moment is
 * found by climbing from that place to the first subtree on the left that has one, and descending in it. Among equal
 * starts the search then runs the other way. O(n) for the tree, O(log n) for each moment.
 */
#include "base/arena.h"
#include "base/error.h"
#include "match/cpu_steps.h"
#include "match/rules.h"

/* Moments that one task answers. */
#define BLOCK 1024

struct covering {
    const struct covering_ops_step *step;
    struct number_column end;
    size_t size; /* leaves: a power of 2 above n */
    row_t *tree; /* 2 * size places; ROW_NONE where a range is empty */
};

static row_t later_end(const struct covering *covering, row_t a, row_t b) {
    if (a == ROW_NONE || b == ROW_NONE)
        return a == ROW_NONE ? b : a;
    return number_below(number_at(covering->end, a), number_at(covering->end, b)) ? b : a;
}

static bool plant(struct arena *arena, struct covering *covering) {
    const struct covering_ops_step *step = covering->step;
    covering->size = 1;
    while (covering->size <= step->n)
        covering->size *= 2;
    covering->tree = arena_take(arena, covering->size, 2 * sizeof *covering->tree);
    covering->end.bits = arena_take(arena, step->n, sizeof *covering->end.bits);
    covering->end.kind = arena_take(arena, step->n, sizeof *covering->end.kind);
    if (arena->failed)
        return false;
    for (row_t i = 0; i < step->n; i++)
        number_put(covering->end, i, number_add(number_at(step->ts, i), number_at(step->dur, i)));
    for (size_t i = 0; i < covering->size; i++)
        covering->tree[covering->size + i] = i < step->n ? (row_t)i : ROW_NONE;
    for (size_t i = covering->size; --i > 0;)
        covering->tree[i] = later_end(covering, covering->tree[2 * i], covering->tree[2 * i + 1]);
    return true;
}

static bool node_ends_after(const struct covering *covering, size_t node, struct number at) {
    row_t row = covering->tree[node];
    return row != ROW_NONE && op_ends_after(number_at(covering->end, row), at);
}

/* The last operator before `bound` that ends after the moment, or ROW_NONE. */
static row_t last_ending_after(const struct covering *covering, row_t bound, struct number at) {
    size_t node = covering->size + bound;
    while (node > 1 && !(node % 2 == 1 && node_ends_after(covering, node - 1, at)))
        node /= 2;
    if (node <= 1)
        return ROW_NONE;
    for (node--; node < covering->size;)
        node = 2 * node + node_ends_after(covering, 2 * node + 1, at);
    return (row_t)(node - covering->size);
}

/* The first operator from `begin` on that ends after the moment, where there is one. */
static row_t first_ending_after(const struct covering *covering, row_t begin, struct number at) {
    size_t node = covering->size + begin;
    while (!node_ends_after(covering, node, at)) {
        while (node % 2 == 1)
            node /= 2;
        node++;
    }
    while (node < covering->size)
        node = 2 * node + !node_ends_after(covering, 2 * node, at);
    return (row_t)(node - covering->size);
}

static row_t covering_op(const struct covering *covering, struct number at) {
    const struct covering_ops_step *step = covering->step;
    struct number_column ts = step->ts;
    row_t last = last_ending_after(covering, count_begun(ts, step->n, at), at);
    if (last == ROW_NONE || !op_start_counts(number_at(ts, last)))
        return ROW_NONE;
    struct number start = number_at(ts, last);
    if (last == 0 || number_below(number_at(ts, last - 1), start))
        return last;
    return first_ending_after(covering, count_begun(ts, step->n, start), at);
}

static void answer_block(void *arg, size_t block) {
    const struct covering *covering = arg;
    const struct covering_ops_step *step = covering->step;
    size_t begin = block * BLOCK, end = begin + BLOCK < step->n_moments ? begin + BLOCK : step->n_moments;
    for (row_t i = (row_t)begin; i < end; i++)
        step->found[i] = covering_op(covering, number_at(step->at, i));
}

enum sutra_status cpu_covering_ops(void *pool, struct covering_ops_step *step, struct sutra_error *error) {
    struct arena arena = {0};
    struct covering covering = {.step = step};
    bool ok = plant(&arena, &covering);
    size_t n_blocks = ((size_t)step->n_moments + BLOCK - 1) / BLOCK;
    if (ok && pool)
        pool_run(pool, n_blocks, answer_block, &covering);
    for (size_t block = 0; ok && !pool && block < n_blocks; block++)
        answer_block(&covering, block);
    arena_free(&arena);
    return ok ? SUTRA_OK : error_memory(error);
}
