/*
 * dlrm_operators.c - which nodes start device work, and the list of operators.
 *
 * A node whose id leads to a launch that was executed starts device work, and nothing below it is looked at; any other
 * node does if one below it does. Operators are the outermost host operators that are no labels. Two operators share
 * their device time if they have the same group: in compat mode the same id. O(n).
 */
#include "analyze/dlrm/dlrm_names.h"

#include <stdlib.h>

#include "base/error.h"
#include "match/key_index.h"

static void mark_device(struct sutra_dlrm *dlrm) {
    struct dlrm_forest *forest = &dlrm->forest;
    for (row_t node = 0; node < forest->n;) {
        row_t link = forest->link[node];
        bool starts = link != ROW_NONE && dlrm->links.executor[link] != ROW_NONE;
        bool is_leaf = forest->end[node] == node + 1;
        if (starts)
            forest->flags[node] |= (uint8_t)(NODE_DEVICE | (is_leaf ? NODE_LAUNCH : 0));
        node = starts ? forest->end[node] : node + 1;
    }
    for (row_t node = forest->n; node-- > 0;)
        if ((forest->flags[node] & NODE_DEVICE) && forest->parent[node] != ROW_NONE)
            forest->flags[forest->parent[node]] |= NODE_DEVICE;
}

static void list_operators(struct sutra_dlrm *dlrm) {
    const struct dlrm_forest *forest = &dlrm->forest;
    for (row_t node = 0; node < forest->n;) {
        bool is_op = (forest->flags[node] & NODE_OPERATOR) && !node_is(dlrm, node, NAME_LABEL);
        if (is_op)
            dlrm->ops[dlrm->n_ops++] = node;
        node = is_op ? forest->end[node] : node + 1;
    }
}

/* In compat mode, where a node of any kind counts as an operator whose id it has. */
static enum sutra_status group_by_id(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    const struct dlrm_forest *forest = &dlrm->forest;
    struct key_index index = {0};
    value_key *ids = column_new(dlrm->n_ops, sizeof *ids);
    enum sutra_status status = ids ? SUTRA_OK : error_memory(error);
    for (row_t op = 0; op < dlrm->n_ops && !status; op++)
        ids[op] = dlrm_external_id(dlrm, forest->event[dlrm->ops[op]]);
    if (!status)
        status = key_index_build(&index, &dlrm->context->engine, ids, dlrm->n_ops, KEY_FIRST, NULL, error);
    for (row_t op = 0; op < dlrm->n_ops && !status; op++)
        dlrm->op_group[op] = key_index_find(&index, ids[op]);
    for (row_t node = 0; node < forest->n && !status; node++)
        dlrm->node_group[node] = key_index_find(&index, dlrm_external_id(dlrm, forest->event[node]));
    key_index_free(&index);
    free(ids);
    return status;
}

static void group_each(struct sutra_dlrm *dlrm) {
    for (row_t node = 0; node < dlrm->forest.n; node++)
        dlrm->node_group[node] = ROW_NONE;
    for (row_t op = 0; op < dlrm->n_ops; op++)
        dlrm->node_group[dlrm->ops[op]] = dlrm->op_group[op] = op;
}

enum sutra_status dlrm_operators_find(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    row_t n = dlrm->forest.n;
    dlrm->ops = column_new(n, sizeof *dlrm->ops);
    dlrm->node_group = column_new(n, sizeof *dlrm->node_group);
    if (!dlrm->ops || !dlrm->node_group)
        return error_memory(error);
    mark_device(dlrm);
    list_operators(dlrm);
    dlrm->op_group = column_new(dlrm->n_ops, sizeof *dlrm->op_group);
    if (!dlrm->op_group)
        return error_memory(error);
    if (dlrm->options.compat)
        return group_by_id(dlrm, error);
    group_each(dlrm);
    return SUTRA_OK;
}
