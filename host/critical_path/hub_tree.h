/*
 * hub_tree.h - what hubs (see hubs.h) still wait for, while nodes get their places one by one.
 *
 * A segment tree over the hubs. A kernel leads to a range of them, which is O(log n) nodes of the tree: there it takes
 * 1 from what they miss, and is kept if none before it is farther.
 *
 *     least[at]   the least number of kernels that a hub below misses, but for what the nodes above `at` took
 *     taken[at]   what was taken from all hubs below at once
 *     best[at]    the farthest of the kernels that lead to all hubs below
 */
#ifndef CRITICAL_PATH_HUB_TREE_H
#define CRITICAL_PATH_HUB_TREE_H

#include "critical_path/hubs.h"

struct hub_tree {
    const struct hubs *hubs;
    const double *distance; /* of nodes */
    uint32_t n_leaves;      /* a power of two; the root is 1, children of k are 2k and 2k + 1 */
    uint32_t *least, *taken;
    node_t *best;
    uint32_t *best_stream; /* of best[] */
    uint32_t *ready;       /* edges of hubs that miss nothing any more, rising */
    uint32_t n_ready;
};

/* A tree in the arena; empty where there are no hubs. The hubs' numbers of edges are looked up later. */
void hub_tree_take(struct hub_tree *tree, const struct hubs *hubs, const double *distance, struct arena *arena);

/* A kernel's end has its place: returns how many hubs miss nothing now, listed in tree->ready. */
uint32_t hub_tree_leave(struct hub_tree *tree, node_t end, const struct hub_source *source);

/* Of the kernels' ends that lead to the hub, and have left, the farthest, among equals that of the first stream; or
 * NODE_NONE. */
node_t hub_tree_farthest(const struct hub_tree *tree, uint32_t hub);

#endif
