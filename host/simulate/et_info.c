/*
 * et_info.c - what an .et file holds: counts, spans, longest chains, communication by type and group.
 *
 * Cost: that of the graph (et_graph.h), and O(k log k) for k communication nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "context/context.h"
#include "simulate/et.h"
#include "simulate/et_graph.h"
#include "simulate/et_schema.h"
#include "simulate/et_values.h"

/* ---- Communication ---- */

/* A node's, to be sorted: sends first, then receives, then collectives by type. */
struct info_call {
    int64_t type;
    uint32_t group; /* number of its name */
    uint64_t bytes;
};

#define SENDS    INT64_MIN
#define RECEIVES (INT64_MIN + 1)

static int compare_calls(const void *left, const void *right) {
    const struct info_call *a = left, *b = right;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

static struct info_call call_of(const struct et_nodes *nodes, row_t row, struct strings *groups) {
    struct et_text name = et_group_name(nodes, row);
    int64_t type = -1, size = 0;
    if (nodes->type[row] == ET_COMM_COLL)
        et_integer(nodes, row, ET_NAME_COMM_TYPE, &type);
    else
        type = nodes->type[row] == ET_COMM_SEND ? SENDS : RECEIVES;
    et_integer(nodes, row, ET_NAME_COMM_SIZE, &size);
    return (struct info_call){type, strings_intern(groups, name.bytes, name.length), size > 0 ? (uint64_t)size : 0};
}

static const char *call_name(int64_t type) {
    const char *name = et_collective_name(type);
    return type == SENDS ? "SEND" : type == RECEIVES ? "RECEIVE" : name ? name : "UNKNOWN";
}

/* A text with a NUL behind it; NULL: out of memory. */
static char *copy_text(struct arena *arena, const char *bytes, size_t length) {
    char *copy = arena_take(arena, length + 1, 1);
    if (!copy)
        return NULL;
    if (length > 0)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

static struct sutra_et_traffic begin_row(const struct info_call *call, const struct strings *groups,
                                         struct arena *arena) {
    return (struct sutra_et_traffic){
        .type = call_name(call->type),
        .group = copy_text(arena, strings_text(groups, call->group), strings_length(groups, call->group)),
        .bytes_least = call->bytes};
}

static void add_call(struct sutra_et_traffic *row, const struct info_call *call) {
    row->count++;
    if (__builtin_add_overflow(row->bytes, call->bytes, &row->bytes))
        row->bytes = UINT64_MAX;
    row->bytes_least = call->bytes < row->bytes_least ? call->bytes : row->bytes_least;
    row->bytes_most = call->bytes > row->bytes_most ? call->bytes : row->bytes_most;
}

/* Sums calls up, which are sorted; returns the number of rows. */
static uint64_t sum_calls(const struct info_call *calls, uint64_t n, const struct strings *groups, struct arena *arena,
                          struct sutra_et_traffic *rows) {
    uint64_t n_rows = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || compare_calls(&calls[i], &calls[i - 1]) != 0)
            rows[n_rows++] = begin_row(&calls[i], groups, arena);
        add_call(&rows[n_rows - 1], &calls[i]);
    }
    return n_rows;
}

static enum sutra_status find_traffic(const struct et_nodes *nodes, struct arena *arena, struct sutra_et_info *info,
                                      struct sutra_error *error) {
    struct strings groups;
    uint64_t n = 0,
             most = info->n_of_type[ET_COMM_SEND] + info->n_of_type[ET_COMM_RECV] + info->n_of_type[ET_COMM_COLL];
    struct sutra_et_traffic *rows = arena_take(arena, most, sizeof *rows);
    struct info_call *calls = arena_take(arena, most, sizeof *calls);
    if (arena->failed || !strings_init(&groups))
        return error_memory(error);
    bool whole = true;
    for (row_t row = 0; row < nodes->n; row++)
        if (et_is_communication(nodes->type[row])) {
            calls[n] = call_of(nodes, row, &groups);
            whole &= calls[n++].group != STRING_NONE;
        }
    if (whole) {
        qsort(calls, n, sizeof *calls, compare_calls);
        info->traffic = rows;
        info->n_traffic = sum_calls(calls, n, &groups, arena, rows);
    }
    strings_free(&groups);
    return whole && !arena->failed ? SUTRA_OK : error_memory(error);
}

/* ---- Counts ---- */

static void count_types(const struct et_nodes *nodes, struct sutra_et_info *info) {
    for (row_t row = 0; row < nodes->n; row++) {
        int32_t type = nodes->type[row];
        info->n_of_type[type >= 0 && type < SUTRA_ET_OTHER ? type : SUTRA_ET_OTHER]++;
        info->n_gpu += et_is_gpu(nodes, row);
    }
    info->n_nodes = nodes->n;
    info->n_cpu = nodes->n - info->n_gpu;
    info->n_ctrl = nodes->ctrl.first[nodes->n];
    info->n_data = nodes->data.first[nodes->n];
}

static void find_durations(const struct et_nodes *nodes, struct sutra_et_info *info) {
    info->us_least = nodes->n ? UINT64_MAX : 0;
    for (row_t row = 0; row < nodes->n; row++) {
        uint64_t us = nodes->duration_us[row];
        info->us_least = us < info->us_least ? us : info->us_least;
        info->us_most = us > info->us_most ? us : info->us_most;
        if (__builtin_add_overflow(info->us_total, us, &info->us_total))
            info->us_total = UINT64_MAX;
    }
}

/* The schema that the converter noted, or "". */
static const char *schema_of(const struct et_nodes *nodes, struct arena *arena) {
    const struct et_attributes *table = &nodes->metadata;
    for (uint64_t i = 0; i < table->n; i++)
        if (table->name[i] == ET_NAME_SCHEMA && table->kind[i] == ET_STRING)
            return copy_text(arena, table->value[i].bytes, table->length[i]);
    return "";
}

enum sutra_status sutra_et_info(struct sutra_context *context, struct sutra_et *et, struct sutra_et_info *info,
                                struct sutra_error *error) {
    const struct et_nodes *nodes = &et->file.nodes;
    struct sutra_et_info ours = {.n_bytes = et->file.source.size};
    struct et_graph graph = {0};
    struct et_lengths lengths = {0};
    struct arena arena = {0};
    arena_free(&et->info);
    stage_begin(context, "info", nodes->n);
    count_types(nodes, &ours);
    find_durations(nodes, &ours);
    ours.schema = schema_of(nodes, &et->info);
    enum sutra_status status = find_traffic(nodes, &et->info, &ours, error);
    if (!status)
        status = et_graph_make(nodes, ET_ALL, &arena, &graph, error);
    if (!status)
        status = et_lengths_find(nodes, &graph, &arena, &lengths, error);
    if (!status) {
        ours.n_absent = graph.n_absent;
        ours.n_cyclic = graph.n - graph.n_order;
        ours.critical_us = lengths.critical_us;
        ours.n_levels = lengths.n_levels;
        ours.width = lengths.width;
        report_give(info, &ours, sizeof ours);
    }
    stage_end(context);
    arena_free(&arena);
    return status;
}
