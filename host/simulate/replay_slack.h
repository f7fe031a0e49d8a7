/*
 * replay_slack.h - how much longer each node of a rank that was run may take without the rank ending later.
 *
 *     cpu   [ a ][ b ]......[ d ]|          b may end when d would begin; d, at the end of all, has no slack
 *     gpu        [ c ......... ] |          d waits for c, which has none
 *
 * Slack of a node: the latest moment at which it may end so that every node behind it still begins no later than it
 * may, less the moment at which it did end. Behind it are those that wait for it and the next one on its resource; so
 * the order in which the nodes of a resource ran is kept. If one node takes exactly its slack longer, the end stays
 * where it is; if it takes more, the end moves by what is more.
 */
#ifndef SIMULATE_REPLAY_SLACK_H
#define SIMULATE_REPLAY_SLACK_H

#include "base/arena.h"
#include "match/engine.h"
#include "simulate/replay.h"

/* slack_ns[], one element a node, from a run of the graph, alone, in which all nodes ran. False: out of memory.
 * O(n log n + dependencies). */
bool replay_slack(const struct replay_graph *graph, const struct replay_times *times, const struct engine *engine,
                  struct arena *arena, uint64_t *slack_ns);

#endif
