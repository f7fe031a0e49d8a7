/*
 * tuples.h - dense numbers for tuples of up to four ids, in the order of first sight: a stream, a stream of a device, a
 * stream as a thread sees it. Open addressing, at most half full. Cost: O(1) a look.
 */
#ifndef COLUMNS_TUPLES_H
#define COLUMNS_TUPLES_H

#include <stdint.h>

#include "columns/key.h"

#define TUPLE_NONE UINT32_MAX

struct tuple {
    value_key part[4];
};

struct tuples {
    struct tuple *list;
    uint32_t n, capacity;
    uint32_t *slots; /* number + 1, or 0 */
    uint32_t n_slots;
    unsigned turn; /* of the hash */
};

/* The number of the tuple, new if it was not seen before; TUPLE_NONE: out of memory. */
uint32_t tuples_number(struct tuples *tuples, struct tuple tuple);

/* The number of the tuple, or TUPLE_NONE. */
uint32_t tuples_find(const struct tuples *tuples, struct tuple tuple);

void tuples_free(struct tuples *tuples);

#endif
