/*
 * linked_timeline.h - from what was linked to the measured timeline: which operators, kernels, calls and waits there
 * were, and when.
 */
#ifndef SIMULATE_LINKED_TIMELINE_H
#define SIMULATE_LINKED_TIMELINE_H

#include "context/context.h"
#include "link/linked.h"
#include "simulate/timeline.h"

/* Fills all of the input but its options, first_new_id, and which kernels communicate; its columns are the arena's, and
 * traits may be added. Ids are those of ET+. What has no finite times is left out. SUTRA_SYSTEM: out of memory.
 * O(n log n). */
enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error);

#endif
