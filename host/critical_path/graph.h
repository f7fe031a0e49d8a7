/*
 * graph.h - the dependency graph in columns: pairs of nodes, a list of edges, and both adjacencies as offsets.
 *
 *     pair k         event[k]                                one event: node 2k is its start, node 2k + 1 its end
 *                    above[k]                                parent operator, for CPU operators
 *     edge e         from[e], to[e], weight[e], type[e]      in the order of their addition
 *     into v         into[into_start[v]] ... into[into_start[v + 1] - 1]    edges that end at v, in edge order
 *     out of u       out[out_start[u]] ...                likewise, without hubs (see below); edges_from() adds them
 *
 * An edge that is added twice keeps its first number and its last weight and type. Cost: O(nodes + edges) time and
 * memory.
 */
#ifndef CRITICAL_PATH_GRAPH_H
#define CRITICAL_PATH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"

/*
 * ---- Synchronization of whole contexts: one hub per call, not an edge from the last kernel of each stream ----
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

/* Appends a kernel; `before` is the previous kernel of its stream (HUB_NONE: none). False: out of memory. */
bool hubs_add_source(struct hubs *hubs, value_key device, uint32_t stream, uint32_t before);

/* Appends a hub and returns its number; HUB_NONE: out of memory. */
uint32_t hubs_add(struct hubs *hubs, value_key device, node_t to, uint32_t edge, double limit);

static inline bool hub_has(const struct hubs *hubs, uint32_t hub, uint32_t source) {
    return hubs->sources[source].begin <= hub && hub < hubs->sources[source].end;
}

/* ---- The graph ---- */

#define PAIR_LIMIT ((row_t)1 << 30) /* so that nodes fit 31 bits with one to spare */
#define EDGE_LIMIT UINT32_MAX
#define EDGE_NONE  UINT32_MAX

enum edge_type {
    EDGE_OPERATOR,     /* self time of an operator or a kernel */
    EDGE_DEPENDENCY,   /* between consecutive top-level operators of a thread */
    EDGE_LAUNCH_DELAY, /* launch latency of a kernel on an idle stream */
    EDGE_KERNEL_DELAY, /* gap between consecutive kernels of a stream */
    EDGE_SYNC,         /* a call or kernel waits for the end of a kernel */
    EDGE_N_TYPES
};

struct graph {
    row_t n_pairs, pair_capacity;
    row_t n_cpu_pairs; /* CPU operators; the other pairs are kernels */
    row_t *event;
    row_t *above;   /* parent operator, or ROW_NONE */
    row_t *pair_of; /* per event: pair + 1, or 0 */

    uint32_t n_edges, edge_capacity;
    node_t *from, *to;
    double *weight;
    uint8_t *type;

    uint32_t *into_start, *into; /* built by longest_path_find() */
    uint32_t *out_start, *out;

    struct hubs hubs;
};

/* `n_events`: number of events in the trace. */
bool graph_init(struct graph *graph, row_t n_events);
void graph_free(struct graph *graph);

/* Allocates capacity for `n_pairs` pairs with two edges each. */
bool graph_reserve(struct graph *graph, row_t n_pairs);

/* Appends the pair of an event; returns its start node, or NODE_NONE: out of memory, or too many pairs. */
node_t graph_add_pair(struct graph *graph, row_t event, row_t above);

/* Appends the edge of a hub. */
bool graph_add_hub(struct graph *graph, uint32_t hub, node_t to, enum edge_type type);

/* After all additions: sorts the hubs, and narrows their ranges to the kernels that end in time. ends[i]: the end of
 * kernel i; NULL: all kernels end in time. False: out of memory. */
bool graph_settle_hubs(struct graph *graph, const double *ends, struct arena *scratch);

/* Counts the edges including the edges that hubs represent, each once. False: out of memory. */
bool graph_count_edges(const struct graph *graph, struct arena *scratch, uint64_t *n_edges);

static inline node_t graph_nodes(const struct graph *graph) {
    return graph->n_pairs * 2;
}

static inline bool node_is_end(node_t node) {
    return node & 1;
}

static inline row_t node_event(const struct graph *graph, node_t node) {
    return graph->event[node / 2];
}

static inline bool edge_is_hub(const struct graph *graph, uint32_t edge) {
    return graph->from[edge] & HUB_FLAG;
}

static inline uint32_t edge_hub(const struct graph *graph, uint32_t edge) {
    return graph->from[edge] & ~HUB_FLAG;
}

/* Two ascending lists of edges, read as one. */
struct edge_lists {
    const uint32_t *list[2], *end[2];
};

/* The next edge, or EDGE_NONE. */
static inline uint32_t edges_next(struct edge_lists *lists) {
    uint32_t first = lists->list[0] < lists->end[0] ? *lists->list[0] : EDGE_NONE;
    uint32_t second = lists->list[1] < lists->end[1] ? *lists->list[1] : EDGE_NONE;
    if (first == EDGE_NONE && second == EDGE_NONE)
        return EDGE_NONE;
    return first < second ? *lists->list[0]++ : *lists->list[1]++;
}

/* The hubs of a kernel's end; NULL for other nodes. */
static inline const struct hub_source *node_source(const struct graph *graph, node_t node) {
    bool has = graph->hubs.n > 0 && node_is_end(node) && node / 2 >= graph->n_cpu_pairs;
    return has ? &graph->hubs.sources[node / 2 - graph->n_cpu_pairs] : NULL;
}

/* The edges out of a node, with the edges of its hubs. Hub edges can repeat plain edges. */
static inline struct edge_lists edges_from(const struct graph *graph, node_t node) {
    const struct hub_source *source = node_source(graph, node);
    struct edge_lists lists = {{graph->out + graph->out_start[node], NULL},
                               {graph->out + graph->out_start[node + 1], NULL}};
    if (source && source->begin < source->end) {
        lists.list[1] = graph->hubs.edge + source->begin;
        lists.end[1] = graph->hubs.edge + source->end;
    }
    return lists;
}

/* The start node of an event, or NODE_NONE. */
static inline node_t event_start_node(const struct graph *graph, row_t event) {
    row_t pair = graph->pair_of[event];
    return pair ? (pair - 1) * 2 : NODE_NONE;
}

static inline node_t event_end_node(const struct graph *graph, row_t event) {
    row_t pair = graph->pair_of[event];
    return pair ? (pair - 1) * 2 + 1 : NODE_NONE;
}

#endif
