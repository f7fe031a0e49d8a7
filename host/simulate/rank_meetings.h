/*
 * rank_meetings.h - which nodes of a job's ranks run together.
 *
 * Nodes of collectives meet those of other ranks by group and order, sends meet receives by ranks, tag and order. Of
 * files that tell meetings (et_meet.h) nodes meet by these alone. Cost: O(communications).
 */
#ifndef SIMULATE_RANK_MEETINGS_H
#define SIMULATE_RANK_MEETINGS_H

#include "simulate/rank_graph.h"

/* Numbers the meetings of n ranks, of which number i is rank ranks[i] of its job, and whose groups are strings of
 * names[i]; gives how many there are. The columns are the arena's. SUTRA_SYSTEM: out of memory. */
enum sutra_status rank_graphs_meet(struct rank_graph *graphs, const uint64_t *ranks, const struct rank_names *names,
                                   uint32_t n, struct arena *arena, uint32_t *n_meetings, struct sutra_error *error);

#endif
