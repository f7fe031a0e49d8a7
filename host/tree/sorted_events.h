/*
 * sorted_events.h - events by rising start: the columns that the replay wants, gathered from columns in any order.
 *
 *     position  0   1   2   ...      what the tree counts in
 *     order     5   0   1            rows of the caller's columns
 */
#ifndef TREE_SORTED_EVENTS_H
#define TREE_SORTED_EVENTS_H

#include "context/context.h"
#include "match/event_tree.h"

struct sorted_events {
    struct tree_events events; /* points into the columns below */
    row_t *order;
    int64_t *start, *end;
    uint32_t *thread, *forward;
    uint8_t *placed;
};

/* The caller's columns; `forward` and `placed` may be NULL. */
struct unsorted_events {
    row_t n;
    uint32_t n_threads;
    const int64_t *start, *end;
    const uint32_t *thread, *forward;
    const uint8_t *placed;
};

/* Sorts stably by start. The columns are the caller's to free whatever comes of it. O(n) for each 11 bits in which
 * starts differ. SUTRA_SYSTEM: out of memory. */
enum sutra_status sorted_events_make(struct sorted_events *sorted, struct sutra_context *context,
                                     const struct unsorted_events *from, struct sutra_error *error);
void sorted_events_free(struct sorted_events *sorted);

#endif
