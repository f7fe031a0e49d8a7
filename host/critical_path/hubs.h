/*
 * hubs.h - synchronization of whole contexts: one hub per call, in place of an edge from the last kernel of each
 * stream.
 *
 *     stream 7    [ a ]          [ b ]                  hubs      0        1        2
 *     stream 8         [ c ]                            a         0 ... 1
 *     CPU               wait 0|   wait 1|  wait 2|      b                  1 ...... 3
 *                                                       c         0 ............... 3
 *
 * A kernel is the last kernel of its stream during a range of hubs, and its end leads to each hub of the range. So C
 * calls and K kernels need C + K numbers, where their edges could be C times the number of streams. The hubs of a
 * device are consecutive, by time. By the extended rules, a hub waits only for kernels that end in time: by the end of
 * its call and of all later calls of the device, so that the hubs of a kernel remain a range.
 *
 * In the graph's list of edges, a hub is one edge at the position of the edges that it represents. Its `from` is the
 * hub's number with HUB_FLAG. Cost: O(1) per addition, O(n log n) in total.
 */
#ifndef CRITICAL_PATH_HUBS_H
#define CRITICAL_PATH_HUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"

typedef uint32_t node_t;

#define NODE_NONE UINT32_MAX
#define HUB_FLAG  ((node_t)1 << 31) /* in the `from` of an edge: the other bits are the number of a hub */
#define HUB_NONE  UINT32_MAX

/* One kernel, for which hubs wait. */
struct hub_source {
    uint32_t begin, end; /* its hubs */
    uint32_t stream;     /* numbered by first use */
    uint32_t device;
};

struct hubs {
    uint32_t n;
    node_t *to;       /* the node that waits: the end of the call */
    uint32_t *edge;   /* the edge that represents the hub: ascending within a device */
    uint32_t *n_from; /* the number of kernels for which it waits */
    uint32_t *device;
    double *limit;              /* the hub does not wait for kernels that end later */
    struct hub_source *sources; /* per kernel, in the order of the graph's pairs after the CPU pairs */
    uint32_t n_sources;
    struct tuples devices;
    uint32_t *n_of_device;
};

/* Allocates columns for this many hubs and kernels in the arena. */
void hubs_alloc(struct hubs *hubs, struct arena *arena, row_t n_hubs, row_t n_sources);
void hubs_free(struct hubs *hubs);

/* Appends a kernel; `before` is the previous kernel of its stream (HUB_NONE: none). False: out of memory. */
bool hubs_add_source(struct hubs *hubs, value_key device, uint32_t stream, uint32_t before);

/* Appends a hub and returns its number; HUB_NONE: out of memory. */
uint32_t hubs_add(struct hubs *hubs, value_key device, node_t to, uint32_t edge, double limit);

/* After all additions: numbers the hubs by device, narrows the ranges to the kernels that end in time, and counts.
 * ends[i]: the end of kernel i; NULL: all kernels end in time. False: out of memory. */
bool hubs_settle(struct hubs *hubs, const double *ends, struct arena *scratch);

static inline bool hub_has(const struct hubs *hubs, uint32_t hub, uint32_t source) {
    return hubs->sources[source].begin <= hub && hub < hubs->sources[source].end;
}

/*
 * The number of kernels for which each hub still waits, while nodes are ordered one by one.
 *
 * A segment tree over the hubs. A kernel leads to a range of hubs, which is O(log n) nodes of the tree: each of these
 * nodes subtracts 1 from its missing kernels, and keeps the farthest of its kernels.
 *
 *     min_missing[at]   the minimum of missing kernels of the hubs below, without the removals of the nodes above `at`
 *     removed[at]       number of kernels removed from all hubs below together
 *     best[at]          the farthest of the kernels that lead to all hubs below
 */

struct hub_tree {
    const struct hubs *hubs;
    const double *distance; /* of nodes */
    uint32_t n_leaves;      /* a power of two; the root is 1, children of k are 2k and 2k + 1 */
    uint32_t *min_missing, *removed;
    node_t *best;
    uint32_t *best_stream; /* of best[] */
    uint32_t *ready;       /* edges of hubs that miss no kernel any more, ascending */
    uint32_t n_ready;
};

/* Builds the tree in the arena; empty without hubs. Edge numbers of the hubs are read later. */
void hub_tree_alloc(struct hub_tree *tree, const struct hubs *hubs, const double *distance, struct arena *arena);

/* Orders the end of a kernel: returns the number of hubs that now miss no kernel, listed in tree->ready. */
uint32_t hub_tree_remove(struct hub_tree *tree, node_t end, const struct hub_source *source);

/* The farthest of the ordered kernel ends that lead to the hub, of equal ends the one of the first stream; or
 * NODE_NONE. */
node_t hub_tree_farthest(const struct hub_tree *tree, uint32_t hub);

#endif
