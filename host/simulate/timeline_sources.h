/*
 * timeline_sources.h - from a device trace alone to the measured timeline: operators and annotations of the CPU,
 * kernels, copies and sets of the GPU, and the calls that wait.
 */
#ifndef SIMULATE_TIMELINE_SOURCES_H
#define SIMULATE_TIMELINE_SOURCES_H

#include "context/context.h"
#include "link/link.h"
#include "read/device_trace.h"
#include "simulate/timeline.h"

/* What begins from `begin` on and before `end` counts: operators themselves, and kernels by their launch. */
struct timeline_window {
    double begin, end;
};

/* Fills all of the input but its options; its columns are the arena's. Ids are rows of events. Steps of the profiler
 * are no operators, and what has no finite times is left out. SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status device_timeline_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       struct timeline_window window, struct arena *arena, struct timeline_input *input,
                                       struct sutra_error *error);

/*
 * From what was linked to the measured timeline: which operators, kernels, calls and waits there
 * were, and when.
 */

/* Fills all of the input but its options, first_new_id, and which kernels communicate; its columns are the arena's, and
 * traits may be added. Ids are those of ET+. What has no finite times is left out. SUTRA_SYSTEM: out of memory.
 * O(n log n). */
enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error);

#endif
