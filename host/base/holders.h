/*
 * holders.h - how many look at a thing besides its owner: what all of them leave is freed by the last one.
 *
 *     thing_free(thing)        if (thing && holders_leave(&thing->holders)) ... free it ...
 *     somebody else's look     holders_add(&thing->holders); ...; thing_free(thing);
 *
 * Zero-initialise. Any thread may add and leave.
 */
#ifndef BASE_HOLDERS_H
#define BASE_HOLDERS_H

#include <stdatomic.h>
#include <stdbool.h>

struct holders {
    atomic_uint others;
};

static inline void holders_add(struct holders *holders) {
    atomic_fetch_add_explicit(&holders->others, 1, memory_order_relaxed);
}

/* True: nobody is left, and the thing is the caller's to free. */
static inline bool holders_leave(struct holders *holders) {
    return atomic_fetch_sub_explicit(&holders->others, 1, memory_order_acq_rel) == 0;
}

#endif
