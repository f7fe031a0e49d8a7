/*
 * nodes.h - members of the nodes of a host trace that reading it made no columns of.
 */
#ifndef ARROW_NODES_H
#define ARROW_NODES_H

#include "context/context.h"
#include "read/host_trace.h"

/* Finds where values stand: places[i * nodes + row] is that of names[i], a member of the node (`outside`) or one of its
 * attributes; in schema 1.0.1, which has none, a member too. Nodes are walked in parallel. The caller frees them; NULL:
 * out of memory. O(length of the nodes). */
struct json_place *nodes_find(struct sutra_context *context, const struct sutra_host_trace *trace,
                              const char *const *names, size_t n_names, bool outside);

/* The names of all nodes, by number among `strings`, STRING_NONE where they are no strings; the caller's. NULL: out of
 * memory. */
uint32_t *nodes_names(struct sutra_context *context, const struct sutra_host_trace *trace, struct strings *strings);

#endif
