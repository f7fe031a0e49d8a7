/*
 * communication.h - bytes, ranks and operations of kernels.
 *
 * The bytes that a communication kernel moves are the sum over the tensors among its inputs. A tensor is a list whose
 * fourth element is its number of elements and whose fifth is the size of an element.
 *
 *     values   [[5, 6, 0, 112, 4, "cuda:0"], [[7, 8, 0, 16, 2, "cuda:0"], ...], true]
 *     types    ["Tensor(float)", "GenericList[Tensor(c10::Half),...]", "Bool"]
 *
 * Lists of lists of tensors, at which chakra_converter fails, are summed, too. Cost: O(length of the values).
 */
#ifndef SIMULATE_COMMUNICATION_H
#define SIMULATE_COMMUNICATION_H

#include "facts/collectives.h"
#include "read/document.h"
#include "simulate/node_graph.h"

/* ---- Names of communication kernels, as chakra_converter reads them ---- */

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
 * The ranks of sends and receives, and their tags.
 *
 * PyTorch records them in operators above the kernel, by ranks of the process group:
 *
 *     c10d::send           tensors, group, 1, tag                             the peer
 *     record_param_comms   tensors, sequence, group, 1, 'send', ..., 0, 2, 8  the group, the peer; and of the group the
 *                                                                             first global rank, step, number of ranks
 *     nccl:send 0->1                                                          the own rank, the peer
 *
 * and in nodes that describe groups (node_graph.h). Any such operator also records the own global rank. Otherwise the
 * arguments of the kernel name the ranks of the group, and the rank of the device trace is the own one.
 *
 * NCCL matches messages between two ranks of a group in order, regardless of their tags, and PyTorch's sequence numbers
 * count the messages of a rank to all other ranks, so they differ at the two ends. Hence the tag of a message is the
 * number of preceding messages of its direction between the two ranks in its group, below the number of the group:
 *
 *     31  30 ... 16            15 ... 0
 *      0  number of the group  preceding messages
 *
 * Cost: O(nodes + messages log messages).
 */

/* Number of operators above a kernel that are inspected. */
#define COMM_ENDS_LEVELS 4

struct comm_end {
    row_t row;    /* the kernel */
    int64_t peer; /* global rank */
    uint32_t tag;
};

struct comm_ends {
    struct comm_end *list; /* sends and receives with a known peer, by ascending row */
    uint64_t n;
    uint64_t n_without_peer;    /* sends and receives without a recorded peer, */
    uint64_t n_without_members; /* or only with its rank in a group of unknown members */
    int64_t own;                /* global rank, or RANK_NOT_RECORDED */
};

/* Finds the ends of the kept sends and receives, in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status comm_ends_find(struct comm_ends *ends, struct arena *arena, const struct node_graph *graph,
                                 const struct comm_groups *groups, struct sutra_error *error);

/* The ends of a send or receive, or NULL. O(log n). */
const struct comm_end *comm_end_of(const struct comm_ends *ends, row_t row);

/*
 * Operations and bytes of kernels: num_ops and tensor_size, from which simulators compute times (ASTRA-sim's roofline
 * model).
 *
 *     aten::linear                          known by the nearest ancestor of a kernel with a formula (facts/flops.h)
 *       aten::addmm [512] [141, 512] ...    0.7e9 operations, 4 MB
 *         kernel 6 us                           2/3 of them
 *         kernel 3 us                           1/3
 *
 * Kernels share the operations of their nearest such operator in proportion to their durations (at least a microsecond
 * each), so that their sums equal the operator's. A memcpy computes nothing, but a node must compute to take time
 * there: num_ops is at least 1.
 *
 * Cost: O(nodes + bytes of the inputs of these operators), the latter in parallel.
 */

struct kernel_work {
    uint64_t *n_ops, *n_bytes; /* by slot of the graph; 0 bytes: unknown */
    uint64_t n_known;          /* kernels */
};

/* Finds operations and bytes of the kept kernels, in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status kernel_work_find(struct kernel_work *work, struct arena *arena, const struct node_graph *graph,
                                   struct sutra_error *error);

/* The share of a node in an amount: the share of it and all preceding nodes, `before` of `total`, less their shares.
 * Shares sum up to the amount. */
uint64_t share_amount(uint64_t amount, uint64_t before, uint64_t own, uint64_t total);

/* Sums the tensors of the values and types at these offsets (0: none). *nested: there is a list of lists. False:
 * malformed, or the sum overflows. */
bool comm_bytes_read(struct field_reader *fields, size_t values_at, size_t types_at, int64_t *bytes, bool *nested);

#endif
