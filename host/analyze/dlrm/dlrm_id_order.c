/*
 * dlrm_id_order.c - the forest with siblings of one id together (compat mode).
 *
 * The original keeps results of siblings by id, so time of a later sibling is added where the first one of its id
 * stands. Only nodes that start device work are looked at. Each node's children are gone through twice: once to see how
 * much room those of an id need, once to give each its place. O(n).
 */
#include "analyze/dlrm/dlrm_id_order.h"

struct placing {
    const struct dlrm_forest *forest;
    const value_key *external; /* per event */
    struct tuples ids;         /* (parent, id) */
    row_t *room, *next;        /* per such: places of its nodes, and the next one */
    struct id_order *order;
};

static uint32_t number_child(struct placing *placing, row_t parent, row_t child) {
    value_key id = placing->external[placing->forest->event[child]];
    return tuples_number(&placing->ids, (struct tuple){{parent, id}});
}

/* Gives the children of a node their places behind it, those that start no device work last. */
static bool place_children(struct placing *placing, row_t node) {
    const struct dlrm_forest *forest = placing->forest;
    row_t at = placing->order->place[node] + 1, end = forest->end[node];
    uint32_t first = placing->ids.n;
    for (row_t child = node + 1; child < end; child = forest->end[child]) {
        if (!(forest->flags[child] & NODE_DEVICE))
            continue;
        uint32_t id = number_child(placing, node, child);
        if (id == TUPLE_NONE)
            return false;
        placing->order->again[child] = placing->room[id] > 0;
        placing->room[id] += forest->end[child] - child;
    }
    for (uint32_t id = first; id < placing->ids.n; id++) {
        placing->next[id] = at;
        at += placing->room[id];
    }
    for (row_t child = node + 1; child < end; child = forest->end[child]) {
        bool device = (forest->flags[child] & NODE_DEVICE) != 0;
        row_t *next = device ? &placing->next[number_child(placing, node, child)] : &at;
        placing->order->place[child] = *next;
        *next += forest->end[child] - child;
    }
    return true;
}

static bool place_all(struct placing *placing) {
    const struct dlrm_forest *forest = placing->forest;
    for (row_t node = 0; node < forest->n; node++) {
        if (forest->parent[node] == ROW_NONE)
            placing->order->place[node] = node;
        placing->order->node[placing->order->place[node]] = node;
        if (!place_children(placing, node))
            return false;
    }
    return true;
}

bool id_order_make(struct id_order *order, const struct dlrm_forest *forest, const value_key *external,
                   struct arena *arena) {
    row_t n = forest->n;
    *order = (struct id_order){.node = arena_take(arena, n, sizeof *order->node),
                               .place = arena_take(arena, n, sizeof *order->place),
                               .again = arena_zeros(arena, n, sizeof *order->again)};
    struct placing placing = {.forest = forest,
                              .external = external,
                              .room = arena_zeros(arena, n, sizeof *placing.room),
                              .next = arena_take(arena, n, sizeof *placing.next),
                              .order = order};
    bool ok = !arena->failed && place_all(&placing);
    tuples_free(&placing.ids);
    return ok;
}
