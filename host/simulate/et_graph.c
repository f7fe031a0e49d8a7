/*
 * et_graph.c - from ids to rows, and an order that dependencies allow.
 */
#include "simulate/et_graph.h"

#include <string.h>

#include "base/error.h"
#include "columns/pair_table.h"
#include "columns/row_heap.h"
#include "columns/row_list.h"

/* From ids to rows: an array where ids lie close together, as they mostly do, else a table. */
struct id_rows {
    uint64_t least, range; /* ids of the array: least .. least + range - 1; range 0: there is none */
    row_t *dense;
    struct pair_table table;
};

static bool rows_begin(struct id_rows *rows, const struct et_nodes *nodes, struct arena *arena) {
    uint64_t least = UINT64_MAX, most = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        least = nodes->id[row] < least ? nodes->id[row] : least;
        most = nodes->id[row] > most ? nodes->id[row] : most;
    }
    *rows = (struct id_rows){.least = least};
    if (nodes->n == 0 || (most - least) / 4 >= nodes->n)
        return pair_table_init(&rows->table);
    rows->range = most - least + 1;
    rows->dense = arena_take(arena, rows->range, sizeof *rows->dense);
    if (rows->dense)
        memset(rows->dense, 0xff, rows->range * sizeof *rows->dense); /* ROW_NONE */
    return rows->dense;
}

static void rows_end(struct id_rows *rows) {
    if (!rows->dense)
        pair_table_free(&rows->table);
}

static row_t row_of(const struct id_rows *rows, uint64_t id) {
    if (!rows->dense)
        return pair_table_find(&rows->table, id, 0);
    return id - rows->least < rows->range ? rows->dense[id - rows->least] : ROW_NONE;
}

/* Where the row of an id is kept; valid until the next call. NULL: out of memory. */
static row_t *row_place(struct id_rows *rows, uint64_t id) {
    if (rows->dense)
        return &rows->dense[id - rows->least];
    struct pair_entry *entry = pair_table_take(&rows->table, id, 0);
    return entry ? &entry->number : NULL;
}

/* The row of each id: the last one that has it. */
static bool find_rows(const struct et_nodes *nodes, struct id_rows *rows, struct et_graph *graph) {
    for (row_t row = 0; row < nodes->n; row++) {
        row_t *place = row_place(rows, nodes->id[row]);
        if (!place)
            return false;
        if (*place != ROW_NONE)
            graph->again[graph->n_again++] = row;
        *place = row;
    }
    return true;
}

static void add_up(struct et_graph *graph, const struct id_rows *rows, const struct et_ids *list, row_t row,
                   enum et_edges kind, uint64_t *n) {
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++) {
        graph->up.rows[*n] = row_of(rows, list->ids[i]);
        graph->n_absent += graph->up.rows[*n] == ROW_NONE;
        graph->kind[(*n)++] = (uint8_t)kind;
    }
}

static void fill_up(const struct et_nodes *nodes, const struct id_rows *rows, enum et_edges kinds,
                    struct et_graph *graph) {
    uint64_t n = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        graph->up.first[row] = n;
        if (kinds & ET_CTRL)
            add_up(graph, rows, &nodes->ctrl, row, ET_CTRL, &n);
        if (kinds & ET_DATA)
            add_up(graph, rows, &nodes->data, row, ET_DATA, &n);
    }
    graph->up.first[nodes->n] = n;
}

static void find_order(struct et_graph *graph, uint64_t *n_waits, row_t *free_rows) {
    struct row_heap idle = {free_rows, 0};
    for (row_t row = 0; row < graph->n; row++) {
        n_waits[row] = 0;
        for (uint64_t i = graph->up.first[row]; i < graph->up.first[row + 1]; i++)
            n_waits[row] += graph->up.rows[i] != ROW_NONE;
        if (n_waits[row] == 0)
            row_heap_push(&idle, row, row_is_lower, NULL);
    }
    while (idle.n > 0) {
        row_t row = row_heap_pop(&idle, row_is_lower, NULL);
        graph->order[graph->n_order++] = row;
        for (uint64_t i = graph->down.first[row]; i < graph->down.first[row + 1]; i++)
            if (--n_waits[graph->down.rows[i]] == 0)
                row_heap_push(&idle, graph->down.rows[i], row_is_lower, NULL);
    }
}

static void take_lists(struct arena *arena, struct et_lists *lists, row_t n, uint64_t n_edges) {
    lists->first = arena_zeros(arena, (size_t)n + 1, sizeof *lists->first);
    lists->rows = arena_take(arena, n_edges, sizeof *lists->rows);
}

enum sutra_status et_graph_make(const struct et_nodes *nodes, enum et_edges kinds, struct arena *arena,
                                struct et_graph *graph, struct sutra_error *error) {
    row_t n = nodes->n;
    uint64_t n_edges = (kinds & ET_CTRL ? nodes->ctrl.first[n] : 0) + (kinds & ET_DATA ? nodes->data.first[n] : 0);
    struct id_rows rows;
    *graph = (struct et_graph){.n = n};
    take_lists(arena, &graph->up, n, n_edges);
    take_lists(arena, &graph->down, n, n_edges);
    graph->kind = arena_take(arena, n_edges, sizeof *graph->kind);
    graph->order = arena_take(arena, n, sizeof *graph->order);
    graph->again = arena_take(arena, n, sizeof *graph->again);
    struct arena_mark mark = arena_mark(arena);
    uint64_t *n_waits = arena_take(arena, n, sizeof *n_waits);
    row_t *free_rows = arena_take(arena, n, sizeof *free_rows);
    if (arena->failed || !rows_begin(&rows, nodes, arena))
        return error_memory(error);
    bool found = find_rows(nodes, &rows, graph);
    if (found) {
        fill_up(nodes, &rows, kinds, graph);
        rows_turn(n, graph->up.first, graph->up.rows, graph->down.first, graph->down.rows);
        find_order(graph, n_waits, free_rows);
    }
    rows_end(&rows);
    arena_release(arena, mark);
    return found ? SUTRA_OK : error_memory(error);
}

enum sutra_status et_lengths_find(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                                  struct et_lengths *lengths, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *end_us = arena_zeros(arena, graph->n, sizeof *end_us);
    row_t *level = arena_zeros(arena, graph->n, sizeof *level);
    row_t *on_level = arena_zeros(arena, graph->n, sizeof *on_level);
    if (arena->failed)
        return error_memory(error);
    *lengths = (struct et_lengths){.critical_last = ROW_NONE};
    for (row_t i = 0; i < graph->n_order; i++) {
        row_t row = graph->order[i];
        if (__builtin_add_overflow(end_us[row], nodes->duration_us[row], &end_us[row]))
            end_us[row] = UINT64_MAX;
        if (lengths->critical_last == ROW_NONE || end_us[row] > lengths->critical_us) {
            lengths->critical_us = end_us[row];
            lengths->critical_last = row;
        }
        row_t depth = level[row];
        if (++on_level[depth] > lengths->width)
            lengths->width = on_level[depth];
        if (depth >= lengths->n_levels)
            lengths->n_levels = depth + 1;
        for (uint64_t k = graph->down.first[row]; k < graph->down.first[row + 1]; k++) {
            row_t below = graph->down.rows[k];
            end_us[below] = end_us[below] > end_us[row] ? end_us[below] : end_us[row];
            level[below] = level[below] > depth ? level[below] : depth + 1;
        }
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}
