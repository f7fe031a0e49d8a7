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
#include "simulate/et_nodes.h"
#include "simulate/timeline.h"

/* Sets the trait KERNEL_COMMUNICATES of kernels, and first_new_id. */
void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input);

/* Fills `made`, begun by the caller; its texts lie where those of `plain` do, or in its own arena. SUTRA_SYSTEM: out of
 * memory. O(n log n). */
enum sutra_status et_timeline_make(struct et_nodes *made, const struct et_nodes *plain,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error);

#endif
