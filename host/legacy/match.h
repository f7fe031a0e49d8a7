/*
 * match.h - a call tree as columns in pre-order, as the alignment takes it.
 *
 *     position  0      1       2     3      4
 *     tree      main ( conv (  pad   mm ) , relu )
 *     parent    -      0       1     1      0
 *     last      4      3       2     3      4        the last position below each
 */
#ifndef LEGACY_MATCH_H
#define LEGACY_MATCH_H

#include <stdint.h>

#include "base/arena.h"
#include "columns/row.h"

struct call_tree {
    row_t n;
    uint32_t *token; /* equal numbers: operators that may be matched */
    row_t *parent;   /* position above, or ROW_NONE */
    row_t *last;     /* the last position that is surely below */
    row_t *reach;    /* the last that may be: further where times are too coarse to tell */
    uint64_t *hash;  /* of the operator and all below it, in order */
};

/* Room for n positions, in an arena. */
struct call_tree call_tree_take(struct arena *arena, row_t n);

/* Makes `last`, `reach` (the same) and `hash` from tokens and parents. */
void call_tree_finish(struct call_tree *tree);

/*
 * A tree as lists of children, from which a call tree in pre-order is made.
 */

struct sibling_lists {
    row_t n;
    const row_t *parent; /* per row; ROW_NONE: the root, of which there is one */
    row_t *first, *next; /* per row: first child, next sibling; ROW_NONE: none */
};

/* The call tree, in the arena, of the rows down to `max_depth` levels (0: all); token[] is per row, row[] gets the row
 * of each position. As long as the arena has failed, there is none. */
struct call_tree sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token,
                                       uint32_t max_depth, struct arena *arena, row_t *row);

#endif
