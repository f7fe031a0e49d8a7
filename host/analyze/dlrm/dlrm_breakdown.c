/*
 * dlrm_breakdown.c - device time of each stream below labels, modules and operators, as rows of a tree.
 *
 * In come nodes that start device work, down to those whose time is known (operators); out come for each stream rows
 * with a name, a shape and the time of all nodes of that name and shape below the same parent. Only the first of them
 * is looked into:
 *
 *     ## Forward ##   2315.0  10 times                 rows: children of a row stand together, breadth first
 *       aten::to        20.0   once in the first           | forward, backward | to, mlp, ... | ... | kernels ... |
 *         Memcpy HtoD   20.0
 *
 * For each stream the nodes above its operators are gathered (`locals`, in pre-order), sums go from the last to the
 * first of them, and rows are made by walking down through first occurrences. Cost: O(operators of the stream times
 * their labels), at most LEVELS_MAX of which are told apart.
 */
#include "analyze/dlrm/dlrm_names.h"

#include <stdlib.h>

#include "base/error.h"

/* An operator, or what else has a time of its own, on one stream. */
struct contribution {
    row_t node, block;
};

/* A node above or of the contributions of one stream. */
struct local {
    row_t node, block; /* ROW_NONE where it is above */
    row_t parent;      /* local, or ROW_NONE */
    row_t first_child; /* among `children` */
    double us;
};

struct breaking {
    struct sutra_dlrm *dlrm;
    struct contribution *list;
    uint64_t *stream; /* of each */
    row_t n;
    uint64_t capacity;
    row_t *label;           /* per node: the label that what lies in it is counted for; itself, or one above it */
    uint16_t *level;        /* per node */
    row_t *local_of, *seen; /* per node: its local, and for which stream + 1 that holds */
    struct local *locals;
    row_t *children; /* locals */
    row_t n_locals;
    uint64_t locals_capacity;
    struct tuples keys;
    row_t *source;   /* per row: the local of its first occurrence; ROW_NONE for kernels */
    uint64_t *range; /* per row: the first row below the same parent */
    row_t n_rows;
    uint64_t rows_capacity;
};

/* ---- Contributions ---- */

static bool add_contributions(struct breaking *breaking, struct tuples *streams, row_t node, row_t group) {
    const struct dlrm_device_time *time = &breaking->dlrm->device_time;
    for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++) {
        uint64_t capacity = breaking->capacity;
        uint32_t stream = tuples_number(streams, (struct tuple){{time->blocks[block].stream}});
        if (stream == TUPLE_NONE || breaking->n == ROW_LIMIT ||
            !column_grow(&breaking->list, breaking->n, &capacity, sizeof *breaking->list) ||
            !column_grow(&breaking->stream, breaking->n, &breaking->capacity, sizeof *breaking->stream))
            return false;
        breaking->list[breaking->n] = (struct contribution){node, block};
        breaking->stream[breaking->n++] = stream;
    }
    return true;
}

/* Notes a label's level; those that are too deep count for the last one that is not. */
static void enter_label(struct breaking *breaking, row_t node) {
    row_t parent = breaking->dlrm->forest.parent[node];
    unsigned level = parent == ROW_NONE ? 0 : breaking->level[parent] + 1u;
    breaking->level[node] = (uint16_t)(level < LEVELS_MAX ? level : LEVELS_MAX);
    breaking->label[node] = level < LEVELS_MAX ? node : breaking->label[parent];
}

static bool gather(struct breaking *breaking, struct tuples *streams) {
    const struct dlrm_forest *forest = &breaking->dlrm->forest;
    const row_t *group_block = breaking->dlrm->device_time.group_block;
    for (row_t node = 0; node < forest->n;) {
        row_t group = breaking->dlrm->node_group[node];
        if (!(forest->flags[node] & NODE_DEVICE)) {
            node = forest->end[node];
        } else if (group != ROW_NONE && group_block[group] < group_block[group + 1]) {
            if (!add_contributions(breaking, streams, node, group))
                return false;
            node = forest->end[node];
        } else {
            enter_label(breaking, node++);
        }
    }
    return true;
}

/* Copies them in the order of their streams, as those are first seen; breaking->stream is then in that order too. */
static enum sutra_status sort_by_stream(struct breaking *breaking, struct contribution *sorted,
                                        struct sutra_error *error) {
    const struct engine *engine = &breaking->dlrm->context->engine;
    row_t n = breaking->n, *order = column_new(n, sizeof *order);
    enum sutra_status status = order ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < n && !status; i++)
        order[i] = i;
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){breaking->stream, order, n}, error);
    for (row_t i = 0; i < n && !status; i++)
        sorted[i] = breaking->list[order[i]];
    free(order);
    return status;
}

/* ---- The nodes of one stream ---- */

static bool add_local(struct breaking *breaking, row_t node, row_t block, row_t parent) {
    uint64_t capacity = breaking->locals_capacity;
    if (breaking->n_locals == ROW_LIMIT ||
        !column_grow(&breaking->locals, breaking->n_locals, &capacity, sizeof *breaking->locals) ||
        !column_grow(&breaking->children, breaking->n_locals, &breaking->locals_capacity, sizeof *breaking->children))
        return false;
    breaking->locals[breaking->n_locals++] = (struct local){node, block, parent, 0, 0};
    return true;
}

/* Adds the labels above a node that the stream has not seen yet, the outermost first, and then the node. */
static bool add_with_labels(struct breaking *breaking, const struct contribution *contribution, row_t stream) {
    const row_t *parent = breaking->dlrm->forest.parent;
    row_t chain[LEVELS_MAX + 1], n = 0, above = parent[contribution->node], last = ROW_NONE;
    for (; above != ROW_NONE; above = parent[above]) {
        above = breaking->label[above];
        if (breaking->seen[above] == stream + 1)
            break;
        chain[n++] = above;
    }
    if (above != ROW_NONE)
        last = breaking->local_of[above];
    while (n-- > 0) {
        breaking->seen[chain[n]] = stream + 1;
        breaking->local_of[chain[n]] = breaking->n_locals;
        if (!add_local(breaking, chain[n], ROW_NONE, last))
            return false;
        last = breaking->n_locals - 1;
    }
    return add_local(breaking, contribution->node, contribution->block, last);
}

/* Children of each local, those of the top level behind all others; returns where those begin. */
static row_t list_children(struct breaking *breaking) {
    struct local *locals = breaking->locals;
    row_t n = breaking->n_locals, at = 0, top = 0;
    for (row_t i = 0; i < n; i++)
        if (locals[i].parent != ROW_NONE)
            locals[locals[i].parent].first_child++;
    for (row_t i = 0; i < n; i++) {
        row_t n_children = locals[i].first_child;
        locals[i].first_child = at;
        at += n_children;
    }
    top = at;
    for (row_t i = 0; i < n; i++)
        breaking->children[locals[i].parent == ROW_NONE ? at++ : locals[locals[i].parent].first_child++] = i;
    for (row_t i = n; i-- > 1;) /* back to where each began: where the one before it ended */
        locals[i].first_child = locals[i - 1].first_child;
    if (n)
        locals[0].first_child = 0;
    return top;
}

/* The end of a local's children. */
static row_t children_end(const struct breaking *breaking, row_t local, row_t top) {
    return local + 1 < breaking->n_locals ? breaking->locals[local + 1].first_child : top;
}

static void sum_locals(struct breaking *breaking, row_t top) {
    struct local *locals = breaking->locals;
    for (row_t i = breaking->n_locals; i-- > 0;) {
        if (locals[i].block != ROW_NONE)
            locals[i].us = breaking->dlrm->device_time.blocks[locals[i].block].us;
        row_t end = children_end(breaking, i, top);
        for (row_t child = locals[i].first_child; child < end; child++)
            locals[i].us += locals[breaking->children[child]].us;
    }
}

/* ---- Rows ---- */

static struct sutra_dlrm_row *add_row(struct breaking *breaking, uint32_t name, uint32_t shape, row_t source,
                                      uint64_t range) {
    struct sutra_dlrm *dlrm = breaking->dlrm;
    uint64_t capacity = breaking->rows_capacity, same = capacity;
    if (breaking->n_rows == ROW_LIMIT || !column_grow(&dlrm->rows, breaking->n_rows, &capacity, sizeof *dlrm->rows) ||
        !column_grow(&breaking->source, breaking->n_rows, &same, sizeof *breaking->source) ||
        !column_grow(&breaking->range, breaking->n_rows, &breaking->rows_capacity, sizeof *breaking->range))
        return NULL;
    breaking->source[breaking->n_rows] = source;
    breaking->range[breaking->n_rows] = range;
    struct sutra_dlrm_row *row = &dlrm->rows[breaking->n_rows++];
    *row = (struct sutra_dlrm_row){.name = name, .shape = shape};
    return row;
}

/* Rows for the children [first, end), those of one name and shape together. */
static bool add_group_rows(struct breaking *breaking, row_t first, row_t end) {
    struct sutra_dlrm *dlrm = breaking->dlrm;
    row_t range = breaking->n_rows;
    tuples_free(&breaking->keys);
    for (row_t i = first; i < end; i++) {
        const struct local *local = &breaking->locals[breaking->children[i]];
        uint32_t name = dlrm_name(dlrm, dlrm->events->name[dlrm->forest.event[local->node]]);
        uint32_t shape = dlrm->input_shape[local->node];
        uint32_t key = tuples_number(&breaking->keys, (struct tuple){{name, shape}});
        if (name == STRING_NONE || key == TUPLE_NONE)
            return false;
        bool is_new = range + key == breaking->n_rows;
        struct sutra_dlrm_row *row =
            is_new ? add_row(breaking, name, shape, breaking->children[i], range) : &dlrm->rows[range + key];
        if (!row)
            return false;
        if (is_new)
            row->first_us = local->us;
        row->count++;
        row->n_occurrences++;
        row->us += local->us;
    }
    return true;
}

static bool add_kernel_rows(struct breaking *breaking, row_t block) {
    const struct dlrm_device_time *time = &breaking->dlrm->device_time;
    row_t range = breaking->n_rows;
    for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++) {
        const struct dlrm_kernel *kernel = &time->kernels[i];
        struct sutra_dlrm_row *row = add_row(breaking, kernel->name, kernel->shape, ROW_NONE, range);
        if (!row)
            return false;
        row->count = kernel->count;
        row->us = kernel->us;
    }
    return true;
}

/* All rows of one stream, level by level. */
static bool add_rows(struct breaking *breaking, row_t top) {
    row_t next = breaking->n_rows;
    if (!add_group_rows(breaking, top, breaking->n_locals))
        return false;
    for (; next < breaking->n_rows; next++) {
        row_t source = breaking->source[next], first = breaking->n_rows;
        if (source == ROW_NONE)
            continue;
        const struct local *local = &breaking->locals[source];
        bool ok = local->block != ROW_NONE
                      ? add_kernel_rows(breaking, local->block)
                      : add_group_rows(breaking, local->first_child, children_end(breaking, source, top));
        if (!ok)
            return false;
        breaking->dlrm->rows[next].first_child = first;
        breaking->dlrm->rows[next].n_children = breaking->n_rows - first;
    }
    return true;
}

/* The rows of n contributions, which are those of one stream. */
static bool break_stream(struct breaking *breaking, const struct contribution *list, row_t n, row_t stream) {
    struct sutra_dlrm *dlrm = breaking->dlrm;
    struct sutra_dlrm_stream *row = &dlrm->streams[stream];
    row->name = dlrm->device_time.blocks[list->block].stream;
    row->first_row = breaking->n_rows;
    breaking->n_locals = 0;
    for (row_t i = 0; i < n; i++)
        if (!add_with_labels(breaking, &list[i], stream))
            return false;
    row_t top = list_children(breaking);
    sum_locals(breaking, top);
    if (!add_rows(breaking, top))
        return false;
    for (row_t i = top; i < breaking->n_locals; i++)
        row->active_us += breaking->locals[breaking->children[i]].us;
    for (row_t i = row->first_row; i < breaking->n_rows && breaking->range[i] == row->first_row; i++)
        row->n_rows++;
    row->idle_us = dlrm->report.host_us - row->active_us;
    dlrm->report.attributed_us += row->active_us;
    return true;
}

static bool break_streams(struct breaking *breaking, const struct contribution *sorted) {
    for (row_t begin = 0, end; begin < breaking->n; begin = end) {
        row_t stream = (row_t)breaking->stream[begin];
        for (end = begin; end < breaking->n && breaking->stream[end] == stream;)
            end++;
        if (!break_stream(breaking, sorted + begin, end - begin, stream))
            return false;
    }
    return true;
}

/* Rows below one parent by falling time. */
static enum sutra_status sort_by_time(struct breaking *breaking, struct sutra_error *error) {
    struct sutra_dlrm *dlrm = breaking->dlrm;
    const struct engine *engine = &dlrm->context->engine;
    row_t n = breaking->n_rows;
    struct number_column us = {0};
    uint64_t *keys = column_new(n, sizeof *keys);
    enum sutra_status status = SUTRA_OK;
    dlrm->by_time = column_new(n, sizeof *dlrm->by_time);
    if (!numbers_new(&us, n) || !keys || !dlrm->by_time) {
        status = error_memory(error);
        goto out;
    }
    for (row_t i = 0; i < n; i++)
        number_put(us, i, number_double(-dlrm->rows[i].us));
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){us, n, dlrm->by_time}, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = breaking->range[dlrm->by_time[i]];
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, dlrm->by_time, n}, error);
out:
    numbers_free(&us);
    free(keys);
    return status;
}

static bool breaking_new(struct breaking *breaking, row_t n) {
    breaking->label = column_new(n, sizeof *breaking->label);
    breaking->level = column_new(n, sizeof *breaking->level);
    breaking->local_of = column_new(n, sizeof *breaking->local_of);
    breaking->seen = column_new(n, sizeof *breaking->seen);
    return breaking->label && breaking->level && breaking->local_of && breaking->seen;
}

static void breaking_free(struct breaking *breaking) {
    free(breaking->list);
    free(breaking->stream);
    free(breaking->label);
    free(breaking->level);
    free(breaking->local_of);
    free(breaking->seen);
    free(breaking->locals);
    free(breaking->children);
    free(breaking->source);
    free(breaking->range);
    tuples_free(&breaking->keys);
}

enum sutra_status dlrm_breakdown_make(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct breaking breaking = {.dlrm = dlrm};
    struct contribution *sorted = NULL;
    struct tuples streams = {0};
    enum sutra_status status = SUTRA_OK;
    if (!breaking_new(&breaking, dlrm->forest.n) || !gather(&breaking, &streams) ||
        !(sorted = column_new(breaking.n, sizeof *sorted)))
        status = error_memory(error);
    if (!status)
        status = sort_by_stream(&breaking, sorted, error);
    dlrm->report.n_streams = streams.n;
    dlrm->streams = column_new(streams.n, sizeof *dlrm->streams);
    if (!status && (!dlrm->streams || !break_streams(&breaking, sorted)))
        status = error_memory(error);
    if (!status)
        status = sort_by_time(&breaking, error);
    dlrm->report.n_rows = breaking.n_rows;
    free(sorted);
    breaking_free(&breaking);
    tuples_free(&streams);
    return status;
}
