/*
 * et_timeline.h - the nodes of an .et file, once more as the measured timeline has them.
 *
 *     plain nodes   id, type, name, attributes      \
 *                                                    --> nodes that take the measured time
 *     timeline      parts, durations, dependencies  /
 *
 * What a node says of itself stays. Parts of operators and kernels are copies with ids of their own; rests are nodes
 * "[rest] operator" or "[gap]". Nodes without times take none and follow the operator with the next lower id. GPU nodes
 * get the attribute kernel_exec_ns: their execution, without launch latency.
 */
#ifndef SIMULATE_ET_TIMELINE_H
#define SIMULATE_ET_TIMELINE_H

#include "context/context.h"
#include "simulate/et_format.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"

/*
 * From ET+ alone to the measured timeline, as far as ET+ tells.
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

/* Fills all of the input but its options, first_new_id, and which kernels communicate; its columns are the arena's.
 * SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status plus_timeline_read(const struct node_graph *graph, struct arena *arena, struct timeline_input *input,
                                     struct sutra_error *error);

/* Sets the trait KERNEL_COMMUNICATES of kernels, and first_new_id. */
void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input);

/* Fills `made`, begun by the caller; its texts lie where those of `plain` do, or in its own arena. SUTRA_SYSTEM: out of
 * memory. O(n log n). */
enum sutra_status et_timeline_make(struct et_nodes *made, const struct et_nodes *plain,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error);

#endif
