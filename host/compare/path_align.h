/*
 * path_align.h - trees of many steps and ranks of one side, folded into one: the k-th child of a name below a node is
 * the k-th child of that name below it in every step.
 *
 *     step 4   linear norm linear          folded   linear linear norm linear'          linear, norm in all steps,
 *     step 5   linear norm linear                   the order is that of the steps      linear' in the last
 *     step 6   linear norm linear linear
 *
 * Steps mostly are like those before them, so a child is first looked for behind the one that its predecessor was found
 * at, and by its name only where it is not there. O(1) a node.
 */
#ifndef COMPARE_PATH_ALIGN_H
#define COMPARE_PATH_ALIGN_H

#include "columns/hash_tables.h"
#include "compare/call_paths.h"

struct fold_node {
    struct path_node node;
    row_t parent, first, next; /* first child, next sibling; ROW_NONE */
    row_t alike;               /* the next sibling of its name, as they came */
    uint64_t used_by;          /* the call of its parent that had it last */
    /* Of the first one of its name: */
    row_t unused;        /* siblings of its name before it are used by the call, */
    uint64_t unused_for; /* which is this one */
};

struct path_fold {
    struct fold_node *list;
    row_t n;
    uint64_t capacity;
    struct pair_table heads; /* by parent, kind and name: the first child of that name */
    uint64_t n_calls;        /* of nodes, as they were added */
};

/* False: out of memory. It needs path_fold_free() in any case. */
bool path_fold_init(struct path_fold *fold);
void path_fold_free(struct path_fold *fold);

/* Adds a tree of the side, whose numbers are added to those of the nodes that it meets. `scratch` is given back. False:
 * out of memory. */
bool path_fold_add(struct path_fold *fold, const struct path_tree *tree, int side, struct arena *scratch);

/* The tree in pre-order, in the arena; `nodes` is NULL where memory runs out. */
struct path_tree path_fold_tree(const struct path_fold *fold, struct arena *arena);

#endif
