/*
 * output.c - assembles and writes the output: the nodes of the host trace in file order, then the GPU nodes.
 *
 *     head of the host trace's file | node node ... | GPU node ... | tail       a sink orders the pieces
 *
 *     node       its text, with new id and parent, and the duration and start of its match
 *     GPU node   the text of its event, with inputs and outputs of its parent
 *
 * Threads write pieces of nodes in parallel.
 *
 * Ids: the nodes up to the first node with a category get ids in file order. Each gets the smallest free id that is at
 * least its own, and then its GPU nodes get theirs, so that later nodes move up:
 *
 *     ids before    3          4     5
 *     ids after     3 [4 5]    6     7        two GPU nodes below 3
 *
 * The first node of an id is the parent of the GPU nodes and of the children. O(n log n).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "align/op_fields.h"
#include "base/error.h"
#include "columns/column.h"
#include "context/context.h"
#include "legacy/legacy.h"
#include "read/document.h"
#include "write/json_copy.h"
#include "write/sink.h"

/* ---- Writing ---- */

/* Nodes and GPU nodes per piece. */
#define PIECE_ENTRIES 64

struct legacy_output {
    const struct sutra_legacy *legacy;
    struct buffer head, tail; /* the document's text before and after the nodes: the first and the last piece */
    size_t n_pieces;          /* of nodes */
};

static struct member_change integer_change(const char *key, int64_t value) {
    return (struct member_change){.key = key, .number = number_integer(value)};
}

static const char *parent_key(const struct sutra_host_trace *trace) {
    return trace->flat ? "parent" : "ctrl_deps";
}

/* A GPU node is its event, with the inputs and outputs of its parent. */
static void write_gpu_node(struct node_rewriter *rewriter, const struct sutra_legacy *legacy,
                           const struct gpu_node *gpu, struct buffer *out) {
    static const enum placed_field copied[] = {PLACED_INPUTS,  PLACED_INPUT_SHAPES,  PLACED_INPUT_TYPES,
                                               PLACED_OUTPUTS, PLACED_OUTPUT_SHAPES, PLACED_OUTPUT_TYPES};
    const struct sutra_host_trace *host = legacy->sides.host.trace;
    const struct sutra_device_trace *device = legacy->sides.device.trace;
    struct member_change changes[MEMBER_CHANGES_MAX] = {
        {.key = "ts", .number = number_at(legacy->groups.ts, gpu->member)},
        integer_change(parent_key(host), legacy->nodes.id[gpu->node]),
        integer_change("id", gpu->id),
    };
    size_t n = 3;
    struct node_places places;
    node_places_read(host, gpu->node, NULL, &places);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (places.field[copied[i]].at)
            changes[n++] = (struct member_change){
                .key = placed_key(copied[i]), .document = &host->document, .at = places.field[copied[i]].at};
    row_t event = legacy->groups.event[gpu->member];
    node_rewrite(rewriter, &device->document, device->events.text[event], changes, n, out);
}

static uint64_t n_entries(const struct sutra_legacy *legacy) {
    return (uint64_t)legacy->sides.host.trace->nodes.n + legacy->nodes.n_gpu;
}

static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    const struct legacy_output *output = arg;
    const struct sutra_legacy *legacy = output->legacy;
    const struct sutra_host_trace *trace = legacy->sides.host.trace;
    const struct device_side *device = &legacy->sides.device;
    const struct legacy_nodes *nodes = &legacy->nodes;
    row_t n_nodes = trace->nodes.n;
    if (number == 0 || number > output->n_pieces) {
        const struct buffer *text = number == 0 ? &output->head : &output->tail;
        buffer_append(out, text->bytes, text->length);
        return;
    }
    uint64_t begin = (uint64_t)(number - 1) * PIECE_ENTRIES, end = begin + PIECE_ENTRIES;
    struct node_rewriter rewriter = {0};
    for (uint64_t i = begin; i < end && i < n_entries(legacy); i++) {
        buffer_append(out, ",", i > 0);
        emit_newline(out, 2);
        if (i >= n_nodes) {
            write_gpu_node(&rewriter, legacy, &legacy->nodes.gpu[i - n_nodes], out);
            continue;
        }
        struct member_change changes[MEMBER_CHANGES_MAX];
        row_t node = (row_t)i, entry = nodes->match[node];
        size_t n = 0;
        if (nodes->change[node] & NODE_NEW_ID)
            changes[n++] = integer_change("id", nodes->id[node]);
        if (nodes->change[node] & NODE_NEW_PARENT)
            changes[n++] = integer_change(parent_key(trace), nodes->parent[node]);
        if (entry != ROW_NONE) {
            changes[n++] = (struct member_change){.key = "dur", .number = number_at(device->dur, entry)};
            changes[n++] = (struct member_change){.key = "ts", .number = number_at(device->ts, entry)};
        }
        node_rewrite(&rewriter, &trace->document, trace->nodes.text[node], changes, n, out);
    }
    out->failed |= rewriter.failed;
    node_rewriter_free(&rewriter);
}

enum sutra_status sutra_legacy_write(struct sutra_context *context, const struct sutra_legacy *legacy, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    struct legacy_output output = {.legacy = legacy};
    uint64_t n = n_entries(legacy);
    output.n_pieces = (size_t)((n + PIECE_ENTRIES - 1) / PIECE_ENTRIES);
    stage_begin(context, "write", n);
    bool framed = document_frame(&legacy->sides.host.trace->document, n == 0, &output.head, &output.tail);
    enum sutra_status status =
        framed ? pieces_write(context, path, output.n_pieces + 2, fill_piece, &output, n_bytes, error)
               : error_memory(error);
    stage_end(context);
    buffer_free(&output.head);
    buffer_free(&output.tail);
    return status;
}

/* ---- Free ids: a hash table with path compression ---- */

static bool is_used_id(const void *table, uint32_t number, const void *id) {
    return ((const struct free_ids *)table)->used[number].id == *(const int64_t *)id;
}

static uint64_t hash_of_used_id(const void *table, uint32_t number, unsigned turn) {
    return hash_pair((uint64_t)((const struct free_ids *)table)->used[number].id, 0, turn);
}

static uint64_t *find_id(const struct free_ids *ids, int64_t id, uint64_t *hash) {
    *hash = hash_pair((uint64_t)id, 0, ids->slots.turn);
    return hash_find(&ids->slots, *hash, is_used_id, ids, &id);
}

enum free_ids_result free_ids_take(struct free_ids *ids, int64_t wanted, int64_t *given) {
    if (!ids->slots.slots && !hash_slots_init(&ids->slots, 2048))
        return FREE_ID_MEMORY;
    int64_t id = wanted;
    uint64_t hash, *slot = find_id(ids, id, &hash);
    while (*slot) {
        id = ids->used[hash_number(*slot)].next;
        slot = find_id(ids, id, &hash);
    }
    if (id == INT64_MAX)
        return FREE_ID_NONE;
    if (!column_grow(&ids->used, ids->n, &ids->capacity, sizeof *ids->used))
        return FREE_ID_MEMORY;
    ids->used[ids->n] = (struct used_id){id, id + 1};
    if (!hash_add(&ids->slots, slot, hash, ids->n, hash_of_used_id, ids))
        return FREE_ID_MEMORY;
    ids->n++;
    for (int64_t at = wanted; at != id;) {
        struct used_id *passed = &ids->used[hash_number(*find_id(ids, at, &hash))];
        at = passed->next;
        passed->next = id + 1;
    }
    *given = id;
    return FREE_ID_GIVEN;
}

void free_ids_free(struct free_ids *ids) {
    free(ids->used);
    free(ids->slots.slots);
    *ids = (struct free_ids){0};
}

/* ---- Assembly ---- */

struct assembly {
    struct legacy_nodes *made;
    struct sutra_context *context;
    const struct host_side *host;
    const struct gpu_groups *groups;
    struct sutra_error *error;
    struct free_ids ids;
    int64_t *unit_id;    /* per unit: the new id of its first node */
    uint8_t *unit_known; /* per unit: its first node has a new id */
    row_t *unit_match;   /* per unit: as `match` */
    row_t *unit_group;   /* per unit: the group of GPU operators of its operator */
};

static const struct host_nodes *nodes_of(const struct assembly *assembly) {
    return &assembly->host->trace->nodes;
}

static enum sutra_status node_error(const struct assembly *assembly, row_t node, const char *message) {
    return source_error(&assembly->host->trace->document.source, assembly->error, nodes_of(assembly)->text[node],
                        "node %u: %s", node, message);
}

static enum sutra_status assign_id(struct assembly *assembly, row_t node, int64_t wanted, int64_t *given) {
    enum free_ids_result result = free_ids_take(&assembly->ids, wanted, given);
    if (result == FREE_ID_NONE)
        return node_error(assembly, node, "field 'id': no higher id is free");
    return result == FREE_ID_MEMORY ? error_memory(assembly->error) : SUTRA_OK;
}

/* Adds the GPU nodes of a group below a node, which must have the fields that GPU nodes copy. */
static enum sutra_status add_gpu_nodes(struct assembly *assembly, row_t node, row_t group) {
    static const enum placed_field flat[] = {PLACED_INPUTS,  PLACED_INPUT_SHAPES,  PLACED_INPUT_TYPES,
                                             PLACED_OUTPUTS, PLACED_OUTPUT_SHAPES, PLACED_OUTPUT_TYPES},
                                   nested[] = {PLACED_INPUTS, PLACED_OUTPUTS};
    const struct sutra_host_trace *trace = assembly->host->trace;
    const enum placed_field *needed = trace->flat ? flat : nested;
    size_t n = trace->flat ? sizeof flat / sizeof *flat : sizeof nested / sizeof *nested;
    struct node_places places;
    node_places_read(trace, node, NULL, &places);
    for (size_t i = 0; i < n; i++)
        if (!places.field[needed[i]].at)
            return source_error(&trace->document.source, assembly->error, trace->nodes.text[node],
                                "node %u: field '%s' is missing: the GPU operators that the node launches need it",
                                node, placed_key(needed[i]));
    struct legacy_nodes *made = assembly->made;
    const struct gpu_groups *groups = assembly->groups;
    for (row_t member = groups->start[group]; member < groups->start[group + 1]; member++) {
        struct gpu_node *gpu = &made->gpu[made->n_gpu++];
        *gpu = (struct gpu_node){.member = member, .node = node};
        TRY(assign_id(assembly, node, trace->nodes.id[node], &gpu->id));
    }
    return SUTRA_OK;
}

/* Assigns the ids of the nodes before the first node with a category, and of their GPU nodes. */
static enum sutra_status number_nodes(struct assembly *assembly) {
    struct legacy_nodes *made = assembly->made;
    const struct host_nodes *nodes = nodes_of(assembly);
    for (row_t node = 0; node < nodes->n && !assembly->host->has_category[node]; node++) {
        row_t unit = key_index_find(&assembly->host->units.ids, nodes->id[node]), group = assembly->unit_group[unit];
        TRY(assign_id(assembly, node, nodes->id[node], &made->id[node]));
        made->change[node] |= NODE_NEW_ID;
        made->match[node] = assembly->unit_match[unit];
        if (assembly->unit_known[unit])
            continue;
        assembly->unit_known[unit] = 1;
        assembly->unit_id[unit] = made->id[node];
        if (group != ROW_NONE)
            TRY(add_gpu_nodes(assembly, node, group));
    }
    return SUTRA_OK;
}

static enum sutra_status number_parents(struct assembly *assembly) {
    struct legacy_nodes *made = assembly->made;
    const struct host_nodes *nodes = nodes_of(assembly);
    bool flat = assembly->host->trace->flat;
    for (row_t node = 0; node < nodes->n; node++) {
        if (assembly->host->has_category[node] || (nodes->parent[node] == KEY_ABSENT && !flat))
            continue;
        row_t unit = key_index_find(&assembly->host->units.ids, nodes->parent[node]);
        if (unit != ROW_NONE && assembly->unit_known[unit]) {
            made->parent[node] = assembly->unit_id[unit];
            made->change[node] |= NODE_NEW_PARENT;
            continue;
        }
        if (assembly->context->options.lenient)
            continue;

        /* The parent has no new id. */
        char text[200], id[24] = "";
        value_key parent = nodes->parent[node];
        if (parent == KEY_ABSENT)
            return node_error(assembly, node, "field 'parent' is missing (--lenient omits it)");
        if (key_is_integer(parent))
            snprintf(id, sizeof id, " %" PRId64, parent);
        snprintf(text, sizeof text,
                 "its parent%s is not a node before the first node with a category (--lenient keeps it)", id);
        return node_error(assembly, node, text);
    }
    return SUTRA_OK;
}

/* Sets the match and the group of GPU operators of each unit. */
static enum sutra_status set_matches(struct assembly *assembly, const struct device_side *device, const row_t *match,
                                     struct arena *scratch) {
    row_t n = assembly->host->n, *group = rows_none(scratch, n), *event = arena_alloc(scratch, n, sizeof *event);
    TRY(arena_status(scratch, assembly->error));
    if (assembly->groups->n_groups) {
        for (row_t op = 0; op < n; op++)
            event[op] = match[op] == ROW_NONE ? ROW_NONE : device->event[match[op]];
        TRY(gpu_groups_find(assembly->groups, assembly->context, device->trace, event, n, group, assembly->error));
    }
    for (row_t op = 0; op < n; op++) {
        assembly->unit_match[assembly->host->unit[op]] = match[op];
        assembly->unit_group[assembly->host->unit[op]] = group[op];
    }
    return SUTRA_OK;
}

/* GPU nodes per GPU operator, and number of nodes, above which the size of the output is reported. */
#define MANY_COPIES 10
#define MANY_NODES  10000

/* Allocates the GPU nodes. Host operators that match device operators with the same Ev Idx have one node each per GPU
 * operator, so the output can grow with the square of the input: warn, or fail beyond `max_bytes`. */
static enum sutra_status allocate_gpu_nodes(struct assembly *assembly, uint64_t max_bytes, struct arena *arena) {
    static const char text[] =
        "the output %s %llu nodes, about %.1f MB or more, for %llu GPU activities: many host operators match device "
        "operators with the same Ev Idx";
    const struct host_nodes *nodes = nodes_of(assembly);
    const struct host_ops *units = &assembly->host->units;
    const row_t *start = assembly->groups->start;
    size_t file_size = assembly->host->trace->document.source.size;
    uint64_t n = 0, bytes = file_size;
    for (row_t unit = 0; unit < units->n_units; unit++) {
        row_t group = assembly->unit_group[unit], n_members = group == ROW_NONE ? 0 : start[group + 1] - start[group];
        if (n_members == 0)
            continue;

        /* A GPU node has about the size of the node whose inputs and outputs it copies. */
        row_t node = units->node[units->unit_start[unit]];
        size_t end = node + 1 < nodes->n ? nodes->text[node + 1] : file_size;
        n += n_members;
        bytes += n_members * (end - nodes->text[node]);
    }
    unsigned long long n_nodes = n + nodes->n, n_ops = assembly->groups->n;
    bool grows = n > MANY_COPIES * n_ops && n_nodes > MANY_NODES;
    if (max_bytes && bytes >= max_bytes && !grows)
        return error_set(assembly->error, SUTRA_DATA, "the output would have about %.1f MB", (double)bytes / 1e6);
    if (max_bytes && bytes >= max_bytes)
        return error_set(assembly->error, SUTRA_DATA, text, "would have", n_nodes, (double)bytes / 1e6, n_ops);
    if (grows)
        context_warn(assembly->context, text, "has", n_nodes, (double)bytes / 1e6, n_ops);
    if (n_nodes > ROW_LIMIT)
        return error_set(assembly->error, SUTRA_DATA, "the output would have more than %u nodes", ROW_LIMIT);
    assembly->made->gpu = arena_alloc(arena, n, sizeof *assembly->made->gpu);
    return arena_status(arena, assembly->error);
}

static enum sutra_status number_output(struct assembly *assembly, const struct device_side *device, const row_t *match,
                                       uint64_t max_bytes, struct arena *scratch, struct arena *arena) {
    TRY(set_matches(assembly, device, match, scratch));
    TRY(allocate_gpu_nodes(assembly, max_bytes, arena));
    TRY(number_nodes(assembly));
    return number_parents(assembly);
}

enum sutra_status assemble(struct legacy_nodes *nodes, struct sutra_context *context, const struct legacy_sides *sides,
                           const struct gpu_groups *groups, const row_t *match, uint64_t most_bytes,
                           struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error) {
    row_t n_nodes = sides->host.trace->nodes.n, n_units = sides->host.units.n_units;
    struct arena scratch = {0};
    struct assembly assembly = {.made = nodes,
                                .context = context,
                                .host = &sides->host,
                                .groups = groups,
                                .error = error,
                                .unit_id = arena_alloc(&scratch, n_units, sizeof *assembly.unit_id),
                                .unit_known = arena_zeros(&scratch, n_units, 1),
                                .unit_match = rows_none(&scratch, n_units),
                                .unit_group = rows_none(&scratch, n_units)};
    *nodes = (struct legacy_nodes){.change = arena_zeros(arena, n_nodes, 1),
                                   .id = arena_alloc(arena, n_nodes, sizeof(int64_t)),
                                   .parent = arena_alloc(arena, n_nodes, sizeof(int64_t)),
                                   .match = rows_none(arena, n_nodes)};
    uint8_t *used = arena_zeros(&scratch, groups->n_groups, 1);
    enum sutra_status status = scratch.failed || arena->failed
                                   ? error_memory(error)
                                   : number_output(&assembly, &sides->device, match, most_bytes, &scratch, arena);

    /* Count the GPU operators whose group has no host operator. */
    for (row_t i = 0; i < nodes->n_gpu && !status; i++) {
        value_key id = nodes_of(&assembly)->id[nodes->gpu[i].node];
        used[assembly.unit_group[key_index_find(&sides->host.units.ids, id)]] = 1;
    }
    for (row_t group = 0; group < groups->n_groups && !status; group++)
        report->n_gpu_unmatched += used[group] ? 0 : groups->start[group + 1] - groups->start[group];
    report->n_gpu_nodes = nodes->n_gpu;
    report->n_nodes = (uint64_t)n_nodes + nodes->n_gpu;
    free_ids_free(&assembly.ids);
    arena_free(&scratch);
    return status;
}
