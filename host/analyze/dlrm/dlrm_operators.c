/*
 * dlrm_operators.c - which nodes start device work, and the list of operators.
 *
 * A node whose id leads to a launch that was executed starts device work, and in compat mode nothing below it is looked
 * at; any other node does if one below it does. Operators are the outermost host operators that are no labels. Two
 * operators share their device time if they have the same group: in compat mode the same id. O(n).
 */
#include "analyze/dlrm/dlrm_names.h"
#include "base/error.h"
#include "match/key_index.h"

/* Whether what a launch started counts. To the original it does if nothing lies in the call. With its threads and our
 * ids, a call of no length is such a thing as well: where times are whole microseconds, one right before or behind the
 * launch looks as if it was in it. */
static bool launch_counts(const struct dlrm_work *work, const struct dlrm_forest *forest, row_t node) {
    row_t last = forest->end[node] - 1;
    return last == node || !work->as_notebook ||
           (!work->options->compat && number_compare(event_dur(work, forest->event[last]), number_integer(0)) != 0);
}

static void mark_device(const struct dlrm_work *work, const struct dlrm_links *links, struct dlrm_forest *forest) {
    const row_t *first = links->first_started;
    for (row_t node = 0; node < forest->n;) {
        row_t link = links->of_node[node];
        bool starts = link != ROW_NONE && first[link] < first[link + 1];
        if (starts)
            forest->flags[node] |= (uint8_t)(NODE_DEVICE | (launch_counts(work, forest, node) ? NODE_LAUNCH : 0));
        node = starts && work->options->compat ? forest->end[node] : node + 1;
    }
    for (row_t node = forest->n; node-- > 0;)
        if ((forest->flags[node] & NODE_DEVICE) && forest->parent[node] != ROW_NONE)
            forest->flags[forest->parent[node]] |= NODE_DEVICE;
}

static bool list_operators(struct dlrm_work *work, const struct dlrm_forest *forest, struct dlrm_operators *ops) {
    for (row_t node = 0; node < forest->n;) {
        row_t event = forest->event[node];
        bool is_op = (forest->flags[node] & NODE_OPERATOR) && !event_is(work, event, DLRM_LABEL);
        if (is_op) {
            ops->name[ops->n] = dlrm_name(work, work->events->name[event]);
            if (ops->name[ops->n] == STRING_NONE)
                return false;
            ops->id[ops->n] = work->external[event];
            ops->node[ops->n++] = node;
        }
        node = is_op ? forest->end[node] : node + 1;
    }
    return true;
}

/* In compat mode, where a node of any kind counts as an operator whose id it has. */
static enum sutra_status group_by_id(const struct dlrm_work *work, const struct dlrm_forest *forest,
                                     struct dlrm_operators *ops, struct sutra_error *error) {
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, work->engine, ops->id, ops->n, KEY_FIRST, NULL, error);
    for (row_t op = 0; op < ops->n && !status; op++)
        ops->group[op] = key_index_find(&index, ops->id[op]);
    for (row_t node = 0; node < forest->n && !status; node++)
        ops->node_group[node] = key_index_find(&index, work->external[forest->event[node]]);
    key_index_free(&index);
    return status;
}

static void group_each(const struct dlrm_forest *forest, struct dlrm_operators *ops) {
    for (row_t node = 0; node < forest->n; node++)
        ops->node_group[node] = ROW_NONE;
    for (row_t op = 0; op < ops->n; op++)
        ops->node_group[ops->node[op]] = ops->group[op] = op;
}

enum sutra_status dlrm_operators_find(struct dlrm_work *work, const struct dlrm_links *links,
                                      struct dlrm_forest *forest, struct dlrm_operators *ops,
                                      struct sutra_error *error) {
    row_t n = forest->n;
    *ops = (struct dlrm_operators){.node = arena_take(work->arena, n, sizeof *ops->node),
                                   .name = arena_take(work->arena, n, sizeof *ops->name),
                                   .id = arena_take(work->arena, n, sizeof *ops->id),
                                   .group = arena_take(work->arena, n, sizeof *ops->group),
                                   .node_group = arena_take(work->arena, n, sizeof *ops->node_group)};
    if (work->arena->failed)
        return error_memory(error);
    mark_device(work, links, forest);
    if (!list_operators(work, forest, ops))
        return error_memory(error);
    if (work->options->compat)
        return group_by_id(work, forest, ops, error);
    group_each(forest, ops);
    return SUTRA_OK;
}
