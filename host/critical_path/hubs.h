/*
 * hubs.h - synchronisation of whole contexts: a hub for each, in place of an edge from the last kernel of every stream.
 *
 *     stream 7    [ a ]          [ b ]                  hubs      0        1        2
 *     stream 8         [ c ]                            a         0 ... 1
 *     CPU               wait 0|   wait 1|  wait 2|      b                  1 ...... 3
 *                                                       c         0 ............... 3
 *
 * A kernel is the last one of its stream during a range of hubs, and the end of its time leads to each of these: C
 * waits and K kernels are C + K numbers, where their edges may be C times the streams. The hubs of a device have
 * neighbouring numbers, in the order of time. With extended rules a hub lets through only what ended in time: by the
 * end of its call and of all later ones of the device, so that this, too, is a range.
 *
 * In the graph's list of edges a hub is one edge, whose place is that of the edges that it stands for; as its `from` it
 * has its number, marked. Cost: O(1) to add, O(n log n) in all.
 */
#ifndef CRITICAL_PATH_HUBS_H
#define CRITICAL_PATH_HUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/row.h"

typedef uint32_t node_t;

#define NODE_NONE UINT32_MAX
#define HUB_FLAG  ((node_t)1 << 31) /* in an edge's `from`: a hub's number follows */
#define HUB_NONE  UINT32_MAX

/* One kernel as what hubs wait for. */
struct hub_source {
    uint32_t begin, end; /* its hubs */
    uint32_t stream;     /* those that were used earlier have lower numbers */
    uint32_t device;
};

struct hubs {
    uint32_t n;
    node_t *to;       /* what waits: the end of the call */
    uint32_t *edge;   /* the edge that stands for the hub: rising within a device */
    uint32_t *n_from; /* how many kernels it waits for */
    uint32_t *device;
    double *limit;              /* what ends later is not waited for */
    struct hub_source *sources; /* of each kernel: of each pair of the graph behind those of the CPU */
    uint32_t n_sources;
    struct tuples devices;
    uint32_t *n_of_device;
};

/* Room for so many hubs and kernels, in the arena. */
void hubs_take(struct hubs *hubs, struct arena *arena, row_t n_hubs, row_t n_sources);
void hubs_free(struct hubs *hubs);

/* The next kernel, behind that of number `before` on its stream (HUB_NONE: the first there). False: out of memory. */
bool hubs_add_source(struct hubs *hubs, value_key device, uint32_t stream, uint32_t before);

/* The next hub, whose number it returns; HUB_NONE: out of memory. */
uint32_t hubs_add(struct hubs *hubs, value_key device, node_t to, uint32_t edge, double limit);

/* When all are there: numbers them device by device, narrows the ranges to what ends in time, and counts. ends[i]: when
 * kernel i ends; NULL: all end in time. False: out of memory. */
bool hubs_settle(struct hubs *hubs, const double *ends, struct arena *scratch);

static inline bool hub_has(const struct hubs *hubs, uint32_t hub, uint32_t source) {
    return hubs->sources[source].begin <= hub && hub < hubs->sources[source].end;
}

/*
 * What hubs (see hubs.h) still wait for, while nodes get their places one by one.
 *
 * A segment tree over the hubs. A kernel leads to a range of them, which is O(log n) nodes of the tree: there it takes
 * 1 from what they miss, and is kept if none before it is farther.
 *
 *     least[at]   the least number of kernels that a hub below misses, but for what the nodes above `at` took
 *     taken[at]   what was taken from all hubs below at once
 *     best[at]    the farthest of the kernels that lead to all hubs below
 */

struct hub_tree {
    const struct hubs *hubs;
    const double *distance; /* of nodes */
    uint32_t n_leaves;      /* a power of two; the root is 1, children of k are 2k and 2k + 1 */
    uint32_t *least, *taken;
    node_t *best;
    uint32_t *best_stream; /* of best[] */
    uint32_t *ready;       /* edges of hubs that miss nothing any more, rising */
    uint32_t n_ready;
};

/* A tree in the arena; empty where there are no hubs. The hubs' numbers of edges are looked up later. */
void hub_tree_take(struct hub_tree *tree, const struct hubs *hubs, const double *distance, struct arena *arena);

/* A kernel's end has its place: returns how many hubs miss nothing now, listed in tree->ready. */
uint32_t hub_tree_leave(struct hub_tree *tree, node_t end, const struct hub_source *source);

/* Of the kernels' ends that lead to the hub, and have left, the farthest, among equals that of the first stream; or
 * NODE_NONE. */
node_t hub_tree_farthest(const struct hub_tree *tree, uint32_t hub);

#endif
