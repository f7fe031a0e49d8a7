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

/* Children come in the order of their rows. False: out of memory. */
bool sibling_lists_build(struct sibling_lists *lists, const row_t *parent, row_t n);
void sibling_lists_free(struct sibling_lists *lists);

/* Makes the call tree of the rows down to `max_depth` levels (0: all); token[] is per row, row[] gets the row of each
 * position. False: out of memory. */
bool sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token, uint32_t max_depth,
                           struct call_tree *tree, row_t *row);

#endif
