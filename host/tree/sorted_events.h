/*
 * sorted_events.h - events by rising start: the columns that the replay wants, gathered from columns in any order.
 *
 *     position  0   1   2   ...      what the tree counts in
 *     order     5   0   1            rows of the caller's columns
 */
#ifndef TREE_SORTED_EVENTS_H
#define TREE_SORTED_EVENTS_H

#include "base/arena.h"
#include "context/context.h"
#include "match/event_tree.h"

struct sorted_events {
    struct tree_events events;
    row_t *order;
};

/* Sorts the caller's columns stably by start; `forward` and `placed` may be NULL. What comes of it lives in the arena.
 * O(n) for each 11 bits in which starts differ. SUTRA_SYSTEM: out of memory. */
enum sutra_status sorted_events_make(struct sorted_events *sorted, struct sutra_context *context,
                                     const struct tree_events *from, struct arena *arena, struct sutra_error *error);

#endif
