/*
 * diff_tables.c - writes the sums of both sides as rows, by descending difference of device time, then by descending
 * device time, then by name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "base/error.h"
#include "compare/diff.h"
#include "facts/collectives.h"
#include "text/numbers.h"

#define CALL_COLUMNS TEXT("change"), REAL("calls_a"), REAL("calls_b")
#define TIME_COLUMNS                                                                                                   \
    REAL("device_a_us"), REAL("device_b_us"), REAL("device_diff_us"), REAL("diff_percent"), REAL("share_percent"),     \
        REAL("cumulative_percent")
#define CLEAR_COLUMNS REAL("error_us"), TEXT("clear")

const struct table_spec diff_table_specs[SUTRA_DIFF_N_TABLES] = {
    [SUTRA_DIFF_STEPS] = {"diff_steps", OF_JOB,
                          .columns = {TEXT("part"), REAL("a_us"), REAL("b_us"), REAL("diff_us"), REAL("diff_percent"),
                                      REAL("deviation_a_us"), REAL("deviation_b_us"), CLEAR_COLUMNS}},
    [SUTRA_DIFF_OPERATORS] = {"diff_operators", OF_JOB,
                              .columns = {TEXT("name"), TEXT("kind"), CALL_COLUMNS, TIME_COLUMNS, CLEAR_COLUMNS,
                                          REAL("host_self_a_us"), REAL("host_self_b_us"), REAL("host_self_diff_us")}},
    [SUTRA_DIFF_SHAPES] = {"diff_shapes", OF_JOB,
                           .columns = {TEXT("name"), TEXT("kind"), TEXT("input_dims"), TEXT("input_types"),
                                       CALL_COLUMNS, TIME_COLUMNS, CLEAR_COLUMNS}},
    [SUTRA_DIFF_KERNELS] = {"diff_kernels", OF_JOB,
                            .columns = {TEXT("name"), TEXT("class"), CALL_COLUMNS, TIME_COLUMNS, CLEAR_COLUMNS}},
    [SUTRA_DIFF_COLLECTIVES] = {"diff_collectives", OF_JOB,
                                .columns = {TEXT("collective"), TEXT("type"), REAL("elements"), REAL("ranks"),
                                            CALL_COLUMNS, TIME_COLUMNS, CLEAR_COLUMNS, REAL("mean_a_us"),
                                            REAL("mean_b_us"), REAL("wait_a_us"), REAL("wait_b_us"),
                                            REAL("wait_diff_us"), REAL("bus_a_gbps"), REAL("bus_b_gbps")}},
    [SUTRA_DIFF_PATHS] = {"diff_paths", OF_JOB,
                          .columns = {TEXT("path_a"), TEXT("path_b"), TEXT("kernels_a"), TEXT("kernels_b"),
                                      CALL_COLUMNS, TIME_COLUMNS}},
    [SUTRA_DIFF_TREE] = {"diff_tree", OF_JOB,
                         .columns = {INTEGER("depth"), TEXT("name"), REAL("calls_a"), REAL("calls_b"),
                                     REAL("device_a_us"), REAL("device_b_us"), REAL("device_diff_us"), REAL("own_a_us"),
                                     REAL("own_b_us"), REAL("own_diff_us")}},
};

/* ---- Rows ---- */

/* A row: pairs are values of sides A and B. */
struct diff_row {
    struct tuple key;
    uint64_t calls[2];
    wide_t device[2], host[2];
    struct spread samples[2];
    uint64_t n_met[2]; /* of collectives */
    wide_t wait[2];
    const char *change; /* NULL: derived from the calls */
};

struct diff_rows {
    const struct part *whole;
    struct arena *arena;
    struct diff_row *list;
    uint32_t n;
    const bool *is_text; /* parts of the keys */
    uint32_t *order;
    wide_t difference; /* of all */
};

/* Microseconds of a step. */
static double diff_us(const struct part *whole, const wide_t ns[2]) {
    return (double)diff_of(whole, ns) / ((double)whole->sides[0].n_samples * (double)whole->sides[1].n_samples) /
           NS_PER_US;
}

static double diff_side_us(const struct part *whole, const wide_t ns[2], int side) {
    return (double)ns[side] / (double)whole->sides[side].n_samples / NS_PER_US;
}

void add_diff_times(struct sutra_table *table, const struct part *whole, const wide_t ns[2]) {
    table_real(table, diff_side_us(whole, ns, 0));
    table_real(table, diff_side_us(whole, ns, 1));
    table_real(table, diff_us(whole, ns));
}

static int compare_wide(wide_t a, wide_t b) {
    return (a > b) - (a < b);
}

static const char *text_of(const struct part *whole, value_key text) {
    return strings_text(&whole->texts, (uint32_t)text);
}

static int compare_rows(const void *left, const void *right, void *arg) {
    const struct diff_rows *rows = arg;
    const struct part *whole = rows->whole;
    const struct diff_row *a = &rows->list[*(const uint32_t *)left], *b = &rows->list[*(const uint32_t *)right];
    int order = compare_wide(wide_size(diff_of(whole, b->device)), wide_size(diff_of(whole, a->device)));
    if (!order)
        order = compare_wide(diff_scaled(whole, b->device, 0) + diff_scaled(whole, b->device, 1),
                             diff_scaled(whole, a->device, 0) + diff_scaled(whole, a->device, 1));
    if (!order)
        order = compare_wide(wide_size(diff_of(whole, b->host)), wide_size(diff_of(whole, a->host)));
    for (int i = 0; i < 4 && !order; i++)
        order = rows->is_text[i] ? strcmp(text_of(whole, a->key.part[i]), text_of(whole, b->key.part[i]))
                                 : (a->key.part[i] > b->key.part[i]) - (a->key.part[i] < b->key.part[i]);
    return order;
}

static enum sutra_status sort_rows(struct diff_rows *rows, struct sutra_error *error) {
    rows->order = arena_alloc(rows->arena, rows->n, sizeof *rows->order);
    TRY(arena_status(rows->arena, error));
    for (uint32_t i = 0; i < rows->n && rows->list; i++) {
        rows->order[i] = i;
        rows->difference += diff_of(rows->whole, rows->list[i].device);
    }
    qsort_r(rows->order, rows->n, sizeof *rows->order, compare_rows, rows);
    return SUTRA_OK;
}

/* ---- Columns ---- */

static void add_words(struct sutra_table *table, const char *words) {
    table_text(table, words, strlen(words));
}

static void add_text(struct sutra_table *table, const struct part *whole, uint32_t text) {
    table_text(table, strings_text(&whole->texts, text), strings_length(&whole->texts, text));
}

static const char *change_of(const struct part *whole, const struct diff_row *row) {
    const wide_t calls[2] = {(wide_t)row->calls[0], (wide_t)row->calls[1]};
    wide_t more = diff_of(whole, calls);
    if (row->change)
        return row->change;
    if (more == 0)
        return "same";
    if (!row->calls[0] || !row->calls[1])
        return row->calls[0] ? "gone" : "new";
    return more > 0 ? "more" : "fewer";
}

static void add_calls(struct sutra_table *table, const struct part *whole, const struct diff_row *row) {
    add_words(table, change_of(whole, row));
    for (int side = 0; side < 2; side++)
        table_real(table, (double)row->calls[side] / (double)whole->sides[side].n_samples);
}

static double percent_of(double part, double whole) {
    return whole == 0 ? (double)NAN : part == 0 ? 0 : part / whole * 100;
}

static void add_times(struct sutra_table *table, const struct diff_rows *rows, const struct diff_row *row,
                      wide_t *cumulative) {
    const struct part *whole = rows->whole;
    wide_t difference = diff_of(whole, row->device);
    *cumulative += difference;
    add_diff_times(table, whole, row->device);
    table_real(table, percent_of((double)difference, (double)diff_scaled(whole, row->device, 0)));
    table_real(table, percent_of((double)difference, (double)rows->difference));
    table_real(table, percent_of((double)*cumulative, (double)rows->difference));
}

/* The standard error of a difference of means; NaN: unknown. */
static double error_of(const struct part *whole, const struct spread samples[2]) {
    return sqrt(spread_error(&samples[0], whole->sides[0].n_samples) +
                spread_error(&samples[1], whole->sides[1].n_samples)) /
           NS_PER_US;
}

static void add_clear(struct sutra_table *table, double difference_us, double error_us) {
    table_real(table, error_us);
    add_words(table, difference_us == 0                   ? "no"
                     : isnan(error_us)                    ? "unknown"
                     : fabs(difference_us) > 2 * error_us ? "yes"
                                                          : "no");
}

/* ---- Steps ---- */

static void add_step(struct sutra_table *table, const struct part *whole, const char *name, const wide_t ns[2],
                     const struct spread samples[2]) {
    wide_t difference = diff_of(whole, ns);
    add_words(table, name);
    add_diff_times(table, whole, ns);
    table_real(table, percent_of((double)difference, (double)diff_scaled(whole, ns, 0)));
    for (int side = 0; side < 2; side++)
        table_real(table,
                   (sqrt(spread_error(&samples[side], whole->sides[side].n_samples) * whole->sides[side].n_samples) /
                    NS_PER_US));
    add_clear(table, diff_us(whole, ns), error_of(whole, samples));
}

static void add_part(struct sutra_table *table, const struct part *whole, const char *name, int part) {
    const struct part_side *a = &whole->sides[0], *b = &whole->sides[1];
    const wide_t ns[2] = {a->parts_ns[part], b->parts_ns[part]};
    const struct spread samples[2] = {a->parts[part], b->parts[part]};
    add_step(table, whole, name, ns, samples);
}

/* ---- Ledgers ---- */

/* Joins the rows of both sides by key. */
static enum sutra_status join_ledgers(struct diff_rows *rows, enum part_ledger id, struct tuples *keys,
                                      struct sutra_error *error) {
    const struct part *whole = rows->whole;
    const struct ledger *ledgers[2] = {&whole->sides[0].ledgers[id], &whole->sides[1].ledgers[id]};
    rows->list = arena_zeros(rows->arena, (size_t)ledgers[0]->keys.n + ledgers[1]->keys.n, sizeof *rows->list);
    TRY_ALLOC(rows->list, error);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < ledgers[side]->keys.n; i++) {
            struct tuple key = ledgers[side]->keys.list[i];
            uint32_t number = tuples_number(keys, key);
            TRY_ALLOC(number != TUPLE_NONE, error);
            const struct ledger_sum *sum = &ledgers[side]->sums[i];
            struct diff_row *row = &rows->list[number];
            row->key = key;
            row->calls[side] = sum->calls;
            row->device[side] = sum->device;
            row->host[side] = sum->host;
            row->samples[side] = sum->samples;
            row->n_met[side] = sum->n_met;
            row->wait[side] = sum->wait;
        }
    rows->n = keys->n;
    rows->is_text = ledger_key_texts[id];
    return sort_rows(rows, error);
}

/* Wait time per step; NaN without calls that are known on several ranks. */
static double wait_us(const struct part *whole, const struct diff_row *row, int side) {
    return row->n_met[side] ? diff_side_us(whole, row->wait, side) : (double)NAN;
}

/* Bus bandwidth in GB/s, without the wait time of calls whose wait is known. */
static double bus_gbps(const struct part *whole, const struct diff_row *row, int side) {
    const enum comm_kind kind = collective_kind_of(strings_text(&whole->texts, (uint32_t)row->key.part[0]));
    const unsigned size = collective_type_bytes(strings_text(&whole->texts, (uint32_t)row->key.part[1]));
    const int64_t n_ranks =
        collective_is_message(strings_text(&whole->texts, (uint32_t)row->key.part[0])) ? 2 : row->key.part[3];
    const int64_t n = collective_elements(kind, row->key.part[2], row->key.part[2], n_ranks);
    const double moved_ns = (double)(row->device[side] - row->wait[side]);
    if (n <= 0 || size == 0 || n_ranks < 2 || !(moved_ns > 0))
        return (double)NAN;
    return (double)n * size * (double)row->calls[side] / moved_ns * collective_bus_share(kind, n_ranks);
}

static void add_key(struct sutra_table *table, const struct part *whole, enum part_ledger id, const struct tuple *key) {
    add_text(table, whole, (uint32_t)key->part[0]);
    if (id == LEDGER_COLLECTIVES) {
        add_text(table, whole, (uint32_t)key->part[1]);
        for (int i = 2; i < 4; i++)
            table_real(table, key->part[i] == CALL_UNKNOWN ? (double)NAN : (double)key->part[i]);
        return;
    }
    uint32_t kind = (uint32_t)key->part[1];
    static const char *const kinds[N_KINDS] = {"operator", "call", "unattributed"};
    static const char *const classes[DEVICE_N_CLASSES] = {"compute", "communication", "copy"};
    add_words(table, id == LEDGER_KERNELS ? classes[kind] : kinds[kind]);
    for (int i = 2; i < 4 && id == LEDGER_SHAPES; i++)
        add_text(table, whole, (uint32_t)key->part[i]);
}

static enum sutra_status make_ledger(const struct part *whole, enum part_ledger id, struct sutra_diff *diff,
                                     struct sutra_error *error) {
    static const enum sutra_diff_table tables[N_LEDGERS] = {SUTRA_DIFF_OPERATORS, SUTRA_DIFF_SHAPES, SUTRA_DIFF_KERNELS,
                                                            SUTRA_DIFF_COLLECTIVES};
    struct arena arena = {0};
    struct tuples keys = {0};
    struct diff_rows rows = {.whole = whole, .arena = &arena};
    enum sutra_status status = join_ledgers(&rows, id, &keys, error);
    if (!status) {
        struct sutra_table *table = result_table_begin(&diff->result, tables[id]);
        wide_t cumulative = 0;
        for (uint32_t i = 0; i < rows.n; i++) {
            const struct diff_row *row = &rows.list[rows.order[i]];
            if (!row->calls[0] && !row->calls[1] && !row->device[0] && !row->device[1])
                continue;
            add_key(table, whole, id, &row->key);
            add_calls(table, whole, row);
            add_times(table, &rows, row, &cumulative);
            add_clear(table, diff_us(whole, row->device), error_of(whole, row->samples));
            if (id == LEDGER_OPERATORS)
                add_diff_times(table, whole, row->host);
            if (id == LEDGER_COLLECTIVES) {
                for (int side = 0; side < 2; side++)
                    table_real(table, row->calls[side]
                                          ? (double)row->device[side] / (double)row->calls[side] / NS_PER_US
                                          : (double)NAN);
                const double a = wait_us(whole, row, 0), b = wait_us(whole, row, 1);
                table_real(table, a);
                table_real(table, b);
                table_real(table, b - a);
                for (int side = 0; side < 2; side++)
                    table_real(table, bus_gbps(whole, row, side));
            }
        }
    }
    tuples_free(&keys);
    arena_free(&arena);
    return status;
}

/* ---- Paths ---- */

/* The change of a path, or NULL if it follows from the calls. */
static const char *path_change(const struct path_row *row) {
    if (!row->path[0] || !row->path[1])
        return row->path[0] ? "gone" : "new";
    if (row->kernels[0] != row->kernels[1])
        return "replaced";
    return row->path[0] != row->path[1] ? "renamed" : NULL;
}

static enum sutra_status add_paths(struct diff_rows *rows, const struct path_row_list *paths, struct sutra_table *table,
                                   struct sutra_error *error) {
    const struct part *whole = rows->whole;
    static const bool all_texts[4] = {true, true, true, true};
    wide_t cumulative = 0;
    rows->list = arena_zeros(rows->arena, paths->n, sizeof *rows->list);
    rows->n = (uint32_t)paths->n;
    rows->is_text = all_texts;
    for (uint32_t i = 0; i < rows->n && rows->list; i++) {
        const struct path_row *path = &paths->list[i];
        rows->list[i] = (struct diff_row){.key = {{path->path[0], path->path[1], path->kernels[0], path->kernels[1]}},
                                          .calls = {path->calls[0], path->calls[1]},
                                          .device = {path->ns[0], path->ns[1]},
                                          .change = path_change(path)};
    }
    TRY(sort_rows(rows, error));
    for (uint32_t i = 0; i < rows->n; i++) {
        const struct diff_row *row = &rows->list[rows->order[i]];
        for (int text = 0; text < 4; text++)
            add_text(table, whole, (uint32_t)row->key.part[text]);
        add_calls(table, whole, row);
        add_times(table, rows, row, &cumulative);
    }
    return SUTRA_OK;
}

static int compare_nodes(const struct strings *texts, const struct path_node *a, const struct path_node *b) {
    if (a->kind != b->kind || a->end != b->end)
        return a->kind != b->kind ? a->kind - b->kind : a->end < b->end ? -1 : 1;
    int order = strcmp(strings_text(texts, node_name(a)), strings_text(texts, node_name(b)));
    if (order || a->shapes == b->shapes)
        return order;
    if (a->kind == PATH_WORK) /* classes */
        return a->shapes < b->shapes ? -1 : 1;
    return strcmp(strings_text(texts, a->shapes), strings_text(texts, b->shapes));
}

/* Whether the trees are in canonical order, so that the alignment does not depend on which side is A. */
static bool is_in_order(const struct part *whole, const struct path_tree *a, const struct path_tree *b) {
    int order = (a->n > b->n) - (a->n < b->n);
    for (row_t i = 0; i < a->n && !order; i++)
        order = compare_nodes(&whole->texts, &a->nodes[i], &b->nodes[i]);
    return order <= 0;
}

static enum sutra_status merge_sides(const struct part *whole, struct path_ids *ids, struct arena *arena,
                                     struct arena *scratch, struct path_tree *merged, struct sutra_error *error) {
    struct path_tree trees[2];
    for (int side = 0; side < 2; side++)
        trees[side] = path_fold_tree(&whole->sides[side].fold, arena);
    TRY(arena_status(arena, error));
    bool modules[2] = {path_tree_has_modules(&trees[0]), path_tree_has_modules(&trees[1])};
    for (int side = 0; side < 2; side++) {
        if (modules[side] && !modules[!side])
            path_tree_drop_modules(&trees[side], scratch);
        TRY(arena_status(scratch, error));
        TRY_ALLOC(path_tree_number(&trees[side], ids) && path_tree_name(&trees[side], ids), error);
    }
    bool swapped = !is_in_order(whole, &trees[0], &trees[1]);
    const struct path_tree in_order[2] = {trees[swapped], trees[!swapped]};
    return path_tree_merge(in_order, ids, arena, scratch, merged, error);
}

static enum sutra_status make_paths(struct part *whole, struct sutra_diff *diff, struct sutra_error *error) {
    struct arena arena = {0}, scratch = {0};
    struct path_ids ids;
    struct path_tree merged;
    struct path_row_list paths = {0};
    struct diff_rows rows = {.whole = whole, .arena = &arena};
    enum sutra_status status = path_ids_init(&ids) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = merge_sides(whole, &ids, &arena, &scratch, &merged, error);
    if (!status)
        status = path_rows_make(whole, &merged, &arena, &paths, error);
    if (!status)
        status = add_paths(&rows, &paths, result_table_begin(&diff->result, SUTRA_DIFF_PATHS), error);
    if (!status)
        status = path_sums_table(whole, &merged, &arena, result_table_begin(&diff->result, SUTRA_DIFF_TREE), error);
    path_ids_free(&ids);
    tuples_free(&paths.keys);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

enum sutra_status diff_tables_make(struct part *whole, struct sutra_diff *diff, struct sutra_error *error) {
    struct sutra_table *table = result_table_begin(&diff->result, SUTRA_DIFF_STEPS);
    const struct part_side *a = &whole->sides[0], *b = &whole->sides[1];
    struct sutra_diff_summary *summary = &diff->summary;
    const wide_t step[2] = {a->parts_ns[DIFF_PART_STEP], b->parts_ns[DIFF_PART_STEP]};
    const wide_t device[2] = {a->device_ns, b->device_ns};
    const struct spread steps[2] = {a->parts[DIFF_PART_STEP], b->parts[DIFF_PART_STEP]};
    const struct spread devices[2] = {a->device, b->device};
    add_part(table, whole, "step", DIFF_PART_STEP);
    for (int part = 0; part < N_STEP_PARTS; part++)
        add_part(table, whole, step_part_names[part], DIFF_PART_FIRST + part);
    add_step(table, whole, "GPU activity", device, devices);
    for (int side = 0; side < 2; side++) {
        summary->n_steps[side] = whole->sides[side].n_samples;
        summary->has_steps[side] = whole->sides[side].has_steps;
        summary->step_us[side] = diff_side_us(whole, step, side);
        summary->device_us[side] = diff_side_us(whole, device, side);
        summary->outside_us[side] = (double)whole->sides[side].outside_ns / NS_PER_US;
    }
    summary->step_error_us = error_of(whole, steps);
    summary->device_error_us = error_of(whole, devices);
    for (int id = 0; id < N_LEDGERS; id++)
        TRY(make_ledger(whole, (enum part_ledger)id, diff, error));
    TRY(make_paths(whole, diff, error));
    return result_status(&diff->result, error);
}
