/*
 * comm_ends.h - from which rank to which a send or receive goes, and which of several it is.
 *
 * PyTorch says that in operators above the kernel, by ranks of the process group:
 *
 *     c10d::send           tensors, group, 1, tag                             the peer
 *     record_param_comms   tensors, sequence, group, 1, 'send', ..., 0, 2, 8  the group, the peer; and the group's first
 *                                                                             rank of all, step to the next, how many
 *     nccl:send 0->1                                                          the own rank, the peer
 *
 * and in nodes that describe groups (comm_groups.h). The own rank of all is told by any such operator, too.
 *
 * NCCL takes messages between two ranks of a group in their order, whatever their tags, and PyTorch's sequence numbers
 * count a rank's messages to all others, so that those of the two ends differ. Hence the tag of a message is how many
 * of its direction between the two ranks come before it in its group, with the group's number above:
 *
 *     31  30 ... 16            15 ... 0
 *      0  number of the group  messages before
 *
 * Cost: O(nodes + messages log messages).
 */
#ifndef SIMULATE_COMM_ENDS_H
#define SIMULATE_COMM_ENDS_H

#include "simulate/comm_groups.h"

/* A rank that nothing tells. */
#define RANK_UNTOLD INT64_C(-1)

struct comm_end {
    row_t row;    /* the kernel */
    int64_t peer; /* rank of all */
    uint32_t tag;
};

struct comm_ends {
    struct comm_end *list; /* of those whose peer is told, by rising row */
    uint64_t n;
    uint64_t n_without_peer;    /* sends and receives: nothing tells a peer, */
    uint64_t n_without_members; /* or only its rank in a group whose members nothing tells */
    int64_t own;                /* rank of all, or RANK_UNTOLD */
};

/* Finds the ends of the sends and receives that are kept; they lie in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status comm_ends_find(struct comm_ends *ends, struct arena *arena, const struct node_graph *graph,
                                 const struct comm_groups *groups, struct sutra_error *error);

/* The ends of a send or receive, or NULL. O(log n). */
const struct comm_end *comm_end_of(const struct comm_ends *ends, row_t row);

#endif
