/*
 * sibling_lists.h - a tree as lists of children, from which a call tree in pre-order is made.
 */
#ifndef LEGACY_SIBLING_LISTS_H
#define LEGACY_SIBLING_LISTS_H

#include "legacy/call_tree.h"

struct sibling_lists {
    row_t n;
    const row_t *parent; /* per row; ROW_NONE: the root, of which there is one */
    row_t *first, *next; /* per row: first child, next sibling; ROW_NONE: none */
};

/* Children come in the order of their rows. The lists live in the arena, which must not have failed; without memory it
 * has then. */
struct sibling_lists sibling_lists_make(struct arena *arena, const row_t *parent, row_t n);

/* The call tree, in the arena, of the rows down to `max_depth` levels (0: all); token[] is per row, row[] gets the row
 * of each position. As long as the arena has failed, there is none. */
struct call_tree sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token,
                                       uint32_t max_depth, struct arena *arena, row_t *row);

#endif
