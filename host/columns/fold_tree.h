/*
 * fold_tree.h - sums, minima and maxima over intervals of an array whose elements are set one by one.
 *
 *     index        0   1   2   3          fold(1, 4) == the fold of the elements 1, 2 and 3 that are set
 *     level 1     [0,2)   [2,4)
 *     level 2        [0,4)
 *
 * Setting and folding cost O(log n). Queries such as "all intervals that begin at or before a and end at or after b"
 * become one fold each: elements are set in the order of one bound, and indexed in the order of the other one.
 */
#ifndef COLUMNS_FOLD_TREE_H
#define COLUMNS_FOLD_TREE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/shared.h"

struct fold {
    int64_t sum;         /* modulo 2^64 */
    int64_t min, max;    /* of one value of the elements */
    int64_t first, last; /* minimum and maximum of another one */
};

static const struct fold fold_empty = {0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN};

struct fold_tree {
    struct fold *nodes; /* node i has the children 2 i and 2 i + 1; the elements are the nodes from n on */
    uint64_t n;
};

static inline struct fold fold_join(struct fold a, struct fold b) {
    int64_t min = MIN(a.min, b.min), max = MAX(a.max, b.max);
    int64_t first = MIN(a.first, b.first), last = MAX(a.last, b.last);
    return (struct fold){(int64_t)((uint64_t)a.sum + (uint64_t)b.sum), min, max, first, last};
}

/* A tree of n elements, none of them set, in the arena, which records a failure. O(n). */
static inline struct fold_tree fold_tree_alloc(struct arena *arena, uint64_t n) {
    struct fold_tree tree = {arena_alloc(arena, 2 * n + 2, sizeof *tree.nodes), n};
    for (uint64_t i = 0; tree.nodes && i < 2 * n + 2; i++)
        tree.nodes[i] = fold_empty;
    return tree;
}

static inline void fold_tree_set(struct fold_tree *tree, uint64_t index, struct fold value) {
    uint64_t at = index + tree->n;
    tree->nodes[at] = value;
    for (at /= 2; at > 0; at /= 2)
        tree->nodes[at] = fold_join(tree->nodes[2 * at], tree->nodes[2 * at + 1]);
}

/* The fold of the elements from `low` on, below `high`. */
static inline struct fold fold_tree_fold(const struct fold_tree *tree, uint64_t low, uint64_t high) {
    struct fold found = fold_empty;
    for (low += tree->n, high += tree->n; low < high; low /= 2, high /= 2) {
        if (low & 1)
            found = fold_join(found, tree->nodes[low++]);
        if (high & 1)
            found = fold_join(found, tree->nodes[--high]);
    }
    return found;
}

#endif
