/*
 * et_timeline.h - converts the measured timeline to the nodes of an .et file.
 *
 *     plain nodes   id, type, name, attributes      \
 *                                                    --> nodes that reproduce the measured time
 *     timeline      parts, durations, dependencies  /
 *
 * Nodes keep their own fields. Parts of operators and kernels are copies with new ids; rests are nodes "[rest] operator" or
 * "[gap]". Nodes without times get no duration and follow the operator with the next lower id. GPU nodes get the attribute
 * kernel_exec_ns: their execution time without launch latency.
 */
#ifndef SIMULATE_ET_TIMELINE_H
#define SIMULATE_ET_TIMELINE_H

#include "context/context.h"
#include "simulate/et_format.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"

/* Sets the trait KERNEL_COMMUNICATES of kernels, and first_new_id. */
void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input);

/* Fills `made`, which the caller initialized; its texts are in the memory of `plain` or in its own arena.
 * SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status et_timeline_make(struct et_nodes *made, const struct et_nodes *plain,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error);

#endif
