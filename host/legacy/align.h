/*
 * align.h - matches the operators of two call trees: as many as possible with equal tokens, keeping order and nesting.
 *
 * Operators may be missing on either side: the children of a missing operator belong to its parent. Steps:
 *
 *   1. anchors: subtrees, then runs of 32, 16 and 8 operators that occur once on both sides, if their order agrees
 * 2. gaps between anchors: an optimal alignment of short sequences, an alignment near the diagonal of long ones; pairs
 *      with equal parents, equal subtrees and equal neighbors are preferred
 *   3. pairs that contradict the nesting of other pairs are dropped
 *
 * O(n log n) for the anchors, at most O(n * SPAN) for the gaps.
 */
#ifndef LEGACY_ALIGN_H
#define LEGACY_ALIGN_H

#include "base/arena.h"
#include "base/threads.h"
#include "columns/row.h"
#include "context/context.h"
#include "sutra/error.h"

/*
 * A call tree in columns, in pre-order (match.c):
 *
 *     position  0      1       2     3      4
 *     tree      main ( conv (  pad   mm ) , relu )
 *     parent    -      0       1     1      0
 *     last      4      3       2     3      4        the last descendant
 */
struct call_tree {
    row_t n;
    uint32_t *token; /* operators with equal tokens may match */
    row_t *parent;   /* or ROW_NONE */
    row_t *last;     /* the last position that is certainly a descendant */
    row_t *reach;    /* the last position that may be a descendant: later if times are too coarse */
    uint64_t *hash;  /* of the subtree, in order */
};

/* Allocates n positions in the arena. */
struct call_tree call_tree_take(struct arena *arena, row_t n);

/* Computes `last`, `reach` (equal) and `hash` from tokens and parents. */
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

/* match[i] = the position in `b` of position i of `a`, or ROW_NONE. Existing matches (ascending on both sides, else
 * ROW_NONE) are kept unless they contradict the nesting. SUTRA_SYSTEM: out of memory. */
enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error);

/* Matches positions with equal record-function ids and equal tokens, if their order agrees; other entries of match[]
 * are unchanged. id_a[] and id_b[] are per position. Ids are used only if most common ids have equal tokens. O(n log
 * n). */
enum sutra_status id_anchors(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                             const struct call_tree *b, const value_key *id_b, row_t *match, struct sutra_error *error);

#endif
