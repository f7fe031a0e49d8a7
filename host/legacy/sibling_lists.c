/*
 * sibling_lists.c - lists of children, and walking them without recursion. O(n).
 */
#include "legacy/sibling_lists.h"

#include "columns/column.h"

struct sibling_lists sibling_lists_make(struct arena *arena, const row_t *parent, row_t n) {
    struct sibling_lists lists = {.n = n, .parent = parent, .first = rows_none(arena, n), .next = rows_none(arena, n)};
    for (row_t i = n; i-- > 0 && !arena->failed;) {
        if (parent[i] == ROW_NONE)
            continue;
        lists.next[i] = lists.first[parent[i]];
        lists.first[parent[i]] = i;
    }
    return lists;
}

struct call_tree sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token,
                                       uint32_t max_depth, struct arena *arena, row_t *row) {
    struct call_tree tree = call_tree_take(arena, lists->n);
    struct arena_mark mark = arena_mark(arena);
    row_t *position = arena_take(arena, lists->n, sizeof *position);
    if (arena->failed)
        return tree;
    uint32_t depth = 1;
    tree.n = 0;
    for (row_t at = root; at != ROW_NONE;) {
        row[tree.n] = at;
        position[at] = tree.n;
        tree.token[tree.n] = token[at];
        tree.parent[tree.n++] = at == root ? ROW_NONE : position[lists->parent[at]];
        if (lists->first[at] != ROW_NONE && depth != max_depth) {
            at = lists->first[at];
            depth++;
            continue;
        }
        for (; at != root && lists->next[at] == ROW_NONE; depth--)
            at = lists->parent[at];
        at = at == root ? ROW_NONE : lists->next[at];
    }
    arena_release(arena, mark);
    call_tree_finish(&tree);
    return tree;
}
