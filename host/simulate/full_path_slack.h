/*
 * full_path_slack.h - what each operator and kernel has of slack, and what those of one name have.
 *
 * A kernel is one node. An operator runs in one or more nodes of the processor, of which the one with the least slack
 * counts: so much longer the operator may take, wherever in it that is.
 */
#ifndef SIMULATE_FULL_PATH_SLACK_H
#define SIMULATE_FULL_PATH_SLACK_H

#include "simulate/full_path.h"
#include "simulate/op_spans.h"

/* From the slack of each node to path->slacks, by event, and path->slack_names. SUTRA_SYSTEM: out of memory.
 * O(n log n). */
enum sutra_status full_path_find_slacks(struct sutra_full_path *path, const struct timeline_input *input,
                                        const struct timeline_nodes *nodes, const struct op_spans *spans,
                                        const uint64_t *slack_ns, struct sutra_error *error);

#endif
