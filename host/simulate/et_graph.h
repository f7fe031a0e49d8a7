/*
 * et_graph.h - the dependencies of an .et file as a graph of rows.
 *
 *     up      what row i depends on:      up.rows[up.first[i]] .. up.rows[up.first[i + 1] - 1]
 *             in the order of the file, control dependencies first; ROW_NONE where no node has the id
 *     down    what depends on row i, without repetitions of a pair being dropped
 *     order   rows such that each stands behind all that it depends on; of those that are free the lowest comes first.
 *             What lies in a cycle or behind one is not in it.
 *
 * Cost: O(nodes + dependencies), and a heap for the order. All of it lies in the caller's arena.
 */
#ifndef SIMULATE_ET_GRAPH_H
#define SIMULATE_ET_GRAPH_H

#include "simulate/et_nodes.h"

enum et_edges { ET_CTRL = 1, ET_DATA = 2, ET_ALL = 3 };

struct et_lists {
    uint64_t *first; /* n + 1 */
    row_t *rows;
};

struct et_graph {
    row_t n;
    struct et_lists up, down;
    uint8_t *kind; /* of each in `up`: ET_CTRL or ET_DATA */
    row_t *order;
    row_t n_order;
    row_t *again; /* rows whose id an earlier row has too; the last row of an id stands for it */
    row_t n_again;
    uint64_t n_absent; /* dependencies on ids that no node has */
};

/* Takes the dependencies of these kinds. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_graph_make(const struct et_nodes *nodes, enum et_edges kinds, struct arena *arena,
                                struct et_graph *graph, struct sutra_error *error);

/* Longest chains over the nodes in `order`: by time, and by number of nodes. */
struct et_lengths {
    uint64_t critical_us; /* largest sum of durations along a chain */
    row_t critical_last;  /* where such a chain ends; ROW_NONE: there are no nodes */
    row_t n_levels;       /* nodes of the longest chain */
    row_t width;          /* most nodes that stand equally far from the beginning */
};
enum sutra_status et_lengths_find(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                                  struct et_lengths *lengths, struct sutra_error *error);

#endif
