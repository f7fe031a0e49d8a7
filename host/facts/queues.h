/*
 * queues.h - how many operators wait on each stream: one more when a launch begins, one less when its operator does.
 *
 *     changes    launch a   launch b   a begins   b begins     in the order of time, launches first at the same time
 *     lengths       1          2          1          0         just behind each change, on its stream
 */
#ifndef FACTS_QUEUES_H
#define FACTS_QUEUES_H

#include "base/arena.h"
#include "match/engine.h"

/* Changes of queues in any order: those below n_launches are launches, the others are operators that begin. */
struct queue_changes {
    row_t n, n_launches;
    const uint64_t *time;
    const uint32_t *lane; /* number of the stream, below n_lanes */
    uint32_t n_lanes;
};

/* order[i] = the i-th change in the order of time, length[i] = that of its queue behind it (modulo 2^32); both have room
 * for all. Cost: a sort, and O(n). */
enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, row_t *order, uint32_t *length, struct sutra_error *error);

#endif
