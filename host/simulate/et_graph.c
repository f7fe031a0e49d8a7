/*
 * et_graph.c - implements et_graph.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "read/document.h"
#include "simulate/et_graph.h"
#include "text/numbers.h"

/* ---- Process groups from JSON ---- */

/* The text that is read, and the output. */
struct groups_reading {
    struct et_groups *groups;
    struct arena *arena;
    struct json_walker walker;
    bool failed; /* out of memory */
};

static bool integer_at(const struct json_walker *walker, int64_t *value) {
    const char *text = walker->text + walker->at;
    size_t length;
    return number_scan(text, &length) == NUMBER_FORM_INTEGER && integer_parse(text, length, value);
}

static void add_group(struct groups_reading *reading, struct et_group group) {
    struct et_groups *groups = reading->groups;
    if (!column_grow(&groups->list, groups->n, &groups->capacity, sizeof *groups->list))
        reading->failed = true;
    else
        groups->list[groups->n++] = group;
}

/* Reads the ranks at the walker into the arena. */
static void read_ranks(struct groups_reading *reading, struct et_group *group) {
    struct json_walker *walker = &reading->walker;
    int64_t *ranks = NULL;
    uint64_t capacity = 0;
    group->n = 0;
    for (bool more = walk_array(walker); more && !reading->failed; more = walk_element_end(walker)) {
        int64_t rank;
        if (!integer_at(walker, &rank)) {
            walk_fail(walker, "a rank number");
            break;
        }
        walk_value(walker);
        if (column_grow(&ranks, group->n, &capacity, sizeof *ranks))
            ranks[group->n++] = rank;
        else
            reading->failed = true;
    }
    int64_t *kept = arena_alloc(reading->arena, group->n, sizeof *kept);
    if (kept && group->n > 0) {
        qsort(ranks, group->n, sizeof *ranks, compare_int64s);
        memcpy(kept, ranks, group->n * sizeof *kept);
    }
    reading->failed |= !kept;
    group->ranks = kept;
    free(ranks);
}

static bool name_number(const struct json_walker *walker, struct json_span place, int64_t *number) {
    struct et_text name = {walker->text + place.at + 1, (uint32_t)(place.end - place.at - 1)};
    return et_group_number(name, number);
}

/* {"3": [0, 1], ...} */
static void read_file_groups(struct groups_reading *reading) {
    struct json_walker *walker = &reading->walker;
    for (bool more = walk_object(walker); more && !reading->failed; more = walk_member_end(walker)) {
        struct et_group group = {0};
        struct json_span key = walk_key(walker);
        if (walker->expected || !name_number(walker, key, &group.number)) {
            walk_fail(walker, "a group number in double quotes");
            return;
        }
        read_ranks(reading, &group);
        if (!walker->expected)
            add_group(reading, group);
    }
}

/* {"pg_name": "3", "ranks": [0, 1], ...} */
static void read_described_group(struct groups_reading *reading) {
    struct json_walker *walker = &reading->walker;
    struct et_group group = {.number = -1};
    bool has_ranks = false;
    for (bool more = walk_object(walker); more && !reading->failed; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (walker->expected)
            return;
        if (place_is(walker->source, key, "ranks")) {
            read_ranks(reading, &group);
            has_ranks = true;
        } else if (place_is(walker->source, key, "pg_name") && walk_char(walker) == '"') {
            if (!name_number(walker, walk_string(walker), &group.number))
                walk_fail(walker, "a group number in double quotes");
        } else {
            walk_value(walker);
        }
    }
    if (!walker->expected && (group.number < 0 || !has_ranks))
        walk_fail(walker, "a group with a number and ranks");
    if (!walker->expected)
        add_group(reading, group);
}

static void read_described_groups(struct groups_reading *reading) {
    struct json_walker *walker = &reading->walker;
    for (bool more = walk_array(walker); more && !reading->failed; more = walk_element_end(walker))
        read_described_group(reading);
}

/* Reads the groups of a text, which is closed. */
static enum sutra_status read_source(struct et_groups *groups, struct source *source,
                                     void (*read)(struct groups_reading *reading), struct arena *arena,
                                     struct sutra_error *error) {
    struct groups_reading reading = {.groups = groups, .arena = arena, .walker = walk_from(source, 0)};
    read(&reading);
    if (!reading.walker.expected && reading.walker.at < source->size)
        walk_fail(&reading.walker, "the end of the file");
    enum sutra_status status = reading.failed ? error_memory(error) : walk_error(&reading.walker, error);
    source_close(source);
    return status;
}

enum sutra_status et_groups_read(struct et_groups *groups, struct sutra_context *context, const char *path,
                                 struct arena *arena, struct sutra_error *error) {
    struct source source;
    TRY(source_open(&source, path, context->options.most_input_bytes, error));
    return read_source(groups, &source, read_file_groups, arena, error);
}

enum sutra_status et_groups_take(struct et_groups *groups, struct et_text inputs, struct arena *arena, bool *understood,
                                 struct sutra_error *error) {
    struct source source;
    struct sutra_error reason;
    uint64_t n_before = groups->n;
    *understood = false;
    if (inputs.length < 4)
        return SUTRA_OK;
    enum sutra_status status = source_copy_any(&source, "process groups", inputs.bytes + 2, inputs.length - 4, &reason);
    if (!status)
        status = read_source(groups, &source, read_described_groups, arena, &reason);
    TRY_ALLOC(status != SUTRA_SYSTEM, error);
    *understood = status == SUTRA_OK;
    if (status)
        groups->n = n_before;
    return SUTRA_OK;
}

void et_groups_free(struct et_groups *groups) {
    free(groups->list);
    *groups = (struct et_groups){0};
}

const struct et_group *et_group_find(const struct et_groups *groups, int64_t number) {
    for (uint64_t i = groups->n; i > 0; i--)
        if (groups->list[i - 1].number == number)
            return &groups->list[i - 1];
    return NULL;
}

bool et_group_has(const struct et_group *group, int64_t rank) {
    return group->n == 0 || bsearch(&rank, group->ranks, group->n, sizeof rank, compare_int64s);
}

int64_t et_rank_of(const char *path, size_t *prefix) {
    size_t length = strlen(path), digits = 0;
    int64_t rank = 0;
    if (length < 3 || strcmp(path + length - 3, ".et") != 0)
        return RANK_UNKNOWN;
    length -= 3;
    while (digits < length && is_digit(path[length - digits - 1]))
        digits++;
    if (digits == 0 || digits > 9 || length <= digits + 1 || path[length - digits - 1] != '.')
        return RANK_UNKNOWN;
    for (size_t i = length - digits; i < length; i++)
        rank = 10 * rank + (path[i] - '0');
    *prefix = length - digits - 1;
    return rank;
}

bool et_kind_is_readable(uint32_t name, uint8_t kind) {
    switch (name) {
    case ET_NAME_IS_CPU_OP:
    case ET_NAME_NUM_OPS:
    case ET_NAME_TENSOR_SIZE:
    case ET_NAME_TENSOR_LOC:
    case ET_NAME_COMM_TYPE:
    case ET_NAME_COMM_PRIORITY:
    case ET_NAME_COMM_SIZE:
    case ET_NAME_COMM_SRC:
    case ET_NAME_COMM_DST:
    case ET_NAME_COMM_TAG:
        return et_is_integer(kind);
    case ET_NAME_PG_NAME:
        return kind == ET_STRING;
    case ET_NAME_INVOLVED_DIM:
        return kind == ET_BOOL + 1;
    default: /* not read */
        return true;
    }
}

/* ---- The graph ---- */

/* From ids to rows: an array if the ids are dense, as in most files, else a table. */
struct id_rows {
    uint64_t first, range; /* ids of the array: first .. first + range - 1; range 0: no array */
    row_t *dense;
    struct pair_table table;
};

static bool rows_begin(struct id_rows *rows, const struct et_nodes *nodes, struct arena *arena) {
    uint64_t min_id = UINT64_MAX, max_id = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        min_id = MIN(nodes->id[row], min_id);
        max_id = MAX(nodes->id[row], max_id);
    }
    *rows = (struct id_rows){.first = min_id};
    if (nodes->n == 0 || (max_id - min_id) / 4 >= nodes->n)
        return pair_table_init(&rows->table);
    rows->range = max_id - min_id + 1;
    rows->dense = arena_alloc(arena, rows->range, sizeof *rows->dense);
    if (rows->dense)
        memset(rows->dense, 0xff, rows->range * sizeof *rows->dense); /* ROW_NONE */
    return rows->dense;
}

static row_t row_of(const struct id_rows *rows, uint64_t id) {
    if (!rows->dense)
        return pair_table_find(&rows->table, id, 0);
    return id - rows->first < rows->range ? rows->dense[id - rows->first] : ROW_NONE;
}

/* The entry of an id; valid until the next call. NULL: out of memory. */
static row_t *row_entry(struct id_rows *rows, uint64_t id) {
    if (rows->dense)
        return &rows->dense[id - rows->first];
    struct pair_entry *entry = pair_table_insert(&rows->table, id, 0);
    return entry ? &entry->number : NULL;
}

/* Finds the row of each id: the last one. */
static bool find_rows(const struct et_nodes *nodes, struct id_rows *rows, struct et_graph *graph) {
    for (row_t row = 0; row < nodes->n; row++) {
        row_t *place = row_entry(rows, nodes->id[row]);
        if (!place)
            return false;
        if (*place != ROW_NONE)
            graph->again[graph->n_again++] = row;
        *place = row;
    }
    return true;
}

static void add_dependencies(struct et_graph *graph, const struct id_rows *rows, const struct et_ids *list, row_t row,
                             enum et_edges kind, uint64_t *n) {
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++) {
        graph->up.rows[*n] = row_of(rows, list->ids[i]);
        graph->n_absent += graph->up.rows[*n] == ROW_NONE;
        graph->kind[(*n)++] = (uint8_t)kind;
    }
}

static void alloc_lists(struct arena *arena, struct et_lists *lists, row_t n, uint64_t n_edges) {
    lists->first = arena_zeros(arena, (size_t)n + 1, sizeof *lists->first);
    lists->rows = arena_alloc(arena, n_edges, sizeof *lists->rows);
}

enum sutra_status et_graph_make(const struct et_nodes *nodes, enum et_edges kinds, struct arena *arena,
                                struct et_graph *graph, struct sutra_error *error) {
    row_t n = nodes->n;
    uint64_t n_edges = (kinds & ET_CTRL ? nodes->ctrl.first[n] : 0) + (kinds & ET_DATA ? nodes->data.first[n] : 0);
    struct id_rows rows;
    *graph = (struct et_graph){.n = n};
    alloc_lists(arena, &graph->up, n, n_edges);
    alloc_lists(arena, &graph->down, n, n_edges);
    graph->kind = arena_alloc(arena, n_edges, sizeof *graph->kind);
    graph->order = arena_alloc(arena, n, sizeof *graph->order);
    graph->again = arena_alloc(arena, n, sizeof *graph->again);
    struct arena_mark mark = arena_mark(arena);
    uint64_t *n_waits = arena_alloc(arena, n, sizeof *n_waits);
    row_t *free_rows = arena_alloc(arena, n, sizeof *free_rows);
    if (arena->failed || !rows_begin(&rows, nodes, arena))
        return error_memory(error);
    bool found = find_rows(nodes, &rows, graph);
    if (found) {
        uint64_t n_up = 0;
        for (row_t row = 0; row < nodes->n; row++) {
            graph->up.first[row] = n_up;
            if (kinds & ET_CTRL)
                add_dependencies(graph, &rows, &nodes->ctrl, row, ET_CTRL, &n_up);
            if (kinds & ET_DATA)
                add_dependencies(graph, &rows, &nodes->data, row, ET_DATA, &n_up);
        }
        graph->up.first[nodes->n] = n_up;
        rows_invert(n, graph->up.first, graph->up.rows, graph->down.first, graph->down.rows);
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
    if (!rows.dense)
        pair_table_free(&rows.table);
    arena_release(arena, mark);
    return found ? SUTRA_OK : error_memory(error);
}

enum sutra_status et_lengths_find(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                                  struct et_lengths *lengths, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *end_us = arena_zeros(arena, graph->n, sizeof *end_us);
    row_t *level = arena_zeros(arena, graph->n, sizeof *level);
    row_t *on_level = arena_zeros(arena, graph->n, sizeof *on_level);
    TRY(arena_status(arena, error));
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
            end_us[below] = MAX(end_us[below], end_us[row]);
            level[below] = level[below] > depth ? level[below] : depth + 1;
        }
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}
