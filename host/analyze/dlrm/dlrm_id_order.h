/*
 * dlrm_id_order.h - the order in which the original adds up device time: siblings that share an id stand together.
 */
#ifndef ANALYZE_DLRM_ID_ORDER_H
#define ANALYZE_DLRM_ID_ORDER_H

#include "analyze/dlrm/dlrm.h"

struct id_order {
    row_t *node;    /* the forest in that order, in which a subtree is a range too */
    row_t *place;   /* per node: where it stands */
    uint8_t *again; /* per node: a sibling before it has its id */
};

/* False: out of memory. */
bool id_order_make(struct id_order *order, const struct sutra_dlrm *dlrm);
void id_order_free(struct id_order *order);

#endif
