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

/*
 * Both searches examine the siblings of the position first, then the siblings of their parent, and so on, until a node
 * with a large enough key is found or the other bound is reached. Then they descend. Four keys are loaded before the
 * first comparison, so that their latencies overlap; with eight, compilers run out of registers.
 */

struct four_keys {
    uint64_t key[4];
};

/* Keys outside of [low, high) are 0, which no search finds. */
SHARED struct four_keys four_keys_at(const uint64_t *level, row_t first, row_t low, row_t high) {
    struct four_keys keys;
    for (row_t i = 0; i < 4; i++)
        keys.key[i] = first + i >= low && first + i < high ? level[first + i] : 0;
    return keys;
}

/* The last node in [low, high), a part of one group that is not empty, with a key of at least `key`; else ROW_NONE. */
SHARED row_t siblings_last_not_below(const uint64_t *level, row_t low, row_t high, uint64_t key,
                                     uint64_t *largest_after) {
    row_t found = ROW_NONE;
    for (row_t first = (high - 1) & ~(row_t)3;; first -= 4) {
        struct four_keys keys = four_keys_at(level, first, low, high);
        for (row_t i = 4; i-- > 0;) {
            if (found == ROW_NONE && keys.key[i] >= key)
                found = first + i;
            if (found == ROW_NONE && keys.key[i] > *largest_after)
                *largest_after = keys.key[i];
        }
        if (found != ROW_NONE || first <= low)
            return found;
    }
}

/* The first node in [low, high), a part of one group that is not empty, with a key above `key`; else ROW_NONE. */
SHARED row_t siblings_first_above(const uint64_t *level, row_t low, row_t high, uint64_t key) {
    row_t found = ROW_NONE;
    for (row_t first = low & ~(row_t)3;; first += 4) {
        struct four_keys keys = four_keys_at(level, first, low, high);
        for (row_t i = 4; i-- > 0;)
            if (keys.key[i] > key)
                found = first + i;
        if (found != ROW_NONE || high - first <= 4)
            return found;
    }
}

/* Returns the last position in [low, high) with a key of at least `key`, which is not 0, or ROW_NONE. *largest_after is
 * the largest key after this position; 0: none. */
SHARED row_t tree_last_not_below(const struct max_tree *tree, row_t low, row_t high, uint64_t key,
                                 uint64_t *largest_after) {
    uint64_t begin = low, end = high; /* nodes of this level to the right of `low` that are not examined yet */
    uint32_t level = 0;
    row_t found = ROW_NONE;
    *largest_after = 0;
    for (; (end & ~(uint64_t)7) > begin; level++) {
        if (end % 8)
            found = siblings_last_not_below(tree->level[level], (row_t)(end & ~(uint64_t)7), (row_t)end, key,
                                            largest_after);
        if (found != ROW_NONE)
            break;
        begin = (begin + 7) / 8;
        end /= 8;
    }
    while (found == ROW_NONE) { /* the nodes between `low` and the whole groups */
        if (begin < end)
            found = siblings_last_not_below(tree->level[level], (row_t)begin, (row_t)end, key, largest_after);
        if (found != ROW_NONE)
            break;
        if (level == 0)
            return ROW_NONE;
        end = begin * 8;
        level--;
        begin = (low + ((uint64_t)1 << 3 * level) - 1) >> 3 * level;
    }
    for (; level; level--)
        found = siblings_last_not_below(tree->level[level - 1], found * 8, found * 8 + 8, key, largest_after);
    return found;
}

/* Returns the first position in [low, high) with a key above `key`, or ROW_NONE. */
SHARED row_t tree_first_above(const struct max_tree *tree, row_t low, row_t high, uint64_t key) {
    uint64_t begin = low, end = high; /* nodes of this level to the left of `high` that are not examined yet */
    uint32_t level = 0;
    row_t found = ROW_NONE;
    for (; (begin + 7) / 8 * 8 < end; level++) {
        if (begin % 8)
            found = siblings_first_above(tree->level[level], (row_t)begin, (row_t)((begin + 7) / 8 * 8), key);
        if (found != ROW_NONE)
            break;
        begin = (begin + 7) / 8;
        end /= 8;
    }
    while (found == ROW_NONE) { /* the nodes between the whole groups and `high` */
        if (begin < end)
            found = siblings_first_above(tree->level[level], (row_t)begin, (row_t)end, key);
        if (found != ROW_NONE)
            break;
        if (level == 0)
            return ROW_NONE;
        begin = end * 8;
        level--;
        end = high >> 3 * level;
    }
    for (; level; level--)
        found = siblings_first_above(tree->level[level - 1], found * 8, found * 8 + 8, key);
    return found;
}

#endif
