/*
 * graph.h - the dependency graph as columns: pairs of nodes, a list of edges, and both adjacencies as offsets into it.
 *
 *     pair k         event[k]             one event: node 2k is its start, node 2k + 1 its end
 *     above[k]           the operator that encloses it, for operators of the CPU
 *     edge e         from[e], to[e], weight[e], type[e]      in the order in which they were added
 *     into v         into[into_start[v]] ... into[into_start[v + 1] - 1]    edges that end at v, in that order
 *     out of u       out[out_start[u]] ... likewise
 *
 * An edge that is added twice keeps its first number and takes the last weight and type. Cost: O(nodes + edges) time and
 * memory for everything here.
 */
#ifndef CRITICAL_PATH_GRAPH_H
#define CRITICAL_PATH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/row.h"

typedef uint32_t node_t;

#define NODE_NONE  UINT32_MAX
#define PAIR_LIMIT ((row_t)1 << 31) /* so that nodes fit 32 bits with one to spare */
#define EDGE_LIMIT UINT32_MAX

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
};

/* Room for the pairs of `n_events` events in total. */
bool graph_init(struct graph *graph, row_t n_events);
void graph_free(struct graph *graph);

/* Room for that many pairs with two edges each, so that those need not grow. */
bool graph_reserve(struct graph *graph, row_t n_pairs);

/* Appends the pair of an event; returns its start node, or NODE_NONE: out of memory or of numbers. */
node_t graph_add_pair(struct graph *graph, row_t event, row_t above);

bool graph_add_edge(struct graph *graph, node_t from, node_t to, enum edge_type type, double weight);

/* Merges repeated edges and makes both adjacencies; false: out of memory. */
bool graph_index(struct graph *graph, struct arena *scratch);

static inline node_t graph_nodes(const struct graph *graph) {
    return graph->n_pairs * 2;
}

static inline bool node_is_end(node_t node) {
    return node & 1;
}

static inline row_t node_event(const struct graph *graph, node_t node) {
    return graph->event[node / 2];
}

/* The start node of an event, or NODE_NONE where it has none. */
static inline node_t event_start(const struct graph *graph, row_t event) {
    row_t pair = graph->pair_of[event];
    return pair ? (pair - 1) * 2 : NODE_NONE;
}

static inline node_t event_end(const struct graph *graph, row_t event) {
    row_t pair = graph->pair_of[event];
    return pair ? (pair - 1) * 2 + 1 : NODE_NONE;
}

#endif
