/*
 * tracelens_kernels.c - the reference's tables of kernels: each of them, and sums by operator, name and stream.
 *
 * Here the operator of a kernel is the nearest one around its call, whatever lies between, and all kernels count,
 * communication and those without a call among them.
 */
#include <math.h>
#include <string.h>

#include "analyze/operators/timeline.h"
#include "analyze/operators/tracelens_details.h"
#include "analyze/operators/tracelens_kernels.h"
#include "analyze/pandas_stats.h"
#include "base/error.h"
#include "columns/column.h"

static bool is_kernel(const struct op_reading *reading, row_t device) {
    return category_roles(reading->events, reading->roles, reading->devices.event[device]) & CATEGORY_KERNEL;
}

/* ---- Kernels and their operators ---- */

static enum sutra_status find_around(struct kernel_table *table, struct arena *arena, row_t *around,
                                     struct sutra_error *error) {
    const struct host_rows *hosts = &table->reading->hosts;
    uint8_t *marked = arena_take(arena, hosts->n, sizeof *marked);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < hosts->n && !status; row++)
        table->any_operator |= marked[row] = hosts->kind[row] == HOST_OPERATOR;
    return status ? status : op_reading_around(table->reading, marked, arena, around, error);
}

static enum sutra_status list_kernels(struct kernel_table *table, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &table->reading->devices;
    row_t *around = arena_take(arena, table->reading->hosts.n, sizeof *around);
    row_t *place_of = rows_none(arena, table->reading->hosts.n);
    table->device = arena_take(arena, devices->n, sizeof(row_t));
    table->op = arena_take(arena, devices->n, sizeof(row_t));
    table->place = arena_take(arena, devices->n, sizeof(row_t));
    table->ops = arena_take(arena, devices->n, sizeof(row_t));
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = find_around(table, arena, around, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        if (!is_kernel(table->reading, i))
            continue;
        row_t op = devices->call[i] == ROW_NONE ? ROW_NONE : around[devices->call[i]];
        if (op != ROW_NONE && place_of[op] == ROW_NONE) {
            place_of[op] = table->n_ops;
            table->ops[table->n_ops++] = op;
        }
        table->device[table->n] = i;
        table->op[table->n] = op;
        table->place[table->n++] = op == ROW_NONE ? ROW_NONE : place_of[op];
    }
    return status;
}

/* As the reference has it where it lists kernels: before it knows which ones an operator launched. */
static enum op_category category_by_name(const struct op_reading *reading, row_t op) {
    uint32_t name = host_name(reading, op);
    return op_category_find(strings_text(reading->strings, name), strings_length(reading->strings, name), NULL, 0,
                            OP_TABLE_TRACELENS);
}

static uint8_t category_of(const struct kernel_table *table, row_t op) {
    row_t charge = table->reading->charges.of_host[op];
    return charge != ROW_NONE ? table->input->categories[charge] : (uint8_t)category_by_name(table->reading, op);
}

static enum sutra_status measure_operators(struct kernel_table *table, struct arena *arena, struct sutra_error *error) {
    table->busy = arena_take(arena, table->n_ops, sizeof *table->busy);
    table->category = arena_take(arena, table->n_ops, sizeof *table->category);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < table->n_ops && !status; i++)
        table->category[i] = category_of(table, table->ops[i]);
    if (!status)
        status = op_reading_busy(table->reading, table->ops, table->n_ops, arena, table->busy, error);
    if (!status)
        status = op_arguments_read(table->input->context, table->reading, table->ops, table->n_ops, arena,
                                   &table->arguments, error);
    return status;
}

/* ---- Each kernel ---- */

static void put_nothing(struct sutra_table *table, int n) {
    for (int i = 0; i < n && !table->failed; i++)
        if (table->columns[table->next_column].spec.kind == SUTRA_COLUMN_TEXT)
            table_text(table, "", 0);
        else
            table_real(table, (double)NAN);
}

static void put_operator(const struct kernel_table *from, row_t kernel, struct sutra_table *table) {
    const struct op_reading *reading = from->reading;
    row_t op = from->op[kernel], place = from->place[kernel];
    row_t count = reading->links.first[reading->hosts.end[op]] - reading->links.first[op];
    const char *category = op_category_names[category_by_name(reading, op)];
    double busy_us = op_us(reading, from->busy[place]);
    table_real(table, (double)reading->hosts.event[op]);
    table_string(table, reading->strings, host_name(reading, op));
    for (int k = 0; k < N_ARGUMENTS; k++)
        table_string(table, &from->arguments.texts, op_argument_text(&from->arguments, (enum op_argument)k, place));
    table_text(table, "", 0);
    table_real(table, busy_us);
    table_real(table, count);
    table_real(table, count == 1 ? 100 : op_dur_us(reading, from->device[kernel]) / busy_us * 100);
    table_text(table, category, strlen(category));
}

static void write_kernels(const struct kernel_table *from, struct sutra_table *table) {
    const struct op_reading *reading = from->reading;
    for (row_t i = 0; i < from->n; i++) {
        row_t event = reading->devices.event[from->device[i]], call = reading->devices.call[from->device[i]];
        table_integer(table, event);
        table_string(table, reading->strings, reading->events->name[event]);
        table_real(table, number_as_double(number_at(reading->events->ts, event)));
        table_real(table, op_dur_us(reading, from->device[i]));
        op_table_stream(from->input, from->device[i], table);
        if (call == ROW_NONE) {
            put_nothing(table, 2);
        } else {
            table_real(table, (double)reading->hosts.event[call]);
            table_string(table, reading->strings, host_name(reading, call));
        }
        put_nothing(table, 2);
        if (from->op[i] == ROW_NONE)
            put_nothing(table, N_ARGUMENTS + 7);
        else
            put_operator(from, i, table);
    }
}

/* ---- Sums ---- */

enum { OF_CALL = OP_N_CATEGORIES, OF_GRAPH, OF_NOBODY };

/* What stands for the category of an operator, and the name (a string, or STRING_NONE). */
static struct tuple summary_key(const struct kernel_table *from, row_t kernel) {
    const struct op_reading *reading = from->reading;
    row_t event = reading->devices.event[from->device[kernel]], call = reading->devices.call[from->device[kernel]];
    int64_t category = OF_NOBODY, name = STRING_NONE;
    if (from->op[kernel] != ROW_NONE) {
        category = from->category[from->place[kernel]];
        name = host_name(reading, from->op[kernel]);
    } else if (call != ROW_NONE) {
        uint32_t call_name = host_name(reading, call);
        bool graph = text_compare(reading->strings, call_name, TEXT_HAS_IN_ANY_CASE, "cudagraph") ||
                     text_compare(reading->strings, call_name, TEXT_HAS_IN_ANY_CASE, "graphlaunch");
        category = graph ? OF_GRAPH : OF_CALL;
        name = from->any_operator ? call_name : STRING_NONE;
    }
    return (struct tuple){{category, name, reading->events->name[event], reading->events->stream[event]}};
}

/* The texts of a key: "" where there is none, which pandas sorts last. */
static const char *category_text(const struct tuple *key) {
    static const char *const others[] = {"runtime", "graph", ""};
    return key->part[0] < OP_N_CATEGORIES ? op_category_names[key->part[0]] : others[key->part[0] - OP_N_CATEGORIES];
}

static const char *operator_text(const struct op_reading *reading, const struct tuple *key) {
    return key->part[1] == STRING_NONE ? "" : strings_text(reading->strings, (uint32_t)key->part[1]);
}

static int compare_texts(const char *a, const char *b) {
    return *a && *b ? strcmp(a, b) : (*b != 0) - (*a != 0);
}

struct kernel_durations {
    const struct op_reading *reading;
    const struct tuple **key; /* of each group */
    double *sum, *min, *max;
    double all;
};

static int by_key(const void *left, const void *right, void *arg) {
    const struct kernel_durations *sums = arg;
    const struct op_reading *reading = sums->reading;
    const struct tuple *a = sums->key[*(const uint32_t *)left], *b = sums->key[*(const uint32_t *)right];
    int order = compare_texts(category_text(a), category_text(b));
    order = order ? order : compare_texts(operator_text(reading, a), operator_text(reading, b));
    order = order ? order
                  : strcmp(strings_text(reading->strings, (uint32_t)a->part[2]),
                           strings_text(reading->strings, (uint32_t)b->part[2]));
    return order ? order : (a->part[3] > b->part[3]) - (a->part[3] < b->part[3]);
}

static int by_time_and_key(const void *left, const void *right, void *arg) {
    const struct kernel_durations *sums = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (sums->sum[a] != sums->sum[b])
        return sums->sum[a] > sums->sum[b] ? -1 : 1;
    return by_key(left, right, arg);
}

/* How the kernels follow each other, by the order of their groups' sorted keys. */
static enum sutra_status find_order(struct kernel_durations *sums, const struct op_groups *groups, row_t n,
                                    struct arena *arena, uint32_t *sorted, enum group_order *order,
                                    struct sutra_error *error) {
    uint32_t *rank = arena_take(arena, groups->n, sizeof *rank);
    enum sutra_status status = arena_status(arena, error);
    if (status || groups->n == 0)
        return status;
    for (uint32_t g = 0; g < groups->n; g++)
        sorted[g] = g;
    qsort_r(sorted, groups->n, sizeof *sorted, by_key, sums);
    for (uint32_t i = 0; i < groups->n; i++)
        rank[sorted[i]] = i;
    *order = pandas_group_order(groups->of, n, rank);
    return SUTRA_OK;
}

static enum sutra_status add_up(const struct kernel_table *from, const struct op_groups *groups,
                                const struct tuple *keys, struct arena *arena, uint32_t *sorted,
                                struct kernel_durations *sums, struct sutra_error *error) {
    double *values = arena_take(arena, (size_t)from->n * 2, sizeof *values);
    enum group_order order = GROUPS_SORTED;
    *sums = (struct kernel_durations){from->reading,
                                      arena_take(arena, groups->n, sizeof(void *)),
                                      arena_take(arena, groups->n, sizeof(double)),
                                      arena_take(arena, groups->n, sizeof(double)),
                                      arena_take(arena, groups->n, sizeof(double)),
                                      0};
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < groups->n && !status; g++)
        sums->key[g] = &keys[groups->member[groups->first[g]]];
    if (!status)
        status = find_order(sums, groups, from->n, arena, sorted, &order, error);
    for (uint32_t g = 0; g < groups->n && !status; g++) {
        row_t n = groups->first[g + 1] - groups->first[g];
        for (row_t i = 0; i < n; i++)
            values[i] = op_dur_us(from->reading, from->device[groups->member[groups->first[g] + i]]);
        struct value_stats stats = pandas_stats(values, n, order, values + n);
        sums->sum[g] = stats.sum;
        sums->min[g] = stats.min;
        sums->max[g] = stats.max;
    }
    for (row_t i = 0; i < from->n && !status; i++)
        values[i] = op_dur_us(from->reading, from->device[i]);
    sums->all = status ? 0 : numpy_sum(values, from->n);
    return status;
}

static void put_summary(const struct kernel_table *from, const struct tuple *key, row_t kernel,
                        struct sutra_table *table) {
    table_words(table, category_text(key));
    table_words(table, operator_text(from->reading, key));
    table_string(table, from->reading->strings, (uint32_t)key->part[2]);
    op_table_stream(from->input, from->device[kernel], table);
}

static enum sutra_status write_summary(const struct kernel_table *from, double total_us, struct arena *arena,
                                       struct sutra_table *table, struct sutra_error *error) {
    struct tuple *keys = arena_take(arena, from->n, sizeof *keys);
    uint32_t *order = arena_take(arena, from->n, sizeof *order);
    struct op_groups groups = {0};
    struct kernel_durations sums = {0};
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < from->n && !status; i++)
        keys[i] = summary_key(from, i);
    if (!status)
        status = op_groups_make(keys, from->n, arena, &groups, error);
    if (!status)
        status = add_up(from, &groups, keys, arena, order, &sums, error);
    if (groups.n && !status)
        qsort_r(order, groups.n, sizeof *order, by_time_and_key, &sums);
    for (uint32_t i = 0; i < groups.n && !status; i++) {
        uint32_t g = order[i];
        row_t first = groups.member[groups.first[g]], n = groups.first[g + 1] - groups.first[g];
        put_summary(from, &keys[first], first, table);
        table_number(table, sums.sum[g]);
        table_integer(table, n);
        table_real(table, sums.sum[g] / n);
        table_number(table, sums.min[g]);
        table_number(table, sums.max[g]);
        table_real(table, sums.sum[g] / sums.all * 100);
        table_real(table, sums.sum[g] / total_us * 100);
    }
    return status;
}

/* Columns that hold integers where all durations are integers. */
static struct sutra_table *begin_summary(const struct kernel_table *from, struct sutra_operators *operators) {
    static const char *const times[] = {"Kernel duration (µs)_sum", "Kernel duration (µs)_min",
                                        "Kernel duration (µs)_max", NULL};
    struct sutra_table *table = op_table_begin(operators, SUTRA_TRACELENS_KERNEL_SUMMARY);
    if (from->input->integer_times)
        tracelens_retype_integers(table, times);
    return table;
}

enum sutra_status tracelens_kernels(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct kernel_table from = {.input = input, .reading = input->reading};
    struct arena_mark mark = arena_mark(arena);
    double total_us = table_get_real(&operators->tables[SUTRA_TRACELENS_TIMELINE], 1, TIMELINE_TOTAL) * 1e3;
    enum sutra_status status = list_kernels(&from, arena, error);
    if (!status)
        status = measure_operators(&from, arena, error);
    if (!status) {
        write_kernels(&from, op_table_begin(operators, SUTRA_TRACELENS_KERNELS));
        status = write_summary(&from, total_us, arena, begin_summary(&from, operators), error);
    }
    if (!status)
        status = tracelens_short_kernels(&from, total_us, arena, operators, error);
    op_arguments_free(&from.arguments);
    arena_release(arena, mark);
    return status;
}
