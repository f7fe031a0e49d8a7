/*
 * et_pick.c - walks from node to node, with a list of those that are marked but not yet left.
 */
#include "simulate/et_pick.h"

#include "simulate/et_values.h"

/* Rows that are marked, in the order in which they were met; those before `next` have been left. */
struct pick_walk {
    bool *picked;
    row_t *rows;
    row_t n, next;
};

static void meet(struct pick_walk *walk, row_t row) {
    if (row == ROW_NONE || walk->picked[row])
        return;
    walk->picked[row] = true;
    walk->rows[walk->n++] = row;
}

row_t et_row_of(const struct et_nodes *nodes, uint64_t id) {
    for (row_t row = nodes->n; row > 0; row--)
        if (nodes->id[row - 1] == id)
            return row - 1;
    return ROW_NONE;
}

static void meet_all(struct pick_walk *walk, const struct et_lists *lists, row_t row) {
    for (uint64_t i = lists->first[row]; i < lists->first[row + 1]; i++)
        meet(walk, lists->rows[i]);
}

row_t et_pick_around(const struct et_graph *graph, row_t row, uint64_t depth, struct arena *arena, bool *picked) {
    struct pick_walk walk = {.picked = picked, .rows = arena_take(arena, graph->n, sizeof *walk.rows)};
    if (!walk.rows)
        return 0;
    meet(&walk, row);
    for (uint64_t step = 0; step < depth && walk.next < walk.n; step++)
        for (row_t n = walk.n; walk.next < n; walk.next++) {
            meet_all(&walk, &graph->up, walk.rows[walk.next]);
            meet_all(&walk, &graph->down, walk.rows[walk.next]);
        }
    return walk.n;
}

row_t et_pick_collectives(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                          bool *picked) {
    struct pick_walk walk = {.picked = picked, .rows = arena_take(arena, graph->n, sizeof *walk.rows)};
    if (!walk.rows)
        return 0;
    for (row_t row = 0; row < graph->n; row++)
        if (et_is_communication(nodes->type[row]))
            meet(&walk, row);
    for (; walk.next < walk.n; walk.next++) {
        row_t row = walk.rows[walk.next];
        for (uint64_t i = graph->up.first[row]; i < graph->up.first[row + 1]; i++)
            if (graph->kind[i] == ET_CTRL)
                meet(&walk, graph->up.rows[i]);
    }
    return walk.n;
}
