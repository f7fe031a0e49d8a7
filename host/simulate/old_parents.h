/*
 * old_parents.h - who the parents are in linked traces of schema 1.0.1, whose nodes got new ids but go on to name their
 * parents by the old ones.
 *
 * Nodes stand in the order of their old ids, which they got when they started. So the first node that names a parent
 * comes right behind it on its thread:
 *
 *     new id   thread   parent
 *     0        0        1        the process, whose old id always is 1
 *     1        1        1        so its parent is 0
 *     2        1        2        the first that names 2: its parent is the node before it on the thread, 1
 *     3        1        3        ... and of this one 2
 *     4        1        2        2 again: that is 1
 *
 * A host trace in which a node is its own parent, or a later one, has no such order; its nodes get other parents than
 * they name. Cost: O(nodes), or O(n log n) for ids that lie far apart.
 */
#ifndef SIMULATE_OLD_PARENTS_H
#define SIMULATE_OLD_PARENTS_H

#include "context/context.h"
#include "simulate/plus_nodes.h"

/* Replaces parents by new ids, if the nodes were linked. SUTRA_SYSTEM: out of memory. */
enum sutra_status old_parents_replace(struct plus_nodes *nodes, struct sutra_context *context,
                                      struct sutra_error *error);

#endif
