/*
 * sibling_lists.c - lists of children, and walking them without recursion. O(n).
 */
#include "legacy/sibling_lists.h"

#include <stdlib.h>
#include <string.h>

bool sibling_lists_build(struct sibling_lists *lists, const row_t *parent, row_t n) {
    size_t size = ((size_t)n + 1) * sizeof *lists->first;
    lists->n = n;
    lists->parent = parent;
    lists->first = malloc(size);
    lists->next = malloc(size);
    if (!lists->first || !lists->next)
        return false;
    memset(lists->first, 0xff, size);
    memset(lists->next, 0xff, size);
    for (row_t i = n; i-- > 0;) {
        if (parent[i] == ROW_NONE)
            continue;
        lists->next[i] = lists->first[parent[i]];
        lists->first[parent[i]] = i;
    }
    return true;
}

void sibling_lists_free(struct sibling_lists *lists) {
    free(lists->first);
    free(lists->next);
    *lists = (struct sibling_lists){0};
}

bool sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token, uint32_t max_depth,
                           struct call_tree *tree, row_t *row) {
    row_t *position = malloc(((size_t)lists->n + 1) * sizeof *position), n = 0;
    if (!position || !call_tree_alloc(tree, lists->n)) {
        free(position);
        return false;
    }
    uint32_t depth = 1;
    for (row_t at = root; at != ROW_NONE;) {
        row[n] = at;
        position[at] = n;
        tree->token[n] = token[at];
        tree->parent[n] = at == root ? ROW_NONE : position[lists->parent[at]];
        n++;
        if (lists->first[at] != ROW_NONE && depth != max_depth) {
            at = lists->first[at];
            depth++;
            continue;
        }
        for (; at != root && lists->next[at] == ROW_NONE; depth--)
            at = lists->parent[at];
        at = at == root ? ROW_NONE : lists->next[at];
    }
    tree->n = n;
    call_tree_finish(tree);
    free(position);
    return true;
}
