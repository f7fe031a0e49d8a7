/*
 * forest.h - the order in which the original adds up device time: siblings that share an id stand together.
 */
#ifndef ANALYZE_DLRM_FOREST_H
#define ANALYZE_DLRM_FOREST_H

#include "analyze/dlrm/dlrm.h"

struct id_order {
    row_t *node;    /* the forest in that order, in which a subtree is a range too */
    row_t *place;   /* per node: where it stands */
    uint8_t *again; /* per node: a sibling before it has its id */
};

/* `external` has the ids by event; the order lies in the arena. False: out of memory. */
bool id_order_make(struct id_order *order, const struct dlrm_forest *forest, const value_key *external,
                   struct arena *arena);

#endif
