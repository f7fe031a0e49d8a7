/*
 * plus_timeline.h - from ET+ alone to the measured timeline, as far as ET+ tells.
 *
 *     node with times         an operator, or a kernel, copy or set
 *     launch of a kernel      not told: in the operator that it stands below, behind that of the kernel before it on its
 *                             stream, and right before its start where the stream stood idle
 *     sync_dep of an operator a wait for the kernel that it names, if no operator of its thread began between the
 *                             kernel's end and its own begin: from what began or ended before that end
 *     a long stretch          in which no operator begins or ends, but a kernel near the end of it: a wait for that, too
 *
 * Other waits, and streams that wait for each other, ET+ does not tell. sync_dep also names kernels for which nobody
 * waited right before the operator, which do not count.
 */
#ifndef SIMULATE_PLUS_TIMELINE_H
#define SIMULATE_PLUS_TIMELINE_H

#include "simulate/node_graph.h"
#include "simulate/timeline.h"

/* Fills all of the input but its options, first_new_id, and which kernels communicate; its columns are the arena's.
 * SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status plus_timeline_read(const struct node_graph *graph, struct arena *arena, struct timeline_input *input,
                                     struct sutra_error *error);

#endif
