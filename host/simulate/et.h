/*
 * et.h - struct sutra_et: an .et file in memory, and subsets of its nodes.
 */
#ifndef SIMULATE_ET_H
#define SIMULATE_ET_H

#include "simulate/et_graph.h"
#include "simulate/et_read.h"
#include "sutra/simulate.h"

/* Subsets of the nodes: the neighbors of a node, or the collectives with their ancestors. Cost: O(nodes +
 * dependencies). */

/* The last row with this id, or ROW_NONE. */
row_t et_row_of(const struct et_nodes *nodes, uint64_t id);

/* Marks the rows at most `depth` dependencies away from `row`, up or down. Returns their number. */
row_t et_pick_neighbors(const struct et_graph *graph, row_t row, uint64_t depth, struct arena *arena, bool *picked);

/* Marks communication and its ancestors by control dependencies. */
row_t et_pick_collectives(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                          bool *picked);

struct sutra_et {
    struct et_file file;
    struct arena info; /* texts of the last sutra_et_info() */
};

#endif
