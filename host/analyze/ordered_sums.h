/*
 * ordered_sums.h - sums of leaves of trees, each rounded as if every tree node first summed up its children.
 *
 *            a                sum of the leaves x, y, z of one key:   x + (y + z), not (x + y) + z
 *          /   \
 *         x     b             Only nodes with several children that have leaves of the key matter: x and y meet in a,
 *              / \            depth 0; y and z in b, depth 1. Sums that still wait for their next leaf lie on a stack
 *             y   z           per key, deeper ones on top: O(1) amortised a leaf.
 */
#ifndef ANALYZE_ORDERED_SUMS_H
#define ANALYZE_ORDERED_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct waiting_sum {
    double us;
    uint32_t depth, below; /* place of the next one on the stack + 1, or 0 */
};

struct ordered_sums {
    struct waiting_sum *list;
    uint32_t n;
    uint64_t capacity;
};

/* One key's sum. Zero-initialise. */
struct ordered_sum {
    double last;  /* the leaf or finished subtree that was seen last */
    uint32_t top; /* of its stack + 1, or 0 */
    bool begun;
};

/* Adds a leaf that meets the one before it at `depth`. False: out of memory. */
bool ordered_sum_add(struct ordered_sums *sums, struct ordered_sum *sum, uint32_t depth, double us);

double ordered_sum_total(const struct ordered_sums *sums, const struct ordered_sum *sum);

#endif
