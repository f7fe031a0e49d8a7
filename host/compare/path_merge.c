/*
 * path_merge.c - two trees walked together from their roots: children of nodes that belong together are aligned, and
 * become the children of one. Where all below two nodes is the same, only numbers are added up.
 *
 * Nodes that were entered and are not done lie on a stack in the scratch arena; no recursion.
 */
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "compare/path_tree.h"

/* A node that was entered: what is left of its children. */
struct merge_level {
    struct merge_level *above;
    struct arena_mark mark; /* before it */
    struct path_lists lists;
    row_t at[2];
    row_t merged; /* the node */
};

struct path_merge {
    const struct path_tree *trees;
    struct path_ids *ids;
    struct arena *scratch;
    struct path_tree *to;
    struct merge_level *level;
};

/* ---- Nodes ---- */

static void add_numbers(struct path_node *node, const struct path_node *other) {
    for (int side = 0; side < 2; side++) {
        if (!node_is_on(node, side)) {
            node->name[side] = other->name[side];
            node->path[side] = other->path[side];
        }
        node->calls[side] += other->calls[side];
        node->ticks[side] += other->ticks[side];
    }
}

/* Puts a node with all below it, and below `parent`, at the end; `other` (may be NULL) is the same on the other
 * side. */
static void put_whole(struct path_merge *merge, const struct path_tree *tree, row_t row, const struct path_node *other,
                      row_t parent) {
    row_t first = merge->to->n, n = tree->nodes[row].end - row;
    memcpy(merge->to->nodes + first, tree->nodes + row, n * sizeof *merge->to->nodes);
    for (row_t i = 0; i < n; i++) {
        struct path_node *node = &merge->to->nodes[first + i];
        node->parent = i ? node->parent - row + first : parent;
        if (other)
            add_numbers(node, other + i);
    }
    merge->to->n += n;
}

static void list_children(const struct path_tree *tree, row_t row, struct arena *arena, int side,
                          struct path_lists *lists) {
    lists->n[side] = 0;
    lists->node[side] = arena_take(arena, tree->nodes[row].n_children, sizeof(row_t));
    for (row_t child = row + 1; child < tree->nodes[row].end && lists->node[side]; child = tree->nodes[child].end)
        lists->node[side][lists->n[side]++] = child;
}

/* Puts a node that both sides have, and enters it. */
static void enter(struct path_merge *merge, const row_t rows[2], row_t parent) {
    struct arena_mark mark = arena_mark(merge->scratch);
    struct path_node *node = &merge->to->nodes[merge->to->n];
    struct merge_level *level = arena_zeros(merge->scratch, 1, sizeof *level);
    *node = merge->trees[0].nodes[rows[0]];
    node->parent = parent;
    add_numbers(node, &merge->trees[1].nodes[rows[1]]);
    if (!level)
        return;
    *level = (struct merge_level){.above = merge->level, .mark = mark, .merged = merge->to->n++};
    for (int side = 0; side < 2; side++)
        list_children(&merge->trees[side], rows[side], merge->scratch, side, &level->lists);
    path_lists_align(merge->trees, merge->ids, merge->scratch, &level->lists);
    merge->level = level;
}

static void put_pair(struct path_merge *merge, const row_t rows[2], row_t parent) {
    const struct path_node *first = &merge->trees[0].nodes[rows[0]], *second = &merge->trees[1].nodes[rows[1]];
    if (first->id == second->id)
        put_whole(merge, &merge->trees[0], rows[0], second, parent);
    else
        enter(merge, rows, parent);
}

/* The next child that only one side has, those of the first side first. */
static bool put_single(struct path_merge *merge, struct merge_level *level) {
    for (int side = 0; side < 2; side++) {
        const struct path_lists *lists = &level->lists;
        row_t at = level->at[side];
        if (at == lists->n[side] || lists->match[side][at] != ROW_NONE)
            continue;
        level->at[side]++;
        put_whole(merge, &merge->trees[side], lists->node[side][at], NULL, level->merged);
        return true;
    }
    return false;
}

static void walk(struct path_merge *merge) {
    while (merge->level && !merge->scratch->failed) {
        struct merge_level *level = merge->level;
        if (put_single(merge, level))
            continue;
        if (level->at[0] == level->lists.n[0]) {
            merge->level = level->above;
            arena_release(merge->scratch, level->mark);
            continue;
        }
        row_t rows[2] = {level->lists.node[0][level->at[0]], level->lists.node[1][level->at[1]]};
        level->at[0]++;
        level->at[1]++;
        put_pair(merge, rows, level->merged);
    }
}

/* ---- Both trees ---- */

/* Room for what is noted of all ids. */
static bool make_slots(struct path_ids *ids) {
    uint64_t n = ids->n_slots;
    if (n >= ids->numbers.n)
        return true;
    uint64_t wanted = ids->numbers.n + ids->numbers.n / 2;
    if (!column_resize(&ids->slots, wanted, sizeof *ids->slots))
        return false;
    memset(ids->slots + n, 0, (wanted - n) * sizeof *ids->slots);
    ids->n_slots = wanted;
    return true;
}

enum sutra_status path_tree_merge(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                                  struct arena *scratch, struct path_tree *merged, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct path_merge merge = {.trees = trees, .ids = ids, .scratch = scratch, .to = merged};
    if ((uint64_t)trees[0].n + trees[1].n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "too many call paths: select fewer steps or ranks (--step, --rank)");
    *merged = (struct path_tree){.nodes = arena_take(arena, (size_t)trees[0].n + trees[1].n, sizeof *merged->nodes)};
    if (!merged->nodes || !make_slots(ids))
        return error_memory(error);
    if (trees[0].n && trees[1].n)
        put_pair(&merge, (row_t[2]){0, 0}, ROW_NONE);
    else
        put_whole(&merge, &trees[trees[0].n == 0], 0, NULL, ROW_NONE);
    walk(&merge);
    enum sutra_status status = arena_status(scratch, error);
    arena_release(scratch, mark);
    path_tree_finish(merged);
    if (!status && !(path_tree_number(merged, ids) && path_tree_name(merged, ids)))
        status = error_memory(error);
    return status;
}
