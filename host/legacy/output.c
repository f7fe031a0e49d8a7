/*
 * output.c - writing what was assembled: the nodes of the host trace in their order, then the GPU nodes, in pieces that
 * threads make in parallel.
 *
 *     head of the host trace's file | node node ... | GPU node ... | tail       a sink puts the pieces in order
 *
 *     node       its text, with new id and parent, duration and start of its match
 *     GPU node   the text of its event, with inputs and outputs of the node above it
 */
#include <stdatomic.h>

#include "base/error.h"
#include "context/context.h"
#include "legacy/legacy.h"
#include "legacy/node_places.h"
#include "legacy/node_rewrite.h"
#include "write/document_frame.h"
#include "write/sink.h"

/* Entries (nodes and GPU nodes) of a piece. */
#define PIECE_ENTRIES 64

/* What most of them take. */
#define ENTRY_BYTES 512

struct legacy_output {
    const struct sutra_legacy *legacy;
    struct sink *sink;
    struct buffer head, tail;
    atomic_bool failed; /* out of memory */
};

static struct member_change integer_change(const char *key, int64_t value) {
    return (struct member_change){.key = key, .number = number_integer(value)};
}

static const char *parent_key(const struct sutra_host_trace *trace) {
    return trace->flat ? "parent" : "ctrl_deps";
}

static void write_host_node(struct node_rewriter *rewriter, const struct sutra_legacy *legacy, row_t node,
                            struct buffer *out) {
    const struct sutra_host_trace *trace = legacy->sides.host.trace;
    const struct device_side *device = &legacy->sides.device;
    const struct legacy_nodes *nodes = &legacy->nodes;
    struct member_change changes[MEMBER_CHANGES_MAX];
    size_t n = 0;
    if (nodes->change[node] & NODE_NEW_ID)
        changes[n++] = integer_change("id", nodes->id[node]);
    if (nodes->change[node] & NODE_NEW_PARENT)
        changes[n++] = integer_change(parent_key(trace), nodes->parent[node]);
    row_t entry = nodes->match[node];
    if (entry != ROW_NONE) {
        changes[n++] = (struct member_change){.key = "dur", .number = number_at(device->dur, entry)};
        changes[n++] = (struct member_change){.key = "ts", .number = number_at(device->ts, entry)};
    }
    node_rewrite(rewriter, &trace->document, trace->nodes.text[node], changes, n, out);
}

/* A GPU node is its event, with inputs and outputs of the node above it. */
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
    node_places_read(host, gpu->node, &places);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (places.field[copied[i]].at)
            changes[n++] = (struct member_change){
                .key = placed_field_key(copied[i]), .document = &host->document, .at = places.field[copied[i]].at};
    row_t event = legacy->groups.event[gpu->member];
    node_rewrite(rewriter, &device->document, device->events.text[event], changes, n, out);
}

static uint64_t n_entries(const struct sutra_legacy *legacy) {
    return (uint64_t)legacy->sides.host.trace->nodes.n + legacy->nodes.n_gpu;
}

static void write_piece(void *arg, size_t number) {
    struct legacy_output *output = arg;
    const struct sutra_legacy *legacy = output->legacy;
    row_t n_nodes = legacy->sides.host.trace->nodes.n;
    uint64_t begin = (uint64_t)number * PIECE_ENTRIES, end = begin + PIECE_ENTRIES;
    struct node_rewriter rewriter = {0};
    struct buffer out = {0};
    buffer_reserve(&out, (size_t)PIECE_ENTRIES * ENTRY_BYTES); /* seldom moved */
    for (uint64_t i = begin; i < end && i < n_entries(legacy) && !sink_failed(output->sink); i++) {
        buffer_append(&out, ",", i > 0);
        emit_newline(&out, 2);
        if (i < n_nodes)
            write_host_node(&rewriter, legacy, (row_t)i, &out);
        else
            write_gpu_node(&rewriter, legacy, &legacy->nodes.gpu[i - n_nodes], &out);
    }
    if (rewriter.failed || out.failed)
        atomic_store(&output->failed, true);
    sink_write(output->sink, number + 1, out.bytes, out.length);
    buffer_free(&out);
    node_rewriter_free(&rewriter);
}

static enum sutra_status write_all(struct legacy_output *output, struct sutra_context *context, const char *path,
                                   uint64_t *n_bytes, struct sutra_error *error) {
    uint64_t n = n_entries(output->legacy);
    if (!document_frame(&output->legacy->sides.host.trace->document, n == 0, &output->head, &output->tail))
        return error_memory(error);
    enum sutra_status status = sink_open(&output->sink, context, path, error);
    if (status)
        return status;
    size_t n_pieces = (size_t)((n + PIECE_ENTRIES - 1) / PIECE_ENTRIES);
    sink_write(output->sink, 0, output->head.bytes, output->head.length);
    pool_run(context->pool, n_pieces, write_piece, output);
    sink_write(output->sink, n_pieces + 1, output->tail.bytes, output->tail.length);
    bool whole = !atomic_load(&output->failed);
    status = sink_close(output->sink, whole, n_bytes, error);
    return status || whole ? status : error_memory(error);
}

enum sutra_status sutra_legacy_write(struct sutra_context *context, const struct sutra_legacy *legacy, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    struct legacy_output output = {.legacy = legacy};
    stage_begin(context, "write", n_entries(legacy));
    enum sutra_status status = write_all(&output, context, path, n_bytes, error);
    stage_end(context);
    buffer_free(&output.head);
    buffer_free(&output.tail);
    return status;
}
