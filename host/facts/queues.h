/*
 * queues.h - how many operators wait on each stream: one more when a launch begins, one less when its operator does.
 *
 *     stream 7    launch a   launch b   a begins   b begins      in the order of time
 *     length         1          2          1          0          just behind each change
 */
#ifndef FACTS_QUEUES_H
#define FACTS_QUEUES_H

#include "base/arena.h"
#include "match/engine.h"

/* Changes of queues; of those at one time the first here comes first. */
struct queue_changes {
    row_t n;
    const uint64_t *time;
    const uint64_t *stream; /* streams come in the order of these numbers */
    const uint8_t *up;      /* 1: a launch; 0: an operator that begins */
};

/* The same, stream by stream, each by time. Columns are the caller's, with room for all changes. */
struct queue_lengths {
    row_t *change;    /* its number above */
    uint32_t *lane;   /* number of its stream, below n_lanes */
    uint32_t *length; /* of its stream's queue behind it, modulo 2^32 */
    uint32_t n_lanes;
};

/* Cost: two sorts, and O(n). */
enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, struct queue_lengths *series, struct sutra_error *error);

#endif
