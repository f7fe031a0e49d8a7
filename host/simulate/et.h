/*
 * et.h - inside of struct sutra_et.
 */
#ifndef SIMULATE_ET_H
#define SIMULATE_ET_H

#include "simulate/et_graph.h"
#include "simulate/et_read.h"
#include "sutra/simulate.h"

/*
 * A part of the nodes of an .et file: those around one, or the collectives with what stands above them.
 *
 * Cost: O(nodes + dependencies).
 */

/* The last row with this id, or ROW_NONE. */
row_t et_row_of(const struct et_nodes *nodes, uint64_t id);

/* Marks the rows that are at most `depth` dependencies away from `row`, up or down; returns their number. */
row_t et_pick_around(const struct et_graph *graph, row_t row, uint64_t depth, struct arena *arena, bool *picked);

/* Marks communication, and all that it depends on by control. */
row_t et_pick_collectives(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                          bool *picked);

struct sutra_et {
    struct et_file file;
    struct arena info; /* texts of the last sutra_et_info() */
};

#endif
