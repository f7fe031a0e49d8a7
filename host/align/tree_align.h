/*
 * tree_align.h - matches the operators of two call trees: as many as possible with equal tokens, in the same order.
 *
 * Operators may be missing on either side: the children of a missing operator belong to its parent. Steps:
 *
 *   1. equal trees match position by position
 *   2. anchors: operators with a token and a number that occur once on both sides, if their order agrees
 *   3. each gap between anchors: the fewest insertions and deletions
 *   4. gaps with too many of these: anchors of subtrees, then of runs of 32, 16 and 8 operators that occur once on both
 *      sides, and an alignment near the diagonal between these anchors
 *   5. the neighborhood of each unmatched operator again: pairs with equal parents, subtrees and neighbors are preferred
 *
 * O(n log n) for anchors; O(n + d^2) for a gap with d insertions and deletions, d <= EDITS_MAX; at most O(n * SPAN) for
 * other gaps.
 */
#ifndef ALIGN_TREE_ALIGN_H
#define ALIGN_TREE_ALIGN_H

#include "base/arena.h"
#include "base/threads.h"
#include "columns/numbers.h"
#include "sutra/error.h"

/*
 * One or more call trees in columns, in pre-order:
 *
 *     position  0      1       2     3      4
 *     tree      main ( conv (  pad   mm ) , relu )
 *     parent    -      0       1     1      0
 *     last      4      3       2     3      4        the last descendant
 */
struct call_tree {
    row_t n;
    uint32_t *token;   /* operators with equal tokens may match, */
    value_key *number; /* unless both have a number and these differ; KEY_ABSENT: none. NULL: no operator has one */
    row_t *parent;     /* a lower position, or ROW_NONE */
    row_t *last;       /* the last descendant */
    uint64_t *hash;    /* of the subtree, in order */
};

/* Allocates n positions in the arena, without numbers. */
struct call_tree call_tree_take(struct arena *arena, row_t n);

/* Computes `last` and `hash` from tokens and parents. */
void call_tree_finish(struct call_tree *tree);

/* A tree as lists of children. */
struct sibling_lists {
    row_t n;
    const row_t *parent; /* per row; ROW_NONE: the only root */
    row_t *first, *next; /* per row: first child, next sibling; ROW_NONE: none */
};

/* Builds the call tree, in the arena, without recursion: the rows down to `max_depth` levels (0: all). token[] is per
 * row; row[] gets the row of each position. Without memory the arena fails. */
struct call_tree sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token,
                                       uint32_t max_depth, struct arena *arena, row_t *row);

/* match[i] = the position in `b` of position i of `a`, or ROW_NONE. Sets all entries. SUTRA_SYSTEM: out of memory. */
enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error);

#endif
