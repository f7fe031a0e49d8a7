/*
 * communication.h - how many bytes a communication kernel moves: those of the tensors among its inputs, each a list
 * whose
 * fourth element is its number of elements and whose fifth is the size of one.
 *
 *     values   [[5, 6, 0, 112, 4, "cuda:0"], [[7, 8, 0, 16, 2, "cuda:0"], ...], true]
 *     types    ["Tensor(float)", "GenericList[Tensor(c10::Half),...]", "Bool"]
 *
 * Lists of lists of tensors, of which chakra_converter fails, are summed too. Cost: O(length of the values).
 */
#ifndef SIMULATE_COMMUNICATION_H
#define SIMULATE_COMMUNICATION_H

#include "read/document.h"
#include "simulate/node_graph.h"

/*
 * What the names of communication kernels say, as chakra_converter reads them.
 */

/* Whether the name contains `part`. */
static inline bool kernel_name_has(struct et_text name, const char *part) {
    size_t length = strlen(part);
    if (name.length < length)
        return false;
    const char *last = name.bytes + name.length - length;
    for (const char *at = name.bytes; at <= last; at++) {
        at = memchr(at, *part, (size_t)(last - at) + 1);
        if (!at || memcmp(at, part, length) == 0)
            return at != NULL;
    }
    return false;
}

/* Whether it is a kernel of NCCL. */
static inline bool kernel_is_collective(struct et_text name) {
    return kernel_name_has(name, "nccl") &&
           (kernel_name_has(name, "ncclKernel") || kernel_name_has(name, "ncclDevKernel"));
}

static inline bool kernel_is_send_receive(struct et_text name) {
    return kernel_name_has(name, "ncclDevKernel_SendRecv");
}

/* Which collective (enum et_collective) a kernel's name says, or -1. With `all`, also those that Chakra's schema has
 * but chakra_converter does not know. */
int kernel_collective(struct et_text name, bool all);

/*
 * From which rank to which a send or receive goes, and which of several it is.
 *
 * PyTorch says that in operators above the kernel, by ranks of the process group:
 *
 *     c10d::send           tensors, group, 1, tag                             the peer
 *     record_param_comms   tensors, sequence, group, 1, 'send', ..., 0, 2, 8  the group, the peer; and the group's
 * first
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

/*
 * How many operations kernels do and bytes they move, as num_ops and tensor_size tell simulators that
 * compute times of it (ASTRA-sim's roofline model).
 *
 *     aten::linear                          known by its kernels' nearest operator above with a formula (facts/flops.h)
 *       aten::addmm [512] [141, 512] ...    0.7e9 operations, 4 MB
 *         kernel 6 us                           2/3 of them
 *         kernel 3 us                           1/3
 *
 * What an operator does is shared by the kernels whose nearest operator it is, in proportion to their durations (at
 * least a microsecond each), so that sums are the operator's. Copies compute nothing, but a node must compute something
 * to take time there: num_ops is at least 1.
 *
 * Cost: O(nodes + bytes of those operators' inputs), the latter in parallel.
 */

struct kernel_work {
    uint64_t *n_ops, *n_bytes; /* by slot of the graph; 0 bytes: not known */
    uint64_t n_known;          /* kernels */
};

/* Finds what is known of the kernels that are kept; it lies in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status kernel_work_find(struct kernel_work *work, struct arena *arena, const struct node_graph *graph,
                                   struct sutra_error *error);

/* A node's share of an amount that others share with it: what is due to it and all before it, `before` of `total`,
 * less what those got. Shares sum up to the amount. */
uint64_t work_share(uint64_t amount, uint64_t before, uint64_t own, uint64_t total);

/* The values and the types that stand at these bytes (0: nowhere). *nested: there is a list of lists. False: they are
 * none, or the sum does not fit. */
bool comm_bytes_read(struct field_reader *fields, size_t values_at, size_t types_at, int64_t *bytes, bool *nested);

#endif
