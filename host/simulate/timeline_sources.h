/*
 * timeline_sources.h - the measured timeline of a device trace, of linked traces, or of ET+ alone: operators, kernels,
 * and synchronizing calls with their times.
 *
 * Each function fills all of the input but its options; the arena owns the columns. Operators and GPU activity without
 * finite times are skipped. SUTRA_SYSTEM: out of memory. O(n log n).
 */
#ifndef SIMULATE_TIMELINE_SOURCES_H
#define SIMULATE_TIMELINE_SOURCES_H

#include "context/context.h"
#include "link/link.h"
#include "read/device_trace.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"

/* Selects operators by their start and kernels by the start of their launch: from `begin` on and before `end`. */
struct timeline_window {
    double begin, end;
};

/* Operators and annotations of the CPU, except profiler steps. Ids are rows of events. */
enum sutra_status device_timeline_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       struct timeline_window window, struct arena *arena, struct timeline_input *input,
                                       struct sutra_error *error);

/* Linked operators and their kernels, with the ids of ET+. first_new_id and the trait KERNEL_COMMUNICATES are left to
 * et_timeline_prepare(). */
enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error);

/*
 * The same from ET+ alone, as far as ET+ records it:
 *
 *     node with times         an operator, or a kernel, memcpy or memset
 *     launch of a kernel      not recorded: in the parent operator, after the preceding launch of its stream, and right
 *                             before the start of the kernel if the stream was idle
 *     sync_dep of an operator a wait for the named kernel, if no operator of the thread started between the end of the
 *                             kernel and its own start; the wait starts at the last start or end before that end
 *     a long interval         without starts and ends of operators, with a kernel that ends shortly before its end: a
 *                             wait for this kernel, too
 *
 * ET+ records neither other waits nor waits between streams. sync_dep also names kernels for which no thread waited
 * right before the operator; they are ignored.
 */
enum sutra_status plus_timeline_read(const struct node_graph *graph, struct arena *arena, struct timeline_input *input,
                                     struct sutra_error *error);

#endif
