/*
 * call_tree.c - subtree ends and hashes, from the last position to the first: all below an operator is done before it.
 */
#include "legacy/call_tree.h"

#include <stdlib.h>

#include "columns/hash.h"

bool call_tree_alloc(struct call_tree *tree, row_t n) {
    *tree = (struct call_tree){.n = n};
    tree->token = calloc((size_t)n + 1, sizeof *tree->token);
    tree->parent = calloc((size_t)n + 1, sizeof *tree->parent);
    tree->last = calloc((size_t)n + 1, sizeof *tree->last);
    tree->reach = calloc((size_t)n + 1, sizeof *tree->reach);
    tree->hash = calloc((size_t)n + 1, sizeof *tree->hash);
    return tree->token && tree->parent && tree->last && tree->reach && tree->hash;
}

void call_tree_free(struct call_tree *tree) {
    free(tree->token);
    free(tree->parent);
    free(tree->last);
    free(tree->reach);
    free(tree->hash);
    *tree = (struct call_tree){0};
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
