/*
 * call_paths.h - what is called where: operators around the work that they launch, as a tree in pre-order. One step
 * of a
 * rank makes one, and those of many steps and ranks, and of both sides, are merged into one.
 *
 *     node     0 root   1 backward   2 aten::mm   3 gemm   4 aten::add   5 elementwise
 *     parent   -        0            1            2        1             4
 *     end      6        6            4            4        6             6
 *
 * Only nodes are there that work is launched below; work stands at the leaves; there is a root.
 *
 * Nodes have the same `id` exactly where all below them is the same: name, shapes of an operator's inputs, children in
 * their order. Ids are dense numbers of a struct tuples, not hashes, so nothing is alike by chance.
 */
#ifndef COMPARE_CALL_PATHS_H
#define COMPARE_CALL_PATHS_H

#include <stdbool.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/row.h"
#include "match/intervals.h"

#define TEXT_NONE UINT32_MAX

enum path_kind {
    PATH_ROOT,
    PATH_THREAD, /* of the host, or of what no call is known for */
    PATH_CALLED, /* an operator, an annotation, a call outside of operators */
    PATH_MODULE, /* an nn.Module */
    PATH_WORK,   /* a kernel, copy or set */
};

/* Of sides A and B what comes in pairs. */
struct path_node {
    uint32_t name[2];    /* texts; TEXT_NONE: the side has no such node */
    uint32_t path[2];    /* from the root to the node: number of a path + 1; 0: none */
    uint32_t shapes;     /* text; of work its class */
    uint32_t id, shell;  /* `shell`: equal for equal names and shapes; */
    uint32_t bare, list; /* for equal names; for equal children, 0: none */
    uint32_t n_children;
    row_t parent, end;
    uint8_t kind;
    uint64_t calls[2];
    wide_t ticks[2]; /* of work */
};

struct path_tree {
    row_t n;
    struct path_node *nodes;
};

static inline bool node_is_on(const struct path_node *node, int side) {
    return node->name[side] != TEXT_NONE;
}

/* What a node is called: on A, if it is there. */
static inline uint32_t node_name(const struct path_node *node) {
    return node->name[node_is_on(node, 0) ? 0 : 1];
}

/* What the alignment notes of an id in the children at hand. */
struct path_slot {
    uint32_t stamp;
    row_t n[2]; /* how often it stands on each side */
    row_t next; /* its next place on the second side, or ROW_NONE */
};

/* The numbers of ids, and what is noted by id. */
struct path_ids {
    struct tuples numbers;
    struct path_slot *slots;
    uint64_t n_slots;
    uint32_t stamp; /* what has another one is of earlier lists */
};

/* False: out of memory. It needs path_ids_free() in any case. */
bool path_ids_init(struct path_ids *ids);
void path_ids_free(struct path_ids *ids);

/* Gives nodes their ids; and `bare` and `shell`. False: out of memory. O(n). */
bool path_tree_number(struct path_tree *tree, struct path_ids *ids);
bool path_tree_name(struct path_tree *tree, struct path_ids *ids);

/* Whether there are modules; and the tree without them. O(n). */
bool path_tree_has_modules(const struct path_tree *tree);
void path_tree_drop_modules(struct path_tree *tree, struct arena *scratch);

/* Makes `end` and `n_children` from parents. */
void path_tree_finish(struct path_tree *tree);

/* Merges two trees that have ids and names into one, in the arena: nodes that are aligned become one. O(n log n),
 * beside a look at all ids. See path_merge.c. `scratch` is another arena, and given back. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status path_tree_merge(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                                  struct arena *scratch, struct path_tree *merged, struct sutra_error *error);

/* ---- Between the files of the merge ---- */

/* Children of two nodes in order: what is aligned has a match, its place on the other side. */
struct path_lists {
    row_t n[2];
    row_t *node[2], *match[2];
};

#endif
