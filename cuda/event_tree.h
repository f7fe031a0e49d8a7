/*
 * event_tree.h - find the nearest position to the left or right with a sufficiently large key.
 *
 * Level 0 has the keys; a node of level k + 1 is the maximum of eight nodes of level k:
 *
 *     level 2  |            9            | ...
 *     level 1  | 9 | 4 | ...             |
 *     level 0  | 3 1 9 2 0 0 1 2 | 4 ... |
 *
 * A search skips the largest nodes that begin (or end) at its position, and descends into the first node with a large
 * enough key. Cost: n / 7 keys of memory and O(n) time to build; O(log n) per search, and O(1) if the position is near.
 */
#ifndef CUDA_EVENT_TREE_H
#define CUDA_EVENT_TREE_H

#include "cuda/gpu.h"

#define TREE_LEVELS 11 /* 8^11 > 2^32 */

struct max_tree {
    uint64_t *level[TREE_LEVELS];
    uint32_t n_levels;
};

/* Allocates and fills the levels above the keys. */
struct max_tree max_tree_build(struct gpu *gpu, uint64_t *keys, row_t n);

/* Returns the last position in [low, high) with a key of at least `key`, or ROW_NONE. *largest_after is the largest key
 * after this position; 0: none. */
SHARED row_t tree_last_not_below(const struct max_tree *tree, row_t low, row_t high, uint64_t key,
                                 uint64_t *largest_after) {
    uint32_t level = 0;
    *largest_after = 0;
    for (uint64_t at = high; at > low;) {
        while (level + 1 < tree->n_levels && at % ((uint64_t)8 << 3 * level) == 0 &&
               at - low >= (uint64_t)8 << 3 * level)
            level++;
        while (level && (at % ((uint64_t)1 << 3 * level) || at - low < (uint64_t)1 << 3 * level))
            level--;
        uint64_t largest = tree->level[level][(at >> 3 * level) - 1];
        while (largest >= key && level) {
            level--;
            largest = tree->level[level][(at >> 3 * level) - 1];
        }
        if (largest >= key)
            return (row_t)(at - 1);
        if (largest > *largest_after)
            *largest_after = largest;
        at -= (uint64_t)1 << 3 * level;
    }
    return ROW_NONE;
}

/* Returns the first position in [low, high) with a key above `key`, or ROW_NONE. */
SHARED row_t tree_first_above(const struct max_tree *tree, row_t low, row_t high, uint64_t key) {
    uint32_t level = 0;
    for (uint64_t at = low; at < high;) {
        while (level + 1 < tree->n_levels && at % ((uint64_t)8 << 3 * level) == 0 &&
               high - at >= (uint64_t)8 << 3 * level)
            level++;
        while (level && (at % ((uint64_t)1 << 3 * level) || high - at < (uint64_t)1 << 3 * level))
            level--;
        uint64_t largest = tree->level[level][at >> 3 * level];
        while (largest > key && level) {
            level--;
            largest = tree->level[level][at >> 3 * level];
        }
        if (largest > key)
            return (row_t)at;
        at += (uint64_t)1 << 3 * level;
    }
    return ROW_NONE;
}

#endif
