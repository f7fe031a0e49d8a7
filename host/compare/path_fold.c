/*
 * path_fold.c - children by their order, else by their names.
 */
#include "compare/path_fold.h"

#include <stdlib.h>

#include "columns/column.h"

bool path_fold_init(struct path_fold *fold) {
    *fold = (struct path_fold){0};
    return pair_table_init(&fold->heads);
}

void path_fold_free(struct path_fold *fold) {
    free(fold->list);
    pair_table_free(&fold->heads);
    *fold = (struct path_fold){0};
}

/* A tree that is being added. */
struct folding {
    struct path_fold *fold;
    const struct path_tree *tree;
    int side;
    row_t *at;       /* by node of the tree: the folded one */
    row_t *last;     /* and the folded child that was found last */
    uint64_t *calls; /* and the number of the call */
};

static bool is_alike(const struct path_node *a, const struct path_node *b, int side) {
    return a->kind == b->kind && a->name[side] == b->name[side];
}

/* A new node behind the child that was found last. */
static row_t put_child(struct folding *folding, row_t i, row_t parent) {
    struct path_fold *fold = folding->fold;
    if (fold->n >= ROW_LIMIT || !column_grow(&fold->list, fold->n, &fold->capacity, sizeof *fold->list))
        return ROW_NONE;
    row_t row = fold->n++;
    fold->list[row] = (struct fold_node){.node = folding->tree->nodes[i],
                                         .parent = parent,
                                         .first = ROW_NONE,
                                         .next = ROW_NONE,
                                         .alike = ROW_NONE,
                                         .unused = row};
    for (int side = 0; side < 2; side++) {
        fold->list[row].node.calls[side] = 0;
        fold->list[row].node.ticks[side] = 0;
    }
    if (parent == ROW_NONE)
        return row;
    row_t last = folding->last[folding->tree->nodes[i].parent];
    row_t *link = last == ROW_NONE ? &fold->list[parent].first : &fold->list[last].next;
    fold->list[row].next = *link;
    *link = row;
    return row;
}

/* The first child of its name that this call of the parent has not used, or a new one. */
static row_t find_by_name(struct folding *folding, row_t i, row_t parent, uint64_t call) {
    struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    struct pair_entry *head =
        pair_table_take(&fold->heads, (uint64_t)parent << 3 | node->kind, node->name[folding->side]);
    if (!head)
        return ROW_NONE;
    if (head->number == PAIR_NONE)
        return head->number = put_child(folding, i, parent);
    row_t first = head->number, before = ROW_NONE;
    row_t row = fold->list[first].unused_for == call ? fold->list[first].unused : first;
    for (; row != ROW_NONE && fold->list[row].used_by == call; row = fold->list[row].alike)
        before = row;
    if (row == ROW_NONE && (row = put_child(folding, i, parent)) != ROW_NONE)
        fold->list[before].alike = row;
    if (row != ROW_NONE) {
        fold->list[first].unused = row;
        fold->list[first].unused_for = call;
    }
    return row;
}

static row_t find_child(struct folding *folding, row_t i) {
    const struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    row_t parent = folding->at[node->parent], last = folding->last[node->parent];
    uint64_t call = folding->calls[node->parent];
    row_t next = last == ROW_NONE ? fold->list[parent].first : fold->list[last].next;
    if (next != ROW_NONE && fold->list[next].used_by != call && is_alike(&fold->list[next].node, node, folding->side))
        return next;
    return find_by_name(folding, i, parent, call);
}

static bool add_node(struct folding *folding, row_t i) {
    struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    row_t row = i == 0 ? 0 : find_child(folding, i);
    if (i == 0 && fold->n == 0)
        row = put_child(folding, 0, ROW_NONE);
    if (row == ROW_NONE)
        return false;
    if (i > 0) {
        fold->list[row].used_by = folding->calls[node->parent];
        folding->last[node->parent] = row;
    }
    folding->at[i] = row;
    folding->last[i] = ROW_NONE;
    folding->calls[i] = ++fold->n_calls;
    fold->list[row].node.calls[folding->side] += node->calls[folding->side];
    fold->list[row].node.ticks[folding->side] += node->ticks[folding->side];
    return true;
}

bool path_fold_add(struct path_fold *fold, const struct path_tree *tree, int side, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    struct folding folding = {.fold = fold,
                              .tree = tree,
                              .side = side,
                              .at = arena_take(scratch, tree->n, sizeof(row_t)),
                              .last = arena_take(scratch, tree->n, sizeof(row_t)),
                              .calls = arena_take(scratch, tree->n, sizeof(uint64_t))};
    bool ok = !scratch->failed;
    for (row_t i = 0; i < tree->n && ok; i++)
        ok = add_node(&folding, i);
    arena_release(scratch, mark);
    return ok;
}

/* The node behind all below one, or ROW_NONE. */
static row_t node_behind(const struct path_fold *fold, row_t row) {
    while (row != ROW_NONE && fold->list[row].next == ROW_NONE)
        row = fold->list[row].parent;
    return row == ROW_NONE ? ROW_NONE : fold->list[row].next;
}

struct path_tree path_fold_tree(const struct path_fold *fold, struct arena *arena) {
    struct path_tree tree = {.nodes = arena_take(arena, fold->n, sizeof *tree.nodes)};
    row_t *place = arena_take(arena, fold->n, sizeof *place);
    row_t row = fold->n && place ? 0 : ROW_NONE;
    while (row != ROW_NONE) {
        row_t parent = fold->list[row].parent, first = fold->list[row].first;
        place[row] = tree.n;
        tree.nodes[tree.n] = fold->list[row].node;
        tree.nodes[tree.n++].parent = parent == ROW_NONE ? ROW_NONE : place[parent];
        row = first != ROW_NONE ? first : node_behind(fold, row);
    }
    if (place)
        path_tree_finish(&tree);
    return place ? tree : (struct path_tree){0};
}
