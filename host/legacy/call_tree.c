/*
 * call_tree.c - subtree ends and hashes, from the last position to the first: all below an operator is done before it.
 */
#include "legacy/call_tree.h"

#include "columns/hash.h"

struct call_tree call_tree_take(struct arena *arena, row_t n) {
    return (struct call_tree){.n = n,
                              .token = arena_take(arena, n, sizeof(uint32_t)),
                              .parent = arena_take(arena, n, sizeof(row_t)),
                              .last = arena_take(arena, n, sizeof(row_t)),
                              .reach = arena_take(arena, n, sizeof(row_t)),
                              .hash = arena_take(arena, n, sizeof(uint64_t))};
}

void call_tree_finish(struct call_tree *tree) {
    for (row_t i = 0; i < tree->n; i++) {
        tree->last[i] = i;
        tree->hash[i] = 0x9e3779b97f4a7c15u;
    }
    for (row_t i = tree->n; i-- > 0;) {
        tree->hash[i] =
            hash_fold(tree->hash[i] ^ 0xa0761d6478bd642fu, ((uint64_t)tree->token[i] << 1) ^ 0x8ebc6af09c88c6e3u);
        tree->reach[i] = tree->last[i];
        row_t above = tree->parent[i];
        if (above == ROW_NONE)
            continue;
        if (tree->last[above] < tree->last[i])
            tree->last[above] = tree->last[i];
        tree->hash[above] = hash_fold(tree->hash[above] ^ tree->hash[i], 0xe7037ed1a0b428dbu);
    }
}
