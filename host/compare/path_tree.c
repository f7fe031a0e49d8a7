/*
 * path_tree.c - ends and ids of a tree of paths, and nodes that are left out.
 *
 * Ids are made from the last node to the first, so that the list of a node's children is whole before the node: each
 * child puts itself before those that come behind it.
 */
#include "compare/path_tree.h"

#include <stdlib.h>

/* What a tuple is of, in its first part. */
enum { TUPLE_LIST = 1, TUPLE_SHELL, TUPLE_BARE, TUPLE_NODE /* and the kind */ };

static bool number(struct path_ids *ids, struct tuple tuple, uint32_t *id) {
    *id = tuples_number(&ids->numbers, tuple);
    return *id != TUPLE_NONE;
}

bool path_ids_init(struct path_ids *ids) {
    *ids = (struct path_ids){0};
    return tuples_number(&ids->numbers, (struct tuple){{0}}) == 0; /* so that no list has this number */
}

void path_ids_free(struct path_ids *ids) {
    tuples_free(&ids->numbers);
    free(ids->slots);
    *ids = (struct path_ids){0};
}

bool path_tree_number(struct path_tree *tree, struct path_ids *ids) {
    bool ok = true;
    for (row_t i = 0; i < tree->n; i++)
        tree->nodes[i].list = 0;
    for (row_t i = tree->n; i-- > 0 && ok;) {
        struct path_node *node = &tree->nodes[i];
        ok = number(ids, (struct tuple){{TUPLE_NODE + node->kind, node_name(node), node->shapes, node->list}},
                    &node->id);
        uint32_t *list = node->parent == ROW_NONE ? NULL : &tree->nodes[node->parent].list;
        ok = ok && (!list || number(ids, (struct tuple){{TUPLE_LIST, node->id, *list, 0}}, list));
    }
    return ok;
}

bool path_tree_name(struct path_tree *tree, struct path_ids *ids) {
    bool ok = true;
    for (row_t i = 0; i < tree->n && ok; i++) {
        struct path_node *node = &tree->nodes[i];
        uint32_t name = node_name(node);
        ok = number(ids, (struct tuple){{TUPLE_BARE, node->kind, name, 0}}, &node->bare) &&
             number(ids, (struct tuple){{TUPLE_SHELL, node->kind, name, node->shapes}}, &node->shell);
    }
    return ok;
}

void path_tree_finish(struct path_tree *tree) {
    for (row_t i = 0; i < tree->n; i++) {
        tree->nodes[i].end = i + 1;
        tree->nodes[i].n_children = 0;
    }
    for (row_t i = tree->n; i-- > 1;) {
        struct path_node *parent = &tree->nodes[tree->nodes[i].parent];
        parent->n_children++;
        if (parent->end < tree->nodes[i].end)
            parent->end = tree->nodes[i].end;
    }
}

static bool is_module(const struct path_tree *tree, row_t i) {
    return tree->nodes[i].kind == PATH_MODULE;
}

/* Children of what is left out come in its place. */
static void leave_out(struct path_tree *tree, bool (*is_out)(const struct path_tree *tree, row_t i),
                      struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    row_t *now = arena_take(scratch, tree->n, sizeof *now), n = 0; /* where a node, or the one above it, stands then */
    for (row_t i = 0; i < tree->n && now; i++) {
        struct path_node node = tree->nodes[i];
        bool out = is_out(tree, i);
        if (node.parent != ROW_NONE)
            node.parent = now[node.parent];
        now[i] = out ? node.parent : n;
        if (!out)
            tree->nodes[n++] = node;
    }
    if (now)
        tree->n = n;
    path_tree_finish(tree);
    arena_release(scratch, mark);
}

static bool is_empty(const struct path_tree *tree, row_t i) {
    return i > 0 && !tree->nodes[i].id;
}

/* Notes as id whether there is work below a node. */
static bool mark_empty(struct path_tree *tree) {
    bool any = false;
    for (row_t i = 0; i < tree->n; i++)
        tree->nodes[i].id = tree->nodes[i].kind == PATH_WORK;
    for (row_t i = tree->n; i-- > 1;) {
        tree->nodes[tree->nodes[i].parent].id |= tree->nodes[i].id;
        any |= is_empty(tree, i);
    }
    return any;
}

void path_tree_drop_empty(struct path_tree *tree, struct arena *scratch) {
    if (mark_empty(tree))
        leave_out(tree, is_empty, scratch);
    else
        path_tree_finish(tree);
}

bool path_tree_has_modules(const struct path_tree *tree) {
    for (row_t i = 0; i < tree->n; i++)
        if (is_module(tree, i))
            return true;
    return false;
}

void path_tree_drop_modules(struct path_tree *tree, struct arena *scratch) {
    leave_out(tree, is_module, scratch);
}
