/*
 * end_tree.h - finds the last interval before a bound that ends at a given time or later; intervals can be removed.
 *
 *     latest    1: [0, 8)   2: [0, 4)  3: [4, 8)   4: [0, 2)  5: [2, 4) ...   size + i: interval i alone
 *
 * Each node holds the latest end in its range. The search climbs from the bound to the first subtree on its left that
 * ends late enough, and descends in it. O(n) to make, O(log n) to search and to remove.
 */
#ifndef ANALYZE_COMPAT_HTA_END_TREE_H
#define ANALYZE_COMPAT_HTA_END_TREE_H

#include "base/arena.h"
#include "base/shared.h"
#include "columns/numbers.h"

struct end_tree {
    size_t size;     /* leaves: a power of 2 above n */
    int64_t *latest; /* end in each node's range */
};

/* False: out of memory. */
static inline bool end_tree_make(struct end_tree *tree, struct arena *arena, const int64_t *ends, row_t n) {
    tree->size = 1;
    while (tree->size <= n)
        tree->size *= 2;
    tree->latest = arena_alloc(arena, tree->size, 2 * sizeof *tree->latest);
    if (!tree->latest)
        return false;
    for (size_t i = 0; i < tree->size; i++)
        tree->latest[tree->size + i] = i < n ? ends[i] : INT64_MIN;
    for (size_t i = tree->size; --i > 0;)
        tree->latest[i] = MAX(tree->latest[2 * i], tree->latest[2 * i + 1]);
    return true;
}

/* The last interval below `bound` (at latest n) that ends at `from` or later, or ROW_NONE. */
static inline row_t end_tree_last(const struct end_tree *tree, row_t bound, int64_t from) {
    size_t node = tree->size + bound;
    while (node > 1 && !(node % 2 == 1 && tree->latest[node - 1] >= from))
        node /= 2;
    if (node <= 1)
        return ROW_NONE;
    for (node--; node < tree->size;)
        node = 2 * node + (tree->latest[2 * node + 1] >= from);
    return (row_t)(node - tree->size);
}

static inline void end_tree_remove(struct end_tree *tree, row_t interval) {
    size_t node = tree->size + interval;
    tree->latest[node] = INT64_MIN;
    for (node /= 2; node > 0; node /= 2)
        tree->latest[node] = MAX(tree->latest[2 * node], tree->latest[2 * node + 1]);
}

#endif
