/*
 * results.c - results of analyses as columns. Numbers of tables are not copied; their columns hold a reference to the
 * table's memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "analyze/table.h"
#include "arrow/batch.h"
#include "arrow/makers.h"
#include "base/error.h"
#include "columns/column.h"
#include "critical_path/path.h"
#include "sutra/merge.h"
#include "sutra/simulate.h"

/* ---- Edges of the graph of a critical path; hubs are expanded to the edges that they represent, as in JSON ---- */

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

/* Lists the edges of all nodes; `last_from` is the last node with an edge to each node, `next` the edge of the path. */
static bool list_edges(struct path_source *source, const struct path_nodes *path, node_t *last_from, uint32_t *next) {
    const struct graph *graph = source->graph;
    for (node_t i = 0; i + 1 < path->n; i++)
        next[path->node[i]] = path->edge[i] + 1;
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        struct edge_lists lists = edges_from(graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
            struct path_edge made = {node, graph->to[edge], edge, next[node] == edge + 1};
            if (last_from[made.to] == node + 1)
                continue;
            last_from[made.to] = node + 1;
            buffer_append(&source->edges, &made, sizeof made);
        }
    }
    return !source->edges.failed;
}

static bool find_edges(struct path_source *source, const struct path_nodes *path) {
    size_t n = graph_nodes(source->graph);
    node_t *last_from = column_new(n, sizeof *last_from);
    uint32_t *next = column_new(n, sizeof *next);
    bool ok = last_from && next && list_edges(source, path, last_from, next);
    free(last_from);
    free(next);
    return ok;
}

enum path_end { PATH_FROM, PATH_TO };

static node_t node_of(const struct path_source *source, uint64_t i, uint32_t which) {
    return which == PATH_FROM ? edge_at(source, i)->from : edge_at(source, i)->to;
}

static void make_events(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct path_source *source = of;
    uint32_t *made = column_new(batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = node_event(source->graph, node_of(source, i, maker->which));
    batch_values(batch, maker->name, "I", NULL, (struct batch_values){.data = made});
}

static void make_ends(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct path_source *source = of;
    struct valid_rows made = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !made.failed; i++)
        valid_append(&made, i, node_is_end(node_of(source, i, maker->which)));
    batch_bits(batch, maker->name, made, (struct valid_rows){0});
}

static void make_critical(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct path_source *source = of;
    struct valid_rows made = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !made.failed; i++)
        valid_append(&made, i, edge_at(source, i)->critical);
    batch_bits(batch, maker->name, made, (struct valid_rows){0});
}

static void make_weights(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct path_source *source = of;
    double *made = column_new(batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = source->graph->weight[edge_at(source, i)->edge];
    batch_values(batch, maker->name, "g", "us", (struct batch_values){.data = made});
}

static void make_kinds(const void *of, const struct column_maker *maker, struct batch *batch) {
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
    batch_words(batch, maker->name, numbers, words, EDGE_N_TYPES);
    free(numbers);
}

static const struct column_maker path_makers[] = {
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
    static const struct column_set set = COLUMN_SET(path_makers, NULL);
    struct path_source source = {.graph = &path->search.graph};
    stage_begin(context, "columns", source.graph->n_edges);
    struct batch batch = {.failed = !find_edges(&source, &path->search.path)};
    batch.n_rows = source.edges.length / sizeof(struct path_edge);
    enum sutra_status status = columns_stream(NULL, &set, &source, options, &batch, stream, error);
    stage_end(context);
    buffer_free(&source.edges);
    return status;
}

/* ---- Results of a simulation: each list is copied item by item to an array of structs ---- */

static const char *const node_kinds[] = {"cpu", "computation", "communication"};

/* A list: its number of items, how to get an item, its columns, and the size of an item. */
struct simulated_list {
    uint64_t (*count)(const struct sutra_simulation *simulation);
    void (*get)(const struct sutra_simulation *simulation, uint64_t i, void *item);
    void (*add)(const struct member_array *array);
    size_t size;
};

static uint64_t count_ranks(const struct sutra_simulation *simulation) {
    return sutra_simulation_ranks(simulation);
}

static uint64_t count_deadlocked(const struct sutra_simulation *simulation) {
    struct sutra_deadlocked_node node = {.size = sizeof node};
    uint32_t n = 0;
    while (sutra_simulation_deadlocked(simulation, n, &node))
        n++;
    return n;
}

/* Gets an item, which begins with its size, which is set. */
#define GET_ITEM(item_name, index)                                                                                     \
    static void get_##item_name(const struct sutra_simulation *simulation, uint64_t i, void *item) {                   \
        sutra_simulation_##item_name(simulation, (index)i, item);                                                      \
    }
GET_ITEM(rank, uint32_t)
GET_ITEM(wait, uint64_t)
GET_ITEM(collective, uint64_t)
GET_ITEM(link, uint64_t)
GET_ITEM(step, uint64_t)
GET_ITEM(name, uint64_t)
GET_ITEM(deadlocked, uint32_t)

static void add_rank(const struct member_array *array) {
    MEMBER_COUNT(array, sutra_simulated_rank, rank, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, n_nodes, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, n_ran, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, time_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, cpu_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, compute_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, comm_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, wait_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, n_matched_collectives, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, n_absent, NULL);
    MEMBER_REAL(array, sutra_simulated_rank, cpu_slowness, NULL);
    MEMBER_REAL(array, sutra_simulated_rank, gpu_slowness, NULL);
}

static void add_wait(const struct member_array *array) {
    MEMBER_COUNT(array, sutra_simulated_wait, rank, NULL);
    MEMBER_COUNT(array, sutra_simulated_wait, awaited, NULL);
    MEMBER_COUNT(array, sutra_simulated_wait, n, NULL);
    MEMBER_COUNT(array, sutra_simulated_wait, ns, "ns");
}

static void add_collective(const struct member_array *array) {
    MEMBER_TEXT(array, sutra_simulated_collective, name);
    MEMBER_TEXT(array, sutra_simulated_collective, kind);
    MEMBER_COUNT(array, sutra_simulated_collective, n_ranks, NULL);
    MEMBER_COUNT(array, sutra_simulated_collective, n_told, NULL);
    MEMBER_COUNT(array, sutra_simulated_collective, bytes, "bytes");
    MEMBER_COUNT(array, sutra_simulated_collective, last, NULL);
    MEMBER_COUNT(array, sutra_simulated_collective, start_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_collective, run_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_collective, end_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_collective, wait_ns, "ns");
}

static void add_link(const struct member_array *array) {
    MEMBER_TEXT(array, sutra_network_link, kind);
    MEMBER_COUNT(array, sutra_network_link, n_ranks, NULL);
    MEMBER_COUNT(array, sutra_network_link, n_transfers, NULL);
    MEMBER_REAL(array, sutra_network_link, alpha_us, "us");
    MEMBER_REAL(array, sutra_network_link, bytes_per_s, "bytes/s");
    MEMBER_REAL(array, sutra_network_link, residual_us, "us");
    MEMBER_COUNT(array, sutra_network_link, is_fitted, NULL);
}

static void add_step(const struct member_array *array) {
    MEMBER_COUNT(array, sutra_simulated_step, rank, NULL);
    MEMBER_COUNT(array, sutra_simulated_step, id, NULL);
    MEMBER_TEXT(array, sutra_simulated_step, name);
    member_word(array, "work", offsetof(struct sutra_simulated_step, work), node_kinds, 3);
    MEMBER_COUNT(array, sutra_simulated_step, start_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_step, end_ns, "ns");
}

static void add_name(const struct member_array *array) {
    MEMBER_TEXT(array, sutra_simulated_name, name);
    member_word(array, "work", offsetof(struct sutra_simulated_name, work), node_kinds, 3);
    MEMBER_COUNT(array, sutra_simulated_name, n_nodes, NULL);
    MEMBER_COUNT(array, sutra_simulated_name, run_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_name, path_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_name, wait_ns, "ns");
}

static void add_deadlocked(const struct member_array *array) {
    static const char *const whys[] = {"depends", "meets", "behind", "held"};
    MEMBER_COUNT(array, sutra_deadlocked_node, rank, NULL);
    MEMBER_COUNT(array, sutra_deadlocked_node, id, NULL);
    MEMBER_TEXT(array, sutra_deadlocked_node, name);
    member_word(array, "why", offsetof(struct sutra_deadlocked_node, why), whys, 4);
    MEMBER_COUNT(array, sutra_deadlocked_node, awaited_rank, NULL);
    MEMBER_COUNT(array, sutra_deadlocked_node, awaited_id, NULL);
    MEMBER_TEXT(array, sutra_deadlocked_node, awaited_name);
}

static const struct simulated_list lists[SUTRA_SIMULATED_N_COLUMNS] = {
    [SUTRA_SIMULATED_RANKS] = {count_ranks, get_rank, add_rank, sizeof(struct sutra_simulated_rank)},
    [SUTRA_SIMULATED_WAITS] = {sutra_simulation_n_waits, get_wait, add_wait, sizeof(struct sutra_simulated_wait)},
    [SUTRA_SIMULATED_COLLECTIVES] = {sutra_simulation_n_collectives, get_collective, add_collective,
                                     sizeof(struct sutra_simulated_collective)},
    [SUTRA_SIMULATED_LINKS] = {sutra_simulation_n_links, get_link, add_link, sizeof(struct sutra_network_link)},
    [SUTRA_SIMULATED_PATH] = {sutra_simulation_n_steps, get_step, add_step, sizeof(struct sutra_simulated_step)},
    [SUTRA_SIMULATED_NAMES] = {sutra_simulation_n_names, get_name, add_name, sizeof(struct sutra_simulated_name)},
    [SUTRA_SIMULATED_DEADLOCKED] = {count_deadlocked, get_deadlocked, add_deadlocked,
                                    sizeof(struct sutra_deadlocked_node)},
};

enum sutra_status sutra_simulation_arrow(const struct sutra_simulation *simulation, enum sutra_simulated_columns which,
                                         struct ArrowArrayStream *stream, struct sutra_error *error) {
    const struct simulated_list *list = &lists[which];
    struct batch batch = {.n_rows = list->count(simulation)};
    char *items = column_new(batch.n_rows, list->size);
    batch.failed = !items;
    for (uint64_t i = 0; i < batch.n_rows && items; i++) {
        *(size_t *)(void *)(items + i * list->size) = list->size;
        list->get(simulation, i, items + i * list->size);
    }
    if (items)
        list->add(&(struct member_array){&batch, items, list->size});
    free(items);
    return batch_stream(&batch, stream, error);
}

/* ---- Results of the DLRM notebook's analysis ---- */

/* An array of structs, in which texts are numbers. */
struct dlrm_array {
    const struct sutra_dlrm *dlrm;
    struct member_array of;
};

static void add_text(const struct dlrm_array *array, const char *name, size_t offset) {
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(array->of.batch->n_rows);
    for (uint64_t i = 0; i < array->of.batch->n_rows && !valid.failed; i++) {
        uint32_t number = *(const uint32_t *)member_at(&array->of, i, offset);
        const char *text = number == SUTRA_DLRM_NONE ? "" : sutra_dlrm_text(array->dlrm, number);
        valid_append(&valid, i, number != SUTRA_DLRM_NONE);
        text_list_add(&texts, text, strlen(text));
    }
    batch_texts(array->of.batch, name, &texts, valid);
}

#define TEXT_MEMBER(type, member)  add_text(&array, #member, offsetof(struct type, member))
#define TIME_MEMBER(type, member)  MEMBER_REAL(&array.of, type, member, "us")
#define COUNT_MEMBER(type, member) MEMBER_COUNT(&array.of, type, member, NULL)

enum sutra_status sutra_dlrm_arrow(const struct sutra_dlrm *dlrm, enum sutra_dlrm_columns which,
                                   struct ArrowArrayStream *stream, struct sutra_error *error) {
    struct sutra_dlrm_report report = {.size = sizeof report};
    struct batch batch = {0};
    struct dlrm_array array = {.dlrm = dlrm, .of = {.batch = &batch}};
    sutra_dlrm_report(dlrm, &report);
    if (which == SUTRA_DLRM_STREAMS) {
        batch.n_rows = report.n_streams;
        array.of.first = report.streams;
        array.of.stride = sizeof *report.streams;
        add_text(&array, "stream", offsetof(struct sutra_dlrm_stream, name));
        TIME_MEMBER(sutra_dlrm_stream, active_us);
        TIME_MEMBER(sutra_dlrm_stream, idle_us);
    } else if (which == SUTRA_DLRM_ROWS) {
        batch.n_rows = report.n_rows;
        array.of.first = report.rows;
        array.of.stride = sizeof *report.rows;
        /* Rows of the top level have the stream. */
        struct text_list texts = {0};
        struct valid_rows valid = valid_new(report.n_rows);
        uint32_t *of = column_new(report.n_rows, sizeof *of); /* + 1 */
        for (uint64_t i = 0; i < report.n_streams && of; i++)
            for (uint32_t j = 0; j < report.streams[i].n_rows; j++)
                of[report.streams[i].first_row + j] = report.streams[i].name + 1;
        for (uint64_t i = 0; i < report.n_rows && of && !valid.failed; i++) {
            const char *text = of[i] ? sutra_dlrm_text(array.dlrm, of[i] - 1) : "";
            valid_append(&valid, i, of[i] != 0);
            text_list_add(&texts, text, strlen(text));
        }
        array.of.batch->failed |= !of;
        free(of);
        batch_texts(array.of.batch, "stream", &texts, valid);
        TEXT_MEMBER(sutra_dlrm_row, name);
        TEXT_MEMBER(sutra_dlrm_row, shape);
        COUNT_MEMBER(sutra_dlrm_row, count);
        COUNT_MEMBER(sutra_dlrm_row, n_occurrences);
        TIME_MEMBER(sutra_dlrm_row, us);
        TIME_MEMBER(sutra_dlrm_row, first_us);
        COUNT_MEMBER(sutra_dlrm_row, first_child);
        COUNT_MEMBER(sutra_dlrm_row, n_children);
    } else {
        bool by_shape = which == SUTRA_DLRM_OVERHEADS_BY_SHAPE;
        batch.n_rows = by_shape ? report.n_overheads_by_shape : report.n_overheads;
        array.of.first = by_shape ? report.overheads_by_shape : report.overheads;
        array.of.stride = sizeof *report.overheads;
        static const char *const words[SUTRA_N_OVERHEADS] = {"T1", "T2", "T3", "T4", "T5"};
        member_word(&array.of, "kind", offsetof(struct sutra_dlrm_overhead, kind), words, SUTRA_N_OVERHEADS);
        TEXT_MEMBER(sutra_dlrm_overhead, name);
        if (by_shape)
            TEXT_MEMBER(sutra_dlrm_overhead, shapes);
        COUNT_MEMBER(sutra_dlrm_overhead, n);
        TIME_MEMBER(sutra_dlrm_overhead, mean_us);
        TIME_MEMBER(sutra_dlrm_overhead, std_us);
    }
    return batch_stream(&batch, stream, error);
}

/* ---- Ranks of a merged timeline, and sites of a repair ---- */

enum sutra_status sutra_merged_arrow(const struct sutra_merged *merged, struct ArrowArrayStream *stream,
                                     struct sutra_error *error) {
    struct sutra_merge_report report = {.size = sizeof report};
    sutra_merged_report(merged, &report);
    struct batch batch = {.n_rows = report.n_ranks};
    const struct member_array array = {&batch, report.ranks, sizeof *report.ranks};
    MEMBER_COUNT(&array, sutra_merged_rank, rank, NULL);
    MEMBER_TEXT(&array, sutra_merged_rank, path);
    MEMBER_COUNT(&array, sutra_merged_rank, offset_ns, "ns");
    MEMBER_COUNT(&array, sutra_merged_rank, residual_ns, "ns");
    MEMBER_COUNT(&array, sutra_merged_rank, n_aligned, NULL);
    MEMBER_COUNT(&array, sutra_merged_rank, n_events, NULL);
    MEMBER_COUNT(&array, sutra_merged_rank, n_kept, NULL);
    return batch_stream(&batch, stream, error);
}

enum sutra_status sutra_repair_arrow(const struct sutra_repair *repair, struct ArrowArrayStream *stream,
                                     struct sutra_error *error) {
    struct sutra_repair_report report = {.size = sizeof report};
    const char *names[SUTRA_N_REPAIR_KINDS];
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        names[kind] = sutra_repair_kind_name((enum sutra_repair_kind)kind, false);
    sutra_repair_report(repair, &report);
    struct batch batch = {.n_rows = report.n_places};
    const struct member_array array = {&batch, report.places, sizeof *report.places};
    MEMBER_COUNT(&array, sutra_repair_site, offset, "bytes");
    member_word(&array, "kind", offsetof(struct sutra_repair_site, kind), names, SUTRA_N_REPAIR_KINDS);
    return batch_stream(&batch, stream, error);
}

/* ---- Tables ---- */

static void leave_memory(void *memory) {
    table_memory_release(memory);
}

enum sutra_status sutra_table_arrow(const struct sutra_table *table, struct ArrowArrayStream *stream,
                                    struct sutra_error *error) {
    struct table_memory *memory = table_memory_of(table);
    TRY_ALLOC(memory, error);
    struct batch batch = {.n_rows = table->n_rows};
    struct column_owner owner = {memory, &memory->holders, leave_memory};
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (table->columns[i].spec.kind == SUTRA_COLUMN_TEXT) {
            struct text_list texts = {0};
            for (uint64_t row = 0; row < table->n_rows; row++) {
                size_t length;
                const char *text = table_get_text(table, i, row, &length);
                text_list_add(&texts, text, length);
            }
            batch_texts(&batch, table->columns[i].spec.name, &texts, (struct valid_rows){0});
        } else {
            const struct column *column = &table->columns[i];
            bool real = column->spec.kind == SUTRA_COLUMN_REAL;
            static const uint64_t nothing;
            struct batch_values values =
                values_held(table->n_rows ? (const void *)column->values.bytes : &nothing, &owner);
            if (real)
                values.valid = valid_new(table->n_rows);
            for (uint64_t row = 0; row < table->n_rows && real && !values.valid.failed; row++)
                valid_append(&values.valid, row, !isnan(table_get_real(table, i, row)));
            batch_values(&batch, column->spec.name, real ? "g" : "l", NULL, values);
        }
    }
    return batch_stream(&batch, stream, error);
}
