/*
 * host_ops.c - sorting nodes by id and finding those that the root leads to.
 */
#include "link/host_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/number_text.h"

/* Id of the root node. */
#define ROOT_ID 1

/* A node id that may be any number. */
struct wide_id {
    const char *text; /* an integer's text, else NULL */
    size_t length;
    double value;
    row_t row;
};

static int compare_integers(const struct wide_id *a, const struct wide_id *b) {
    bool a_below = *a->text == '-', b_below = *b->text == '-';
    if (a_below != b_below)
        return a_below ? -1 : 1;
    int order = a->length != b->length ? (a->length < b->length ? -1 : 1) : memcmp(a->text, b->text, a->length);
    return a_below ? -order : order;
}

static int compare_wide(const void *left, const void *right) {
    const struct wide_id *a = left, *b = right;
    int order = 0;
    if (a->text && b->text && a->value == b->value)
        order = compare_integers(a, b);
    else if (a->value != b->value)
        order = a->value < b->value ? -1 : 1;
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static struct wide_id wide_id_of(const struct sutra_host_trace *trace, row_t row) {
    const char *source = trace->document.source.bytes;
    struct wide_id id = {.row = row};
    struct json_walker walker =
        walk_from(&trace->document.source, &trace->document.index, trace->nodes.text[row], NULL);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        struct json_place value = walk_value(&walker);
        if (!place_is(&trace->document.source, key, "id"))
            continue;
        enum number_form form = number_scan(source + value.at, &id.length);
        id.text = form == NUMBER_FORM_INTEGER ? source + value.at : NULL;
        id.value = form == NUMBER_FORM_BAD ? source[value.at] == 't' : double_parse(source + value.at, id.length);
    }
    return id;
}

/* For ids among which there are fractions or integers beyond 64 bits. */
static enum sutra_status sort_wide(struct host_ops *ops, const struct sutra_host_trace *trace,
                                   struct sutra_error *error) {
    struct wide_id *ids = calloc((size_t)ops->n_nodes + 1, sizeof *ids);
    if (!ids)
        return error_memory(error);
    for (row_t i = 0; i < ops->n_nodes; i++)
        ids[i] = wide_id_of(trace, i);
    qsort(ids, ops->n_nodes, sizeof *ids, compare_wide);
    for (row_t i = 0; i < ops->n_nodes; i++)
        ops->node[i] = ids[i].row;
    free(ids);
    return SUTRA_OK;
}

static enum sutra_status sort_nodes(struct host_ops *ops, struct sutra_context *context,
                                    const struct sutra_host_trace *trace, struct sutra_error *error) {
    uint64_t *keys = malloc(((size_t)ops->n_nodes + 1) * sizeof *keys);
    if (!keys)
        return error_memory(error);
    bool wide = false;
    for (row_t i = 0; i < ops->n_nodes; i++) {
        wide |= !key_is_integer(trace->nodes.id[i]);
        keys[i] = integer_sort_key(trace->nodes.id[i]);
        ops->node[i] = i;
    }
    enum sutra_status status =
        wide ? sort_wide(ops, trace, error)
             : context->engine.sort_keys(context->engine.state, keys, ops->node, ops->n_nodes, error);
    free(keys);
    return status;
}

/* Runs of equal ids become units, which are then found by id. */
static enum sutra_status make_units(struct host_ops *ops, struct sutra_context *context,
                                    const struct sutra_host_trace *trace, struct sutra_error *error) {
    value_key *ids = malloc(((size_t)ops->n_nodes + 1) * sizeof *ids);
    if (!ids)
        return error_memory(error);
    for (row_t i = 0; i < ops->n_nodes; i++) {
        value_key id = trace->nodes.id[ops->node[i]];
        if (i > 0 && id == ids[ops->n_units - 1])
            continue;
        ids[ops->n_units] = id;
        ops->unit_start[ops->n_units++] = i;
    }
    ops->unit_start[ops->n_units] = ops->n_nodes;
    enum sutra_status status = key_index_build(&ops->ids, &context->engine, ids, ops->n_units, KEY_FIRST, NULL, error);
    free(ids);
    return status;
}

enum reach { REACH_UNKNOWN, REACH_YES, REACH_NO, REACH_WALKING };

/* Walks up from a unit to one whose answer is known, then hands the answer down the same path. `path` has room for all.
 */
static void decide(const row_t *parent, uint8_t *reach, row_t unit, row_t *path) {
    row_t n = 0;
    while (unit != ROW_NONE && reach[unit] == REACH_UNKNOWN) {
        reach[unit] = REACH_WALKING;
        path[n++] = unit;
        unit = parent[unit];
    }
    /* No parent, or a cycle: the root is not above. */
    uint8_t answer = unit != ROW_NONE && reach[unit] == REACH_YES ? REACH_YES : REACH_NO;
    while (n > 0)
        reach[path[--n]] = answer;
}

static enum sutra_status find_reachable(struct host_ops *ops, struct sutra_context *context,
                                        const struct sutra_host_trace *trace, struct sutra_error *error) {
    row_t *parent = malloc(((size_t)ops->n_units + 1) * sizeof *parent),
          *path = malloc(((size_t)ops->n_units + 1) * sizeof *path);
    row_t root = key_index_find(&ops->ids, ROOT_ID);
    enum sutra_status status = parent && path ? SUTRA_OK : error_memory(error);
    for (row_t unit = 0; unit < ops->n_units && !status; unit++)
        parent[unit] = key_index_find(&ops->ids, trace->nodes.parent[unit_node(ops, unit)]);
    if (!status && root == ROW_NONE) {
        context_warn(context, "%s: there is no root (a node with id 1): all nodes are taken as host operators",
                     trace->document.source.name);
        memset(ops->reachable, REACH_YES, ops->n_units);
    } else if (!status) {
        ops->reachable[root] = REACH_YES;
        for (row_t unit = 0; unit < ops->n_units; unit++)
            decide(parent, ops->reachable, unit, path);
        for (row_t unit = 0; unit < ops->n_units; unit++)
            ops->reachable[unit] = ops->reachable[unit] == REACH_YES;
    }
    free(parent);
    free(path);
    return status;
}

enum sutra_status host_ops_build(struct host_ops *ops, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct sutra_error *error) {
    *ops = (struct host_ops){.n_nodes = trace->nodes.n};
    ops->node = calloc((size_t)ops->n_nodes + 1, sizeof *ops->node);
    ops->unit_start = calloc((size_t)ops->n_nodes + 1, sizeof *ops->unit_start);
    ops->reachable = calloc((size_t)ops->n_nodes + 1, 1);
    enum sutra_status status = ops->node && ops->unit_start && ops->reachable ? SUTRA_OK : error_memory(error);
    if (!status)
        status = sort_nodes(ops, context, trace, error);
    if (!status)
        status = make_units(ops, context, trace, error);
    if (!status)
        status = find_reachable(ops, context, trace, error);
    if (status)
        host_ops_free(ops);
    return status;
}

void host_ops_free(struct host_ops *ops) {
    free(ops->node);
    free(ops->unit_start);
    free(ops->reachable);
    key_index_free(&ops->ids);
    *ops = (struct host_ops){0};
}
