/*
 * assembly.c - what the output holds: new ids, parents, and GPU nodes.
 *
 * Nodes are walked in the file's order up to the first that has a category. Each takes the smallest free id from its
 * own on, and then its GPU nodes take theirs, so that later nodes move up:
 *
 *     ids before    3          4     5
 *     ids after     3 [4 5]    6     7        two GPU nodes below 3
 *
 * GPU nodes go behind all nodes. The first node of an id gives the GPU nodes and is what children refer to. O(n log n).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "legacy/free_ids.h"
#include "legacy/legacy.h"
#include "legacy/node_places.h"

struct assembly {
    struct sutra_legacy *legacy;
    struct sutra_context *context;
    struct sutra_error *error;
    struct free_ids ids;
    int64_t *unit_id;    /* per unit: the new id of its first node */
    uint8_t *unit_known; /* per unit: that node was walked */
    row_t *unit_match;   /* per unit: as `match` */
    row_t *group;        /* per host operator: the group of GPU operators below it */
    row_t *unit_group;
};

static const struct source *source_of(const struct assembly *assembly) {
    return &assembly->legacy->host_trace->document.source;
}

static enum sutra_status node_error(const struct assembly *assembly, row_t node, const char *what) {
    return source_error(source_of(assembly), assembly->error, assembly->legacy->host_trace->nodes.text[node],
                        "node %u: %s", node, what);
}

static enum sutra_status take_id(struct assembly *assembly, row_t node, int64_t wanted, int64_t *given) {
    switch (free_ids_take(&assembly->ids, wanted, given)) {
    case FREE_ID_GIVEN:
        return SUTRA_OK;
    case FREE_ID_NONE:
        return node_error(assembly, node, "field 'id': there is no free id above it");
    case FREE_ID_MEMORY:
        break;
    }
    return error_memory(assembly->error);
}

/* Fields of the node that its GPU nodes get. */
static enum sutra_status check_inputs(const struct assembly *assembly, row_t node) {
    static const enum placed_field flat[] = {PLACED_INPUTS,  PLACED_INPUT_SHAPES,  PLACED_INPUT_TYPES,
                                             PLACED_OUTPUTS, PLACED_OUTPUT_SHAPES, PLACED_OUTPUT_TYPES},
                                   nested[] = {PLACED_INPUTS, PLACED_OUTPUTS};
    bool is_flat = assembly->legacy->host_trace->flat;
    const enum placed_field *fields = is_flat ? flat : nested;
    size_t n = is_flat ? sizeof flat / sizeof *flat : sizeof nested / sizeof *nested;
    struct node_places places;
    node_places_read(assembly->legacy->host_trace, node, &places);
    for (size_t i = 0; i < n; i++)
        if (!places.field[fields[i]].at)
            return source_error(source_of(assembly), assembly->error, assembly->legacy->host_trace->nodes.text[node],
                                "node %u: field '%s' is missing, and the GPU operators that it launches take it over",
                                node, placed_field_key(fields[i]));
    return SUTRA_OK;
}

static enum sutra_status add_gpu_nodes(struct assembly *assembly, row_t node, row_t group) {
    struct sutra_legacy *legacy = assembly->legacy;
    const struct gpu_groups *groups = &legacy->groups;
    enum sutra_status status = check_inputs(assembly, node);
    for (row_t place = groups->start[group]; place < groups->start[group + 1] && !status; place++) {
        if (legacy->n_gpu == legacy->gpu_capacity) {
            uint64_t capacity = (uint64_t)legacy->gpu_capacity * 2 + 256;
            if (capacity + legacy->host_trace->nodes.n > ROW_LIMIT)
                return error_set(assembly->error, SUTRA_DATA, "the output would have more than %u nodes", ROW_LIMIT);
            void *grown = reallocarray(legacy->gpu, capacity, sizeof *legacy->gpu);
            if (!grown)
                return error_memory(assembly->error);
            legacy->gpu = grown;
            legacy->gpu_capacity = (row_t)capacity;
        }
        struct gpu_node *gpu = &legacy->gpu[legacy->n_gpu++];
        *gpu = (struct gpu_node){.place = place, .node = node};
        status = take_id(assembly, node, legacy->host_trace->nodes.id[node], &gpu->id);
    }
    return status;
}

static enum sutra_status number_node(struct assembly *assembly, row_t node) {
    struct sutra_legacy *legacy = assembly->legacy;
    int64_t id = legacy->host_trace->nodes.id[node];
    row_t unit = key_index_find(&legacy->host.units.ids, id);
    enum sutra_status status = take_id(assembly, node, id, &legacy->id[node]);
    legacy->change[node] |= NODE_NEW_ID;
    legacy->node_match[node] = assembly->unit_match[unit];
    if (status || assembly->unit_known[unit])
        return status;
    assembly->unit_known[unit] = 1;
    assembly->unit_id[unit] = legacy->id[node];
    row_t group = assembly->unit_group[unit];
    return group == ROW_NONE ? SUTRA_OK : add_gpu_nodes(assembly, node, group);
}

static enum sutra_status number_nodes(struct assembly *assembly) {
    struct sutra_legacy *legacy = assembly->legacy;
    enum sutra_status status = SUTRA_OK;
    for (row_t node = 0; node < legacy->host_trace->nodes.n && !legacy->host.has_category[node] && !status; node++)
        status = number_node(assembly, node);
    return status;
}

/* A parent that has no new id. */
static enum sutra_status unknown_parent(const struct assembly *assembly, row_t node) {
    char text[200];
    value_key parent = assembly->legacy->host_trace->nodes.parent[node];
    if (assembly->context->options.lenient)
        return SUTRA_OK;
    if (parent == KEY_ABSENT)
        return node_error(assembly, node, "field 'parent' is missing (--lenient leaves it out)");
    char id[24] = "";
    if (key_is_integer(parent))
        snprintf(id, sizeof id, " %" PRId64, parent);
    snprintf(text, sizeof text,
             "its parent%s is no node before the first that has a category (--lenient leaves it as it is)", id);
    return node_error(assembly, node, text);
}

static enum sutra_status number_parents(struct assembly *assembly) {
    struct sutra_legacy *legacy = assembly->legacy;
    const struct host_nodes *nodes = &legacy->host_trace->nodes;
    enum sutra_status status = SUTRA_OK;
    for (row_t node = 0; node < nodes->n && !status; node++) {
        if (legacy->host.has_category[node] || (nodes->parent[node] == KEY_ABSENT && !legacy->host_trace->flat))
            continue;
        row_t unit = key_index_find(&legacy->host.units.ids, nodes->parent[node]);
        if (unit == ROW_NONE || !assembly->unit_known[unit]) {
            status = unknown_parent(assembly, node);
            continue;
        }
        legacy->parent[node] = assembly->unit_id[unit];
        legacy->change[node] |= NODE_NEW_PARENT;
    }
    return status;
}

/* The group of GPU operators of each matched operator. */
static enum sutra_status find_groups(struct assembly *assembly) {
    struct sutra_legacy *legacy = assembly->legacy;
    row_t n = legacy->host.n;
    for (row_t op = 0; op < n; op++)
        assembly->group[op] = ROW_NONE;
    if (legacy->groups.n_groups == 0)
        return SUTRA_OK;
    row_t *event = malloc(((size_t)n + 1) * sizeof *event);
    if (!event)
        return error_memory(assembly->error);
    for (row_t op = 0; op < n; op++)
        event[op] = legacy->match[op] == ROW_NONE ? ROW_NONE : legacy->device.event[legacy->match[op]];
    enum sutra_status status = gpu_groups_find(&legacy->groups, assembly->context, legacy->device_trace, event, n,
                                               assembly->group, assembly->error);
    free(event);
    return status;
}

/* GPU operators whose group no host operator has. */
static enum sutra_status count_unmatched_gpu(const struct assembly *assembly) {
    struct sutra_legacy *legacy = assembly->legacy;
    const struct gpu_groups *groups = &legacy->groups;
    uint8_t *taken = calloc((size_t)groups->n_groups + 1, 1);
    if (!taken)
        return error_memory(assembly->error);
    for (row_t i = 0; i < legacy->n_gpu; i++) {
        row_t unit = key_index_find(&legacy->host.units.ids, legacy->host_trace->nodes.id[legacy->gpu[i].node]);
        taken[assembly->unit_group[unit]] = 1;
    }
    for (row_t group = 0; group < groups->n_groups; group++)
        if (!taken[group])
            legacy->report.n_gpu_unmatched += groups->start[group + 1] - groups->start[group];
    free(taken);
    return SUTRA_OK;
}

static bool allocate(struct assembly *assembly) {
    struct sutra_legacy *legacy = assembly->legacy;
    size_t n_nodes = (size_t)legacy->host_trace->nodes.n + 1, n_units = (size_t)legacy->host.units.n_units + 1;
    legacy->change = calloc(n_nodes, 1);
    legacy->id = calloc(n_nodes, sizeof *legacy->id);
    legacy->parent = calloc(n_nodes, sizeof *legacy->parent);
    legacy->node_match = malloc(n_nodes * sizeof *legacy->node_match);
    assembly->unit_id = malloc(n_units * sizeof *assembly->unit_id);
    assembly->unit_known = calloc(n_units, 1);
    assembly->unit_match = malloc(n_units * sizeof *assembly->unit_match);
    assembly->unit_group = malloc(n_units * sizeof *assembly->unit_group);
    assembly->group = malloc(((size_t)legacy->host.n + 1) * sizeof *assembly->group);
    if (!legacy->change || !legacy->id || !legacy->parent || !legacy->node_match || !assembly->unit_id ||
        !assembly->unit_known || !assembly->unit_match || !assembly->unit_group || !assembly->group)
        return false;
    memset(legacy->node_match, 0xff, n_nodes * sizeof *legacy->node_match);
    memset(assembly->unit_match, 0xff, n_units * sizeof *assembly->unit_match);
    memset(assembly->unit_group, 0xff, n_units * sizeof *assembly->unit_group);
    return true;
}

enum sutra_status assemble(struct sutra_legacy *legacy, struct sutra_context *context, struct sutra_error *error) {
    struct assembly assembly = {.legacy = legacy, .context = context, .error = error};
    enum sutra_status status = allocate(&assembly) ? find_groups(&assembly) : error_memory(error);
    for (row_t op = 0; op < legacy->host.n && !status; op++) {
        assembly.unit_match[legacy->host.unit[op]] = legacy->match[op];
        assembly.unit_group[legacy->host.unit[op]] = assembly.group[op];
    }
    if (!status)
        status = number_nodes(&assembly);
    if (!status)
        status = number_parents(&assembly);
    if (!status)
        status = count_unmatched_gpu(&assembly);
    legacy->report.n_gpu_nodes = legacy->n_gpu;
    legacy->report.n_nodes = (uint64_t)legacy->host_trace->nodes.n + legacy->n_gpu;
    free_ids_free(&assembly.ids);
    free(assembly.unit_id);
    free(assembly.unit_known);
    free(assembly.unit_match);
    free(assembly.unit_group);
    free(assembly.group);
    return status;
}
