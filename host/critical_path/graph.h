/*
 * graph.h - the dependency graph as columns: pairs of nodes, a list of edges, and both adjacencies as offsets into it.
 *
 *     pair k         event[k]             one event: node 2k is its start, node 2k + 1 its end
 *     above[k]           the operator that encloses it, for operators of the CPU
 *     edge e         from[e], to[e], weight[e], type[e]      in the order in which they were added
 *     into v         into[into_start[v]] ... into[into_start[v + 1] - 1]    edges that end at v, in that order
 *     out of u       out[out_start[u]] ... likewise, without hubs (see hubs.h); edges_from() has those, too
 *
 * An edge that is added twice keeps its first number and takes the last weight and type. Cost: O(nodes + edges) time
 * and memory for everything here.
 */
#ifndef CRITICAL_PATH_GRAPH_H
#define CRITICAL_PATH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/row.h"
#include "critical_path/hubs.h"

#define PAIR_LIMIT ((row_t)1 << 30) /* so that nodes fit 31 bits with one to spare */
#define EDGE_LIMIT UINT32_MAX
#define EDGE_NONE  UINT32_MAX

enum edge_type {
    EDGE_OPERATOR,     /* time of an operator or a kernel itself */
    EDGE_DEPENDENCY,   /* one top-level operator after the other on a thread */
    EDGE_LAUNCH_DELAY, /* from a launch to its kernel on an idle stream */
    EDGE_KERNEL_DELAY, /* from a kernel to the next one on its stream */
    EDGE_SYNC,         /* an end waits for another end */
    EDGE_N_TYPES
};

struct graph {
    row_t n_pairs, pair_capacity;
    row_t n_cpu_pairs; /* the first pairs are operators of the CPU, the others kernels */
    row_t *event;
    row_t *above;   /* ROW_NONE: nothing */
    row_t *pair_of; /* per event: its pair + 1, or 0 */

    uint32_t n_edges, edge_capacity;
    node_t *from, *to;
    double *weight;
    uint8_t *type;

    uint32_t *into_start, *into; /* made by graph_index() */
    uint32_t *out_start, *out;

    struct hubs hubs;
};

/* Room for the pairs of `n_events` events in total. */
bool graph_init(struct graph *graph, row_t n_events);
void graph_free(struct graph *graph);

/* Room for that many pairs with two edges each, so that those need not grow. */
bool graph_reserve(struct graph *graph, row_t n_pairs);

/* Appends the pair of an event; returns its start node, or NODE_NONE: out of memory or of numbers. */
node_t graph_add_pair(struct graph *graph, row_t event, row_t above);

bool graph_add_edge(struct graph *graph, node_t from, node_t to, enum edge_type type, double weight);

/* The same for a hub of this number. */
bool graph_add_hub(struct graph *graph, uint32_t hub, node_t to, enum edge_type type);

/* When all are added: gives the hubs their order (see hubs_settle()). */
bool graph_settle_hubs(struct graph *graph, const double *ends, struct arena *scratch);

/* How many edges there are with those that hubs stand for, each once. False: out of memory. */
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

/* Two rising lists of edges, to be gone through as one. */
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

/* The hubs that a node leads to, as a kernel's end; else NULL. */
static inline const struct hub_source *node_source(const struct graph *graph, node_t node) {
    bool has = graph->hubs.n > 0 && node_is_end(node) && node / 2 >= graph->n_cpu_pairs;
    return has ? &graph->hubs.sources[node / 2 - graph->n_cpu_pairs] : NULL;
}

/* The edges out of a node, and those that stand for hubs that it leads to. An edge may lead where an earlier one does:
 * it is the same edge then. */
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

/* The start node of an event, or NODE_NONE where it has none. */
static inline node_t event_start_node(const struct graph *graph, row_t event) {
    row_t pair = graph->pair_of[event];
    return pair ? (pair - 1) * 2 : NODE_NONE;
}

static inline node_t event_end_node(const struct graph *graph, row_t event) {
    row_t pair = graph->pair_of[event];
    return pair ? (pair - 1) * 2 + 1 : NODE_NONE;
}

#endif
