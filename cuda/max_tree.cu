/*
 * max_tree.cu - building the levels of a max_tree, one from the other. Only nodes whose eight children are all there
 * are made; searches enter no others.
 */
#include "cuda/max_tree.h"

struct max_tree_level {
    const uint64_t *children;
    uint64_t *nodes;
};

SHARED void fill_node(const struct max_tree_level &level, row_t node) {
    uint64_t most = 0;
    for (uint64_t i = (uint64_t)node * 8; i < (uint64_t)node * 8 + 8; i++)
        most = level.children[i] > most ? level.children[i] : most;
    level.nodes[node] = most;
}

struct max_tree max_tree_build(struct gpu *gpu, uint64_t *keys, row_t n) {
    struct max_tree tree = {{keys}, 1};
    for (row_t n_nodes = n / 8; n_nodes; n_nodes /= 8) {
        struct max_tree_level level = {tree.level[tree.n_levels - 1], gpu_take<uint64_t>(gpu, n_nodes)};
        gpu_each<fill_node>(gpu, n_nodes, level);
        tree.level[tree.n_levels++] = level.nodes;
    }
    return tree;
}
