/*
 * max_tree.h - the nearest place to the left or right whose key is large enough: in come keys, out goes a place.
 *
 * Level 0 is the keys; a node of level k + 1 is the largest of eight nodes of level k:
 *
 *     level 2  |            9            | ...
 *     level 1  | 9 | 4 | ...             |
 *     level 0  | 3 1 9 2 0 0 1 2 | 4 ... |
 *
 * A search goes over the largest nodes that begin (or end) where it stands, and enters the first that holds a key large
 * enough. Building costs n / 7 keys of memory and time, a search O(log n) and next to nothing if the place is near.
 */
#ifndef CUDA_MAX_TREE_H
#define CUDA_MAX_TREE_H

#include "cuda/gpu.h"

#define TREE_LEVELS 11 /* 8^11 > 2^32 */

struct max_tree {
    uint64_t *level[TREE_LEVELS];
    uint32_t n_levels;
};

/* Takes memory for the levels above the keys and fills them. */
struct max_tree max_tree_build(struct gpu *gpu, uint64_t *keys, row_t n);

/* The last place in [low, high) whose key is at least `key`, or ROW_NONE. *most becomes the largest key behind that
 * place, or 0 where there is none. */
SHARED row_t tree_last_at_least(const struct max_tree *tree, row_t low, row_t high, uint64_t key, uint64_t *most) {
    uint32_t level = 0;
    *most = 0;
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
        if (largest > *most)
            *most = largest;
        at -= (uint64_t)1 << 3 * level;
    }
    return ROW_NONE;
}

/* The first place in [low, high) whose key is above `key`, or ROW_NONE. */
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
