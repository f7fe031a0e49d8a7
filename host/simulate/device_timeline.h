/*
 * device_timeline.h - from a device trace alone to the measured timeline: operators and annotations of the CPU,
 * kernels, copies and sets of the GPU, and the calls that wait.
 */
#ifndef SIMULATE_DEVICE_TIMELINE_H
#define SIMULATE_DEVICE_TIMELINE_H

#include "context/context.h"
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

#endif
