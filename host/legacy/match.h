/*
 * match.h - a call tree in columns, in pre-order, as the alignment uses it.
 *
 *     position  0      1       2     3      4
 *     tree      main ( conv (  pad   mm ) , relu )
 *     parent    -      0       1     1      0
 *     last      4      3       2     3      4        the last descendant
 */
#ifndef LEGACY_MATCH_H
#define LEGACY_MATCH_H

#include <stdint.h>

#include "base/arena.h"
#include "columns/row.h"

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

#endif
