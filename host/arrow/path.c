/*
 * path.c - the edges of the graph of a critical path as columns. Hubs are spelt out: an edge for each that they stand
 * for, as in the path's JSON.
 */
#include "critical_path/path.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "base/error.h"
#include "columns/column.h"

struct path_edge {
    node_t from, to;
    uint32_t edge;
    bool critical;
};

struct path_source {
    const struct graph *graph;
    struct buffer edges; /* struct path_edge */
};

static const struct path_edge *edge_at(const struct path_source *source, uint64_t i) {
    return (const struct path_edge *)(const void *)source->edges.bytes + i;
}

/* Edges of all nodes; `seen` tells which node has led to each last, `next` which edge the path takes. */
static bool list_edges(struct path_source *source, const struct path_nodes *path, node_t *seen, uint32_t *next) {
    const struct graph *graph = source->graph;
    for (node_t i = 0; i + 1 < path->n; i++)
        next[path->node[i]] = path->edge[i] + 1;
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        struct edge_lists lists = edges_from(graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
            struct path_edge made = {node, graph->to[edge], edge, next[node] == edge + 1};
            if (seen[made.to] == node + 1)
                continue;
            seen[made.to] = node + 1;
            buffer_append(&source->edges, &made, sizeof made);
        }
    }
    return !source->edges.failed;
}

static enum sutra_status find_edges(struct path_source *source, const struct path_nodes *path,
                                    struct sutra_error *error) {
    size_t n = graph_nodes(source->graph);
    node_t *seen = column_new(n, sizeof *seen);
    uint32_t *next = column_new(n, sizeof *next);
    bool ok = seen && next && list_edges(source, path, seen, next);
    free(seen);
    free(next);
    return ok ? SUTRA_OK : error_memory(error);
}

enum path_end { PATH_FROM, PATH_TO };

static node_t node_of(const struct path_source *source, uint64_t i, uint32_t which) {
    return which == PATH_FROM ? edge_at(source, i)->from : edge_at(source, i)->to;
}

static enum sutra_status make_events(const void *of, const struct column_maker *maker, struct batch *batch,
                                     struct sutra_error *error) {
    const struct path_source *source = of;
    uint32_t *made = column_new(batch->n_rows, sizeof *made);
    (void)error;
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = node_event(source->graph, node_of(source, i, maker->which));
    batch_values(batch, maker->name, "I", NULL, (struct batch_values){.data = made});
    return SUTRA_OK;
}

static enum sutra_status make_ends(const void *of, const struct column_maker *maker, struct batch *batch,
                                   struct sutra_error *error) {
    const struct path_source *source = of;
    struct valid_rows made = valid_new(batch->n_rows);
    (void)error;
    for (uint64_t i = 0; i < batch->n_rows && !made.failed; i++)
        valid_put(&made, i, node_is_end(node_of(source, i, maker->which)));
    batch_bits(batch, maker->name, made, (struct valid_rows){0});
    return SUTRA_OK;
}

static enum sutra_status make_critical(const void *of, const struct column_maker *maker, struct batch *batch,
                                       struct sutra_error *error) {
    const struct path_source *source = of;
    struct valid_rows made = valid_new(batch->n_rows);
    (void)error;
    for (uint64_t i = 0; i < batch->n_rows && !made.failed; i++)
        valid_put(&made, i, edge_at(source, i)->critical);
    batch_bits(batch, maker->name, made, (struct valid_rows){0});
    return SUTRA_OK;
}

static enum sutra_status make_weights(const void *of, const struct column_maker *maker, struct batch *batch,
                                      struct sutra_error *error) {
    const struct path_source *source = of;
    double *made = column_new(batch->n_rows, sizeof *made);
    (void)error;
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = source->graph->weight[edge_at(source, i)->edge];
    batch_values(batch, maker->name, "g", "us", (struct batch_values){.data = made});
    return SUTRA_OK;
}

static enum sutra_status make_kinds(const void *of, const struct column_maker *maker, struct batch *batch,
                                    struct sutra_error *error) {
    static const char *const words[EDGE_N_TYPES] = {
        [EDGE_OPERATOR] = "operator",
        [EDGE_DEPENDENCY] = "dependency",
        [EDGE_LAUNCH_DELAY] = "launch_delay",
        [EDGE_KERNEL_DELAY] = "kernel_delay",
        [EDGE_SYNC] = "sync",
    };
    const struct path_source *source = of;
    uint8_t *numbers = column_new(batch->n_rows, sizeof *numbers);
    for (uint64_t i = 0; i < batch->n_rows && numbers; i++)
        numbers[i] = source->graph->type[edge_at(source, i)->edge];
    if (numbers)
        batch_words(batch, maker->name, numbers, words, EDGE_N_TYPES);
    free(numbers);
    return numbers ? SUTRA_OK : error_memory(error);
}

static const struct column_maker makers[] = {
    {"from_event", make_events, PATH_FROM, false},
    {"from_end", make_ends, PATH_FROM, false},
    {"to_event", make_events, PATH_TO, false},
    {"to_end", make_ends, PATH_TO, false},
    {"weight", make_weights, 0, false},
    {"kind", make_kinds, 0, false},
    {"critical", make_critical, 0, false},
};

enum sutra_status sutra_critical_path_arrow(struct sutra_context *context, const struct sutra_critical_path *path,
                                            const struct sutra_columns_options *options,
                                            struct ArrowArrayStream *stream, struct sutra_error *error) {
    struct sutra_columns_options taken;
    struct path_source source = {.graph = &path->search.graph};
    struct batch batch = {0};
    enum sutra_status status = columns_options_take(options, false, &taken, error);
    stage_begin(context, "columns", source.graph->n_edges);
    if (!status)
        status = find_edges(&source, &path->search.path, error);
    batch.n_rows = source.edges.length / sizeof(struct path_edge);
    if (!status)
        status = makers_run(NULL, makers, sizeof makers / sizeof *makers, &source, &taken, &batch, error);
    if (!status)
        status = batch_stream(&batch, stream, error);
    stage_end(context);
    batch_free(&batch);
    buffer_free(&source.edges);
    return status;
}
