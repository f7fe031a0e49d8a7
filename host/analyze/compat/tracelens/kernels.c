/*
 * kernels.c - TraceLens' tables of kernels: of each kernel, of totals, and of short kernels.
 *
 * The operator of a kernel is the nearest operator that encloses its call. All kernels count, including communication
 * and kernels without a call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "match/key_index.h"

/* ---- Kernels with their operators ---- */

struct kernel_table {
    const struct tracelens_input *input;
    const struct launch_model *model;
    row_t n, *device;  /* kernels: rows of devices */
    row_t *op;         /* of each: a row of hosts, or ROW_NONE */
    row_t *index;      /* of each: of its operator in the list, or ROW_NONE */
    row_t n_ops, *ops; /* operators that kernels have */
    int64_t *busy;     /* of each operator */
    uint8_t *category; /* of each operator */
    bool any_operator; /* in the trace */
    struct op_arguments arguments;
};

/*
 * ---- Short kernels: a histogram of durations, and totals by operator, arguments and kernel ----
 *
 * Kernels without an operator or without one of the arguments are only in the histogram. O(n log n).
 */

#define SHORT_US 10 /* microseconds */

enum { HISTOGRAM_BINS = 100 };

/* The bin of a value as numpy.histogram() finds it. */
static int bin_of(const double *edges, double value) {
    double width = edges[HISTOGRAM_BINS] - edges[0];
    int bin = (int)((value - edges[0]) / width * (double)HISTOGRAM_BINS);
    bin = bin >= HISTOGRAM_BINS ? HISTOGRAM_BINS - 1 : bin;
    if (value < edges[bin])
        bin--;
    else if (bin + 1 < HISTOGRAM_BINS && value >= edges[bin + 1])
        bin++;
    return bin;
}

static void add_histogram(const struct kernel_table *from, struct sutra_table *table) {
    double edges[HISTOGRAM_BINS + 1], min = (double)INFINITY, max = 0;
    int64_t counts[HISTOGRAM_BINS] = {0};
    for (row_t i = 0; i < from->n; i++) {
        double us = kernel_us(from->model, from->device[i]);
        min = MIN(us, min);
        max = us < SHORT_US && us > max ? us : max;
    }
    if (min >= SHORT_US)
        return;
    /* edges of equal bins as numpy.linspace() */
    double start = min == max ? min - 0.5 : min, end = min == max ? max + 0.5 : max;
    double step = (end - start) / (double)HISTOGRAM_BINS;
    for (int i = 0; i < HISTOGRAM_BINS; i++)
        edges[i] = i * step + start;
    edges[HISTOGRAM_BINS] = end;
    for (row_t i = 0; i < from->n; i++)
        if (kernel_us(from->model, from->device[i]) < SHORT_US)
            counts[bin_of(edges, kernel_us(from->model, from->device[i]))]++;
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        table_real(table, edges[i]);
        table_real(table, edges[i + 1]);
        table_integer(table, counts[i]);
    }
}

/* Short kernels of an operator with arguments, or of a trace without operators. */
struct short_sums {
    const struct kernel_table *from;
    struct row_groups groups;
    row_t *kernel; /* indexes into the list of kernels */
    double *sum;
};

/* The key: name of the operator, its arguments and name of the kernel. False: an argument is missing. */
static bool short_key(const struct kernel_table *from, row_t kernel, struct tuple *key) {
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct launch_model *model = from->model;
    uint32_t name = model->events->name[model->devices.event[from->device[kernel]]];
    uint64_t texts[3];
    *key = (struct tuple){{name, 0, 0, 0}};
    if (!from->any_operator)
        return true;
    if (from->op[kernel] == ROW_NONE)
        return false;
    for (int i = 0; i < 3; i++) {
        texts[i] = op_argument_text(&from->arguments, arguments[i], from->index[kernel]);
        if (texts[i] == 0)
            return false;
    }
    *key = (struct tuple){{(value_key)((uint64_t)name << 32 | host_name(model, from->op[kernel])), (value_key)texts[0],
                           (value_key)texts[1], (value_key)texts[2]}};
    return true;
}

static enum sutra_status group_short(struct short_sums *sums, struct arena *arena, struct sutra_error *error) {
    const struct kernel_table *from = sums->from;
    struct tuple *keys = arena_alloc(arena, from->n, sizeof *keys);
    sums->kernel = arena_alloc(arena, from->n, sizeof *sums->kernel);
    row_t n = 0;
    bool late = false; /* a kernel without a key follows one with a key */
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < from->n; i++) {
        if (kernel_us(from->model, from->device[i]) >= SHORT_US)
            continue;
        if (short_key(from, i, &keys[n]))
            sums->kernel[n++] = i;
        else
            late |= n > 0;
    }
    TRY(row_groups_make(keys, n, arena, &sums->groups, error));
    sums->sum = arena_alloc(arena, sums->groups.n, sizeof *sums->sum);
    double *values = arena_alloc(arena, n, sizeof *values);
    TRY(arena_status(arena, error));
    enum group_order order = late ? GROUPS_MIXED : pandas_group_order(sums->groups.of, n, NULL);
    for (uint32_t g = 0; g < sums->groups.n; g++) {
        row_t first = sums->groups.first[g], n_members = sums->groups.first[g + 1] - first;
        for (row_t i = 0; i < n_members; i++)
            values[i] = kernel_us(from->model, from->device[sums->kernel[sums->groups.member[first + i]]]);
        sums->sum[g] = pandas_sum(values, n_members, order);
    }
    return SUTRA_OK;
}

static row_t short_count(const struct short_sums *sums, uint32_t group) {
    return sums->groups.first[group + 1] - sums->groups.first[group];
}

static int by_sum_and_count(const void *left, const void *right, void *arg) {
    const struct short_sums *sums = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    row_t n_a = short_count(sums, a), n_b = short_count(sums, b);
    if (sums->sum[a] != sums->sum[b])
        return sums->sum[a] > sums->sum[b] ? -1 : 1;
    return n_a != n_b ? (n_a > n_b) - (n_a < n_b) : (a > b) - (a < b);
}

/* total_us: of the whole timeline. */
static enum sutra_status make_short_kernels(const struct kernel_table *from, double total_us, struct arena *arena,
                                            struct sutra_operators *operators, struct sutra_error *error) {
    static const struct column_spec columns[] = {
        TEXT("Parent cpu_op"),
        TEXT("Input dims"),
        TEXT("Input strides"),
        TEXT("Concrete Inputs"),
        TEXT("Kernel name"),
        REAL("Short Kernel duration (µs) sum"),
        INTEGER("Short Kernel count"),
        REAL("Short Kernel duration (µs) mean"),
        REAL("Short Kernel duration (µs) percent of total time"),
    };
    static const char *const times[] = {"Short Kernel duration (µs) sum", NULL};
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct launch_model *model = from->model;
    uint32_t skipped = from->any_operator ? 0 : 4;
    struct short_sums sums = {.from = from};
    add_histogram(from, result_table_begin(&operators->result, SUTRA_TRACELENS_SHORT_HISTOGRAM));
    struct sutra_table *table = result_table_begin_with(&operators->result, SUTRA_TRACELENS_SHORT_KERNELS,
                                                        columns + skipped, sizeof columns / sizeof *columns - skipped);
    if (from->input->integer_times)
        tracelens_retype_integers(table, times);
    TRY(group_short(&sums, arena, error));
    uint32_t *order = arena_alloc(arena, sums.groups.n, sizeof *order);
    TRY(arena_status(arena, error));
    for (uint32_t g = 0; g < sums.groups.n; g++)
        order[g] = g;
    if (sums.groups.n)
        qsort_r(order, sums.groups.n, sizeof *order, by_sum_and_count, &sums);
    for (uint32_t i = 0; i < sums.groups.n; i++) {
        uint32_t g = order[i];
        row_t kernel = sums.kernel[sums.groups.member[sums.groups.first[g]]], n = short_count(&sums, g);
        if (from->any_operator) {
            table_string(table, model->strings, host_name(model, from->op[kernel]));
            for (int k = 0; k < 3; k++)
                table_string(table, &from->arguments.texts,
                             op_argument_text(&from->arguments, arguments[k], from->index[kernel]));
        }
        table_string(table, model->strings, model->events->name[model->devices.event[from->device[kernel]]]);
        table_number(table, sums.sum[g]);
        table_integer(table, n);
        table_real(table, sums.sum[g] / n);
        table_real(table, sums.sum[g] / total_us * 100);
    }
    return SUTRA_OK;
}

/* ---- Kernels and their operators ---- */

/* Finds the kernels, their operators, and categories, busy times and arguments of the operators. */
static enum sutra_status list_kernels(struct kernel_table *table, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = table->model;
    const struct device_rows *devices = &model->devices;
    const struct host_rows *hosts = &model->hosts;
    uint8_t *is_operator = arena_alloc(arena, hosts->n, sizeof *is_operator);
    row_t *enclosing = arena_alloc(arena, hosts->n, sizeof *enclosing);
    row_t *index_of = rows_none(arena, hosts->n);
    table->device = arena_alloc(arena, devices->n, sizeof(row_t));
    table->op = arena_alloc(arena, devices->n, sizeof(row_t));
    table->index = arena_alloc(arena, devices->n, sizeof(row_t));
    table->ops = arena_alloc(arena, devices->n, sizeof(row_t));
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++)
        table->any_operator |= is_operator[row] = hosts->kind[row] == HOST_OPERATOR;
    find_enclosing(model, is_operator, enclosing);
    for (row_t i = 0; i < devices->n; i++) {
        if (!(category_roles(model->events, model->roles, devices->event[i]) & CATEGORY_KERNEL))
            continue;
        row_t op = devices->call[i] == ROW_NONE ? ROW_NONE : enclosing[devices->call[i]];
        if (op != ROW_NONE && index_of[op] == ROW_NONE) {
            index_of[op] = table->n_ops;
            table->ops[table->n_ops++] = op;
        }
        table->device[table->n] = i;
        table->op[table->n] = op;
        table->index[table->n++] = op == ROW_NONE ? ROW_NONE : index_of[op];
    }
    table->busy = arena_alloc(arena, table->n_ops, sizeof *table->busy);
    table->category = arena_alloc(arena, table->n_ops, sizeof *table->category);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < table->n_ops; i++)
        table->category[i] =
            (uint8_t)tracelens_category(model, model->strings, host_name(model, table->ops[i]), table->ops[i]);
    TRY(launch_model_busy_time(model, table->ops, table->n_ops, arena, table->busy, error));
    return op_arguments_read(table->input->context, model, table->ops, table->n_ops, arena, &table->arguments, error);
}

/* ---- Each kernel ---- */

static void add_missing(struct sutra_table *table, int n) {
    for (int i = 0; i < n && !table->failed; i++)
        if (table->columns[table->next_column].spec.kind == SUTRA_COLUMN_TEXT)
            table_text(table, "", 0);
        else
            table_real(table, (double)NAN);
}

static void add_operator(const struct kernel_table *from, row_t kernel, struct sutra_table *table) {
    const struct launch_model *model = from->model;
    row_t op = from->op[kernel], index = from->index[kernel];
    row_t count = model->links.first[model->hosts.end[op]] - model->links.first[op];
    /* TraceLens lists kernels before it knows the kernels of operators: the category is by name alone. */
    const char *category = op_category_names[tracelens_category(model, model->strings, host_name(model, op), ROW_NONE)];
    double busy_us = launch_model_us(model, from->busy[index]);
    table_real(table, (double)model->hosts.event[op]);
    table_string(table, model->strings, host_name(model, op));
    for (int k = 0; k < N_ARGUMENTS; k++)
        table_string(table, &from->arguments.texts, op_argument_text(&from->arguments, (enum op_argument)k, index));
    table_text(table, "", 0);
    table_real(table, busy_us);
    table_real(table, count);
    table_real(table, count == 1 ? 100 : kernel_us(model, from->device[kernel]) / busy_us * 100);
    table_words(table, category);
}

static void add_kernels(const struct kernel_table *from, struct sutra_table *table) {
    const struct launch_model *model = from->model;
    for (row_t i = 0; i < from->n; i++) {
        row_t event = model->devices.event[from->device[i]], call = model->devices.call[from->device[i]];
        table_integer(table, event);
        table_string(table, model->strings, model->events->name[event]);
        table_real(table, number_as_double(number_at(model->events->ts, event)));
        table_real(table, kernel_us(model, from->device[i]));
        table_stream(from->input->context, model, from->device[i], table);
        if (call == ROW_NONE) {
            add_missing(table, 2);
        } else {
            table_real(table, (double)model->hosts.event[call]);
            table_string(table, model->strings, host_name(model, call));
        }
        add_missing(table, 2);
        if (from->op[i] == ROW_NONE)
            add_missing(table, N_ARGUMENTS + 7);
        else
            add_operator(from, i, table);
    }
}

/* ---- Totals by operator, name and stream ---- */

enum { OF_CALL = OP_N_CATEGORIES, OF_GRAPH, UNATTRIBUTED };

/* The key: category of the operator or a value above, name (a string, or STRING_NONE), kernel, stream. */
static struct tuple summary_key(const struct kernel_table *from, row_t kernel) {
    const struct launch_model *model = from->model;
    row_t event = model->devices.event[from->device[kernel]], call = model->devices.call[from->device[kernel]];
    int64_t category = UNATTRIBUTED, name = STRING_NONE;
    if (from->op[kernel] != ROW_NONE) {
        category = from->category[from->index[kernel]];
        name = host_name(model, from->op[kernel]);
    } else if (call != ROW_NONE) {
        uint32_t call_name = host_name(model, call);
        bool graph = text_compare(model->strings, call_name, TEXT_HAS_IN_ANY_CASE, "cudagraph") ||
                     text_compare(model->strings, call_name, TEXT_HAS_IN_ANY_CASE, "graphlaunch");
        category = graph ? OF_GRAPH : OF_CALL;
        name = from->any_operator ? call_name : STRING_NONE;
    }
    return (struct tuple){{category, name, model->events->name[event], model->events->stream[event]}};
}

/* The texts of a key; "" for missing ones, which pandas sorts last. */
static const char *category_text(const struct tuple *key) {
    static const char *const others[] = {"runtime", "graph", ""};
    return key->part[0] < OP_N_CATEGORIES ? op_category_names[key->part[0]] : others[key->part[0] - OP_N_CATEGORIES];
}

static const char *operator_text(const struct launch_model *model, const struct tuple *key) {
    return key->part[1] == STRING_NONE ? "" : strings_text(model->strings, (uint32_t)key->part[1]);
}

static int compare_texts(const char *a, const char *b) {
    return *a && *b ? strcmp(a, b) : (*b != 0) - (*a != 0);
}

struct kernel_durations {
    const struct launch_model *model;
    const struct tuple **key; /* of each group */
    double *sum, *min, *max;
    double all;
};

static int by_key(const void *left, const void *right, void *arg) {
    const struct kernel_durations *sums = arg;
    const struct launch_model *model = sums->model;
    const struct tuple *a = sums->key[*(const uint32_t *)left], *b = sums->key[*(const uint32_t *)right];
    int order = compare_texts(category_text(a), category_text(b));
    order = order ? order : compare_texts(operator_text(model, a), operator_text(model, b));
    order = order ? order
                  : strcmp(strings_text(model->strings, (uint32_t)a->part[2]),
                           strings_text(model->strings, (uint32_t)b->part[2]));
    return order ? order : (a->part[3] > b->part[3]) - (a->part[3] < b->part[3]);
}

static int by_time_and_key(const void *left, const void *right, void *arg) {
    const struct kernel_durations *sums = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (sums->sum[a] != sums->sum[b])
        return sums->sum[a] > sums->sum[b] ? -1 : 1;
    return by_key(left, right, arg);
}

/* `sorted`: scratch for a number of each group. */
static enum sutra_status sum_groups(const struct kernel_table *from, const struct row_groups *groups,
                                    const struct tuple *keys, struct arena *arena, uint32_t *sorted,
                                    struct kernel_durations *sums, struct sutra_error *error) {
    uint32_t *rank = arena_alloc(arena, groups->n, sizeof *rank);
    double *values = arena_alloc(arena, (size_t)from->n * 2, sizeof *values);
    *sums = (struct kernel_durations){from->model,
                                      arena_alloc(arena, groups->n, sizeof(void *)),
                                      arena_alloc(arena, groups->n, sizeof(double)),
                                      arena_alloc(arena, groups->n, sizeof(double)),
                                      arena_alloc(arena, groups->n, sizeof(double)),
                                      0};
    TRY(arena_status(arena, error));
    for (uint32_t g = 0; g < groups->n; g++) {
        sums->key[g] = &keys[groups->member[groups->first[g]]];
        sorted[g] = g;
    }
    if (groups->n) /* pandas adds up in an order that depends on the groups' sorted keys */
        qsort_r(sorted, groups->n, sizeof *sorted, by_key, sums);
    for (uint32_t i = 0; i < groups->n; i++)
        rank[sorted[i]] = i;
    enum group_order order = groups->n ? pandas_group_order(groups->of, from->n, rank) : GROUPS_SORTED;
    for (uint32_t g = 0; g < groups->n; g++) {
        row_t n = groups->first[g + 1] - groups->first[g];
        for (row_t i = 0; i < n; i++)
            values[i] = kernel_us(from->model, from->device[groups->member[groups->first[g] + i]]);
        struct value_stats stats = pandas_stats(values, n, order, values + n);
        sums->sum[g] = stats.sum;
        sums->min[g] = stats.min;
        sums->max[g] = stats.max;
    }
    for (row_t i = 0; i < from->n; i++)
        values[i] = kernel_us(from->model, from->device[i]);
    sums->all = numpy_sum(values, from->n);
    return SUTRA_OK;
}

static enum sutra_status add_summary(const struct kernel_table *from, double total_us, struct arena *arena,
                                     struct sutra_table *table, struct sutra_error *error) {
    struct tuple *keys = arena_alloc(arena, from->n, sizeof *keys);
    uint32_t *order = arena_alloc(arena, from->n, sizeof *order);
    struct row_groups groups = {0};
    struct kernel_durations sums = {0};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < from->n; i++)
        keys[i] = summary_key(from, i);
    TRY(row_groups_make(keys, from->n, arena, &groups, error));
    TRY(sum_groups(from, &groups, keys, arena, order, &sums, error));
    if (groups.n)
        qsort_r(order, groups.n, sizeof *order, by_time_and_key, &sums);
    for (uint32_t i = 0; i < groups.n; i++) {
        uint32_t g = order[i];
        row_t first = groups.member[groups.first[g]], n = groups.first[g + 1] - groups.first[g];
        table_words(table, category_text(&keys[first]));
        table_words(table, operator_text(from->model, &keys[first]));
        table_string(table, from->model->strings, (uint32_t)keys[first].part[2]);
        table_stream(from->input->context, from->model, from->device[first], table);
        table_number(table, sums.sum[g]);
        table_integer(table, n);
        table_real(table, sums.sum[g] / n);
        table_number(table, sums.min[g]);
        table_number(table, sums.max[g]);
        table_real(table, sums.sum[g] / sums.all * 100);
        table_real(table, sums.sum[g] / total_us * 100);
    }
    return SUTRA_OK;
}

enum sutra_status tracelens_kernels(const struct tracelens_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    enum { TOTAL_ROW = 5 };
    static const char *const times[] = {"Kernel duration (µs)_sum", "Kernel duration (µs)_min",
                                        "Kernel duration (µs)_max", NULL};
    struct kernel_table from = {.input = input, .model = input->model};
    struct arena_mark mark = arena_mark(arena);
    double total_us = table_get_real(&operators->result.tables[SUTRA_TRACELENS_TIMELINE], 1, TOTAL_ROW) * 1e3;
    enum sutra_status status = list_kernels(&from, arena, error);
    if (!status) {
        add_kernels(&from, result_table_begin(&operators->result, SUTRA_TRACELENS_KERNELS));
        struct sutra_table *table = result_table_begin(&operators->result, SUTRA_TRACELENS_KERNEL_SUMMARY);
        if (input->integer_times)
            tracelens_retype_integers(table, times);
        status = add_summary(&from, total_us, arena, table, error);
    }
    if (!status)
        status = make_short_kernels(&from, total_us, arena, operators, error);
    op_arguments_free(&from.arguments);
    arena_release(arena, mark);
    return status;
}
