/*
 * plus_linked.h - what was linked as the columns of ET+ (plus_nodes.h), without the text of ET+ in between.
 *
 * A row is an entry of linked.h: a node of the host trace with the fields that linking sets, or a GPU node below it.
 */
#ifndef SIMULATE_PLUS_LINKED_H
#define SIMULATE_PLUS_LINKED_H

#include "context/context.h"
#include "link/linked.h"
#include "simulate/plus_nodes.h"

/* Where the name of its group stands for each kernel of NCCL that was linked, by event. Kept with the
 * device trace; behind it plus_linked() needs no tokens of that. SUTRA_SYSTEM: out of memory. */
enum sutra_status plus_linked_groups(struct sutra_context *context, const struct sutra_linked *linked,
                                     const struct json_place **groups, struct sutra_error *error);

/* `groups` is of plus_linked_groups(). Fills the trace, whose texts lie in both traces, too. Nodes of schema 1.0.1 get
 * the new ids of their parents, which the text of ET+ does not tell. SUTRA_SYSTEM: out of memory. */
enum sutra_status plus_linked(struct plus_trace *trace, struct sutra_context *context,
                              const struct sutra_linked *linked, const struct json_place *groups,
                              struct sutra_error *error);

#endif
