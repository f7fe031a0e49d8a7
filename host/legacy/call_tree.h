/*
 * call_tree.h - a call tree as columns in pre-order, as the alignment takes it.
 *
 *     position  0      1       2     3      4
 *     tree      main ( conv (  pad   mm ) , relu )
 *     parent    -      0       1     1      0
 *     last      4      3       2     3      4        the last position below each
 */
#ifndef LEGACY_CALL_TREE_H
#define LEGACY_CALL_TREE_H

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

#endif
