/*
 * hub_tree.c - a segment tree over hubs: O(log n) for a kernel, for a hub that becomes ready, and for a question.
 */
#include "critical_path/hub_tree.h"

/* Of a hub that is ready, or waits for nothing: more than all kernels can take. */
#define NOT_WAITING ((uint32_t)1 << 31)

static void pull(struct hub_tree *tree, uint32_t at) {
    uint32_t left = tree->least[2 * at], right = tree->least[2 * at + 1];
    tree->least[at] = (left < right ? left : right) - tree->taken[at];
}

void hub_tree_take(struct hub_tree *tree, const struct hubs *hubs, const double *distance, struct arena *arena) {
    *tree = (struct hub_tree){.hubs = hubs, .distance = distance, .n_leaves = 1};
    if (hubs->n == 0)
        return;
    while (tree->n_leaves < hubs->n)
        tree->n_leaves *= 2;
    size_t n = 2 * (size_t)tree->n_leaves;
    tree->least = arena_take(arena, n, sizeof *tree->least);
    tree->taken = arena_zeros(arena, n, sizeof *tree->taken);
    tree->best = arena_take(arena, n, sizeof *tree->best);
    tree->best_stream = arena_take(arena, n, sizeof *tree->best_stream);
    tree->ready = arena_take(arena, hubs->n, sizeof *tree->ready);
    if (arena->failed)
        return;
    for (uint32_t i = 0; i < n; i++)
        tree->best[i] = NODE_NONE;
    for (uint32_t hub = 0; hub < tree->n_leaves; hub++)
        tree->least[tree->n_leaves + hub] = hub < hubs->n && hubs->n_from[hub] ? hubs->n_from[hub] : NOT_WAITING;
    for (uint32_t at = tree->n_leaves; --at > 0;)
        pull(tree, at);
}

/* Whether a kernel's end is to be preferred to another one, or to none. */
static bool is_farther(const struct hub_tree *tree, node_t end, uint32_t stream, node_t other, uint32_t other_stream) {
    if (other == NODE_NONE || end == NODE_NONE)
        return end != NODE_NONE;
    double a = tree->distance[end], b = tree->distance[other];
    return a > b || (a == b && stream < other_stream);
}

struct leaving {
    node_t end;
    uint32_t stream;
    uint32_t from, to; /* hubs */
};

static void leave_all(struct hub_tree *tree, const struct leaving *leaving, uint32_t at) {
    tree->least[at]--;
    tree->taken[at]++;
    if (!is_farther(tree, leaving->end, leaving->stream, tree->best[at], tree->best_stream[at]))
        return;
    tree->best[at] = leaving->end;
    tree->best_stream[at] = leaving->stream;
}

/* Takes the kernel from those of the hubs [low, high] below `at` that it leads to. As deep as the tree is high. */
static void leave_below(struct hub_tree *tree, const struct leaving *leaving, uint32_t at, uint32_t low,
                        uint32_t high) {
    if (leaving->to < low || high < leaving->from)
        return;
    if (leaving->from <= low && high <= leaving->to) {
        leave_all(tree, leaving, at);
        return;
    }
    uint32_t middle = low + (high - low) / 2;
    leave_below(tree, leaving, 2 * at, low, middle);
    leave_below(tree, leaving, 2 * at + 1, middle + 1, high);
    pull(tree, at);
}

/* Lists the hubs below that miss nothing but for what was taken above. */
static void list_ready(struct hub_tree *tree, uint32_t at, uint32_t taken_above) {
    if (tree->least[at] != taken_above)
        return;
    if (at >= tree->n_leaves) {
        tree->ready[tree->n_ready++] = tree->hubs->edge[at - tree->n_leaves];
        tree->least[at] = NOT_WAITING;
        return;
    }
    list_ready(tree, 2 * at, taken_above + tree->taken[at]);
    list_ready(tree, 2 * at + 1, taken_above + tree->taken[at]);
    pull(tree, at);
}

uint32_t hub_tree_leave(struct hub_tree *tree, node_t end, const struct hub_source *source) {
    const struct leaving leaving = {end, source->stream, source->begin, source->end - 1};
    leave_below(tree, &leaving, 1, 0, tree->n_leaves - 1);
    tree->n_ready = 0;
    list_ready(tree, 1, 0);
    return tree->n_ready;
}

node_t hub_tree_farthest(const struct hub_tree *tree, uint32_t hub) {
    node_t best = NODE_NONE;
    uint32_t stream = 0;
    for (uint32_t at = tree->n_leaves + hub; at > 0; at /= 2)
        if (is_farther(tree, tree->best[at], tree->best_stream[at], best, stream)) {
            best = tree->best[at];
            stream = tree->best_stream[at];
        }
    return best;
}
