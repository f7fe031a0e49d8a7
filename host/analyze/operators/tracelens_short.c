/*
 * tracelens_short.c - TraceLens' tables of short kernels: a histogram of durations, and sums by operator, arguments and
 * kernel. Kernels without an operator or without one of the arguments are only in the histogram. O(n log n).
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/operators/tracelens_details.h"
#include "analyze/operators/tracelens_kernels.h"
#include "analyze/pandas_stats.h"

/* Kernels below this many microseconds are short. */
#define SHORT_US 10

enum { HISTOGRAM_BINS = 100 };

/* ---- The histogram ---- */

/* The bin of a value as numpy.histogram() finds it. */
static int bin_of(const double *edges, double value) {
    double width = edges[HISTOGRAM_BINS] - edges[0];
    int bin = (int)((value - edges[0]) / width * HISTOGRAM_BINS);
    bin = bin >= HISTOGRAM_BINS ? HISTOGRAM_BINS - 1 : bin;
    if (value < edges[bin])
        bin--;
    else if (bin + 1 < HISTOGRAM_BINS && value >= edges[bin + 1])
        bin++;
    return bin;
}

/* Edges of equal bins as numpy.linspace() has them. */
static void fill_edges(double min, double max, double *edges) {
    double from = min == max ? min - 0.5 : min, to = min == max ? max + 0.5 : max;
    double step = (to - from) / HISTOGRAM_BINS;
    for (int i = 0; i < HISTOGRAM_BINS; i++)
        edges[i] = i * step + from;
    edges[HISTOGRAM_BINS] = to;
}

static void write_histogram(const struct kernel_table *from, struct sutra_table *table) {
    double edges[HISTOGRAM_BINS + 1], min = (double)INFINITY, max = 0;
    int64_t counts[HISTOGRAM_BINS] = {0};
    for (row_t i = 0; i < from->n; i++) {
        double us = op_dur_us(from->reading, from->device[i]);
        min = us < min ? us : min;
        max = us < SHORT_US && us > max ? us : max;
    }
    if (min >= SHORT_US)
        return;
    fill_edges(min, max, edges);
    for (row_t i = 0; i < from->n; i++)
        if (op_dur_us(from->reading, from->device[i]) < SHORT_US)
            counts[bin_of(edges, op_dur_us(from->reading, from->device[i]))]++;
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        table_real(table, edges[i]);
        table_real(table, edges[i + 1]);
        table_integer(table, counts[i]);
    }
}

/* ---- Sums ---- */

/* Short kernels of an operator with arguments, or of a trace without operators. */
struct short_sums {
    const struct kernel_table *from;
    struct op_groups groups;
    row_t *kernel; /* indexes into the list of kernels */
    double *sum;
};

/* Numbers the name of the operator, its arguments and the name of the kernel; false: an argument is absent. */
static bool short_key(const struct kernel_table *from, row_t kernel, struct tuple *key) {
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct op_reading *reading = from->reading;
    uint32_t name = reading->events->name[reading->devices.event[from->device[kernel]]];
    uint64_t texts[3];
    *key = (struct tuple){{name, 0, 0, 0}};
    if (!from->any_operator)
        return true;
    if (from->op[kernel] == ROW_NONE)
        return false;
    for (int i = 0; i < 3; i++) {
        texts[i] = op_argument_text(&from->arguments, arguments[i], from->place[kernel]);
        if (texts[i] == 0)
            return false;
    }
    *key = (struct tuple){{(value_key)((uint64_t)name << 32 | host_name(reading, from->op[kernel])),
                           (value_key)texts[0], (value_key)texts[1], (value_key)texts[2]}};
    return true;
}

static enum sutra_status group_short(struct short_sums *sums, struct arena *arena, struct sutra_error *error) {
    const struct kernel_table *from = sums->from;
    struct tuple *keys = arena_take(arena, from->n, sizeof *keys);
    sums->kernel = arena_take(arena, from->n, sizeof *sums->kernel);
    row_t n = 0;
    bool late = false; /* a kernel without a key follows one with a key */
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < from->n && !status; i++) {
        if (op_dur_us(from->reading, from->device[i]) >= SHORT_US)
            continue;
        if (short_key(from, i, &keys[n]))
            sums->kernel[n++] = i;
        else
            late |= n > 0;
    }
    if (!status)
        status = op_groups_make(keys, n, arena, &sums->groups, error);
    sums->sum = arena_take(arena, sums->groups.n, sizeof *sums->sum);
    double *values = arena_take(arena, n, sizeof *values);
    if (!status)
        status = arena_status(arena, error);
    enum group_order order = late ? GROUPS_MIXED : pandas_group_order(sums->groups.of, n, NULL);
    for (uint32_t g = 0; g < sums->groups.n && !status; g++) {
        row_t first = sums->groups.first[g], n_members = sums->groups.first[g + 1] - first;
        for (row_t i = 0; i < n_members; i++)
            values[i] = op_dur_us(from->reading, from->device[sums->kernel[sums->groups.member[first + i]]]);
        sums->sum[g] = pandas_sum(values, n_members, order);
    }
    return status;
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

static struct sutra_table *begin_short(const struct kernel_table *from, struct sutra_operators *operators) {
    static const struct column_spec columns[] = {
        {"Parent cpu_op", SUTRA_COLUMN_TEXT},
        {"Input dims", SUTRA_COLUMN_TEXT},
        {"Input strides", SUTRA_COLUMN_TEXT},
        {"Concrete Inputs", SUTRA_COLUMN_TEXT},
        {"Kernel name", SUTRA_COLUMN_TEXT},
        {"Short Kernel duration (µs) sum", SUTRA_COLUMN_REAL},
        {"Short Kernel count", SUTRA_COLUMN_INTEGER},
        {"Short Kernel duration (µs) mean", SUTRA_COLUMN_REAL},
        {"Short Kernel duration (µs) percent of total time", SUTRA_COLUMN_REAL},
    };
    static const char *const times[] = {"Short Kernel duration (µs) sum", NULL};
    uint32_t first = from->any_operator ? 0 : 4, n = sizeof columns / sizeof *columns - first;
    struct sutra_table *table = op_table_begin_with(operators, SUTRA_TRACELENS_SHORT_KERNELS, columns + first, n);
    if (from->input->integer_times)
        tracelens_retype_integers(table, times);
    return table;
}

static void write_short(const struct short_sums *sums, uint32_t group, double total_us, struct sutra_table *table) {
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct kernel_table *from = sums->from;
    const struct op_reading *reading = from->reading;
    row_t kernel = sums->kernel[sums->groups.member[sums->groups.first[group]]], n = short_count(sums, group);
    if (from->any_operator) {
        table_string(table, reading->strings, host_name(reading, from->op[kernel]));
        for (int i = 0; i < 3; i++)
            table_string(table, &from->arguments.texts,
                         op_argument_text(&from->arguments, arguments[i], from->place[kernel]));
    }
    table_string(table, reading->strings, reading->events->name[reading->devices.event[from->device[kernel]]]);
    table_number(table, sums->sum[group]);
    table_integer(table, n);
    table_real(table, sums->sum[group] / n);
    table_real(table, sums->sum[group] / total_us * 100);
}

enum sutra_status tracelens_short_kernels(const struct kernel_table *from, double total_us, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error) {
    struct short_sums sums = {.from = from};
    write_histogram(from, op_table_begin(operators, SUTRA_TRACELENS_SHORT_HISTOGRAM));
    struct sutra_table *table = begin_short(from, operators);
    enum sutra_status status = group_short(&sums, arena, error);
    uint32_t *order = arena_take(arena, sums.groups.n, sizeof *order);
    if (!status)
        status = arena_status(arena, error);
    for (uint32_t g = 0; g < sums.groups.n && !status; g++)
        order[g] = g;
    if (sums.groups.n && !status)
        qsort_r(order, sums.groups.n, sizeof *order, by_sum_and_count, &sums);
    for (uint32_t i = 0; i < sums.groups.n && !status; i++)
        write_short(&sums, order[i], total_us, table);
    return status;
}
