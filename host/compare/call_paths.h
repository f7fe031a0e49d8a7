/*
 * call_paths.h - call paths: operators that enclose GPU activity, as a tree in pre-order. Each step of a rank has a
 * tree. The trees of many steps and ranks of one side are folded into one, and the trees of both sides are merged.
 *
 *     node     0 root   1 backward   2 aten::mm   3 gemm   4 aten::add   5 elementwise
 *     parent   -        0            1            2        1             4
 *     end      6        6            4            4        6             6
 *
 * The tree contains only nodes that launch GPU activity, directly or in a descendant; GPU activities are the leaves;
 * there is always a root.
 *
 * Nodes have the same `id` exactly if their subtrees are equal: name, shapes of an operator's inputs, children in
 * order. Ids are dense numbers of a struct tuples, not hashes, so distinct subtrees never collide.
 *
 * Folding: the k-th child of a name below a node is the k-th child of this name in every step.
 *
 *     step 4   linear norm linear          folded   linear linear norm linear'          linear, norm in all steps,
 *     step 5   linear norm linear                   in the order of the steps           linear' in the last
 *     step 6   linear norm linear linear
 *
 * Most steps are equal to their predecessors, so a child is first searched after the position where its predecessor was
 * found, and then by its name. O(1) per node.
 */
#ifndef COMPARE_CALL_PATHS_H
#define COMPARE_CALL_PATHS_H

#include <stdbool.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "match/intervals.h"

#define TEXT_NONE UINT32_MAX

enum path_kind {
    PATH_ROOT,
    PATH_THREAD, /* of the CPU, or the parent of GPU activity without a known call */
    PATH_CALLED, /* an operator, an annotation, a call outside of operators */
    PATH_MODULE, /* an nn.Module */
    PATH_WORK,   /* GPU activity: a kernel, memcpy or memset */
};

/* Pairs are values of sides A and B. */
struct path_node {
    uint32_t name[2];    /* texts; TEXT_NONE: the side has no such node */
    uint32_t path[2];    /* from the root to the node: number of a path + 1; 0: none */
    uint32_t shapes;     /* text; for GPU activity its class */
    uint32_t id, shell;  /* `shell`: equal for equal names and shapes; */
    uint32_t bare, list; /* for equal names; for equal children, 0: none */
    uint32_t n_children;
    row_t parent, end;
    uint8_t kind;
    uint64_t calls[2];
    wide_t ticks[2]; /* of GPU activity */
};

struct path_tree {
    row_t n;
    struct path_node *nodes;
};

static inline bool node_is_on(const struct path_node *node, int side) {
    return node->name[side] != TEXT_NONE;
}

/* A node's name, on A if A has the node. */
static inline uint32_t node_name(const struct path_node *node) {
    return node->name[node_is_on(node, 0) ? 0 : 1];
}

/* Scratch of the alignment: an id among the children that are aligned. */
struct path_slot {
    uint32_t stamp;
    row_t n[2]; /* occurrences on each side */
    row_t next; /* its next index on the second side, or ROW_NONE */
};

/* The numbers of ids, and scratch by id. */
struct path_ids {
    struct tuples numbers;
    struct path_slot *slots;
    uint64_t n_slots;
    uint32_t stamp; /* slots with another stamp are stale */
};

/* False: out of memory. Call path_ids_free() also after a failure. */
bool path_ids_init(struct path_ids *ids);
void path_ids_free(struct path_ids *ids);

/* Set `id` of all nodes; set `bare` and `shell`. False: out of memory. O(n). */
bool path_tree_number(struct path_tree *tree, struct path_ids *ids);
bool path_tree_name(struct path_tree *tree, struct path_ids *ids);

/* Whether the tree has modules; removes them. O(n). */
bool path_tree_has_modules(const struct path_tree *tree);
void path_tree_drop_modules(struct path_tree *tree, struct arena *scratch);

/* Computes `end` and `n_children` from parents. */
void path_tree_finish(struct path_tree *tree);

/* Merges two trees that have ids and names into one, in the arena: aligned nodes become one. `scratch` is another
 * arena, which is released. SUTRA_SYSTEM: out of memory. O(n log n + ids). */
enum sutra_status path_tree_merge(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                                  struct arena *scratch, struct path_tree *merged, struct sutra_error *error);

/* ---- Folding ---- */

struct fold_node {
    struct path_node node;
    row_t parent, first, next; /* first child, next sibling; ROW_NONE */
    row_t same_name;           /* the next sibling of its name, in the order of insertion */
    uint64_t used_by;          /* the last call of its parent that used it */
    /* For the first sibling of its name: */
    row_t unused;        /* siblings of its name before this one are used */
    uint64_t unused_for; /* by this call */
};

struct path_fold {
    struct fold_node *list;
    row_t n;
    uint64_t capacity;
    struct pair_table heads; /* by parent, kind and name: the first child of that name */
    uint64_t n_calls;        /* of nodes, in the order of insertion */
};

/* False: out of memory. Call path_fold_free() also after a failure. */
bool path_fold_init(struct path_fold *fold);
void path_fold_free(struct path_fold *fold);

/* Adds a tree of the side: calls and times of its nodes are added to the matching nodes. Releases `scratch`. False: out
 * of memory. */
bool path_fold_add(struct path_fold *fold, const struct path_tree *tree, int side, struct arena *scratch);

/* The tree in pre-order, in the arena; `nodes` is NULL if memory runs out. */
struct path_tree path_fold_tree(const struct path_fold *fold, struct arena *arena);

#endif
