/*
 * hta_names.c - which kernels took the time: durations by type and name.
 *
 * As the reference does it: names by falling sum of durations; if there are more than wanted, all behind that number
 * and all whose running sum is above its own 80 % quantile become "others", except those with a sum below 0. Then every
 * name counts as one value, its sum, so that for the names kept the least, the largest and the mean are the sum, and
 * for "others" they tell about the sums of its names. O(k) for kernels and O(n log n) for names.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"
#include "match/steps.h"

#define KEPT_QUANTILE 0.8
#define OTHERS        "others"

/* Kernels of one name. */
struct name_row {
    const char *name;
    size_t length;
    struct moments durs;
};

static int compare_text(const char *a, size_t n_a, const char *b, size_t n_b) {
    int order = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* The largest sum first, then by name. */
static int compare_rows(const void *left, const void *right) {
    const struct name_row *a = left, *b = right;
    if (a->durs.sum != b->durs.sum)
        return a->durs.sum > b->durs.sum ? -1 : 1;
    return compare_text(a->name, a->length, b->name, b->length);
}

/* Names of one type into rows[], which has room for all strings. */
static uint32_t gather(const struct sutra_hta *hta, enum kernel_type type, const struct moments *by_name,
                       struct name_row *rows) {
    const struct strings *strings = hta->rows.strings;
    uint32_t n = 0;
    for (uint32_t string = 0; string < strings->n; string++)
        if (hta->kernels.of_name[string] == type + 1)
            rows[n++] =
                (struct name_row){strings_text(strings, string), strings_length(strings, string), by_name[string]};
    qsort(rows, n, sizeof *rows, compare_rows);
    return n;
}

static void add_row(const struct sutra_hta *hta, struct sutra_table *table, enum kernel_type type, const char *name,
                    size_t length, const struct moments *durs) {
    double deviation = moments_deviation(durs, NS_PER_US);
    table_text(table, name, length);
    table_number(table, us_of_wide(durs->sum));
    table_number(table, us_of(durs->max));
    table_number(table, us_of(durs->min));
    table_real(table, durs->n > 1 ? deviation : 0);
    table_real(table, us_of_wide(durs->sum) / (double)durs->n);
    table_text(table, kernel_type_names[type], strlen(kernel_type_names[type]));
    table_integer(table, hta->options.rank);
}

/* above[i]: whether name i is one of the others. */
static enum sutra_status judge(const struct name_row *rows, uint32_t n, uint64_t n_kept, uint8_t *above,
                               struct sutra_error *error) {
    double *running = malloc(((size_t)n + 1) * sizeof *running), *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    uint64_t *keys = malloc(((size_t)n + 1) * sizeof *keys);
    row_t *order = malloc(((size_t)n + 1) * sizeof *order);
    enum sutra_status status = running && sorted && keys && order ? SUTRA_OK : error_memory(error);
    wide_t sum = 0;
    for (uint32_t i = 0; i < n && !status; i++) {
        running[i] = us_of_wide(sum += rows[i].durs.sum);
        keys[i] = double_sort_key(running[i]);
        order[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, keys, order, n, error);
    for (uint32_t i = 0; i < n && !status; i++)
        sorted[i] = running[order[i]];
    for (uint32_t i = 0; i < n && !status; i++)
        above[i] = rows[i].durs.sum >= 0 && (running[i] > quantile_of(sorted, n, KEPT_QUANTILE) || i >= n_kept);
    free(order);
    free(keys);
    free(sorted);
    free(running);
    return status;
}

/* The sum of a name as the one value that it counts as; too large a sum is as large as can be. */
static int64_t sum_of(const struct name_row *row) {
    wide_t sum = row->durs.sum;
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

static enum sutra_status add_with_others(const struct sutra_hta *hta, struct sutra_table *table, enum kernel_type type,
                                         const struct name_row *rows, uint32_t n, struct sutra_error *error) {
    struct moments others = {0};
    uint8_t *above = malloc((size_t)n + 1);
    enum sutra_status status = above ? judge(rows, n, hta->options.n_kernels, above, error) : error_memory(error);
    for (uint32_t i = 0; i < n && !status; i++) {
        struct moments sum = {0};
        bool named_so = rows[i].length == strlen(OTHERS) && memcmp(rows[i].name, OTHERS, strlen(OTHERS)) == 0;
        moments_add(above[i] || named_so ? &others : &sum, sum_of(&rows[i]));
        if (sum.n)
            add_row(hta, table, type, rows[i].name, rows[i].length, &sum);
    }
    if (!status && others.n)
        add_row(hta, table, type, OTHERS, strlen(OTHERS), &others);
    free(above);
    return status;
}

static enum sutra_status add_type(const struct sutra_hta *hta, struct sutra_table *table, enum kernel_type type,
                                  const struct name_row *rows, uint32_t n, struct sutra_error *error) {
    if (n > hta->options.n_kernels)
        return add_with_others(hta, table, type, rows, n, error);
    for (uint32_t i = 0; i < n; i++)
        add_row(hta, table, type, rows[i].name, rows[i].length, &rows[i].durs);
    return SUTRA_OK;
}

/* ---- Order of a whole table ---- */

enum { COLUMN_NAME = 0, COLUMN_TYPE = 6, COLUMN_RANK = 7 };

static int compare_column(const struct sutra_table *table, uint32_t column, uint64_t a, uint64_t b) {
    size_t n_a, n_b;
    const char *text_a = table_get_text(table, column, a, &n_a), *text_b = table_get_text(table, column, b, &n_b);
    return compare_text(text_a, n_a, text_b, n_b);
}

static int compare_places(const void *left, const void *right, void *arg) {
    const struct sutra_table *table = arg;
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    int order = compare_column(table, COLUMN_TYPE, a, b);
    if (!order)
        order = compare_column(table, COLUMN_NAME, a, b);
    if (order)
        return order;
    int64_t rank_a = table_get_integer(table, COLUMN_RANK, a), rank_b = table_get_integer(table, COLUMN_RANK, b);
    return (rank_a > rank_b) - (rank_a < rank_b);
}

enum sutra_status hta_names_sort(struct sutra_table *table, struct sutra_error *error) {
    uint64_t *order = malloc((size_t)(table->n_rows + 1) * sizeof *order);
    if (!order)
        return error_memory(error);
    for (uint64_t i = 0; i < table->n_rows; i++)
        order[i] = i;
    qsort_r(order, (size_t)table->n_rows, sizeof *order, compare_places, table);
    table_reorder(table, order);
    free(order);
    return table->failed ? error_memory(error) : SUTRA_OK;
}

/* ---- Both tables ---- */

/* Moments of durations by name. */
static void sum_up(const struct sutra_hta *hta, struct moments *by_name) {
    const struct hta_kernels *kernels = &hta->kernels;
    for (row_t i = 0; i < kernels->n; i++)
        moments_add(&by_name[hta->rows.events->name[kernels->event[i]]], kernels->end[i] - kernels->start[i]);
}

enum sutra_status hta_names(struct sutra_hta *hta, struct sutra_error *error) {
    size_t n_strings = (size_t)hta->rows.strings->n + 1;
    struct moments *by_name = calloc(n_strings, sizeof *by_name);
    struct name_row *rows = malloc(n_strings * sizeof *rows);
    struct sutra_table *plain = hta_table_begin(hta, SUTRA_HTA_KERNELS);
    struct sutra_table *memory = hta_table_begin(hta, SUTRA_HTA_KERNELS_MEMORY);
    enum sutra_status status = by_name && rows ? SUTRA_OK : error_memory(error);
    if (!status)
        sum_up(hta, by_name);
    for (int type = 0; type <= KERNEL_MEMORY && !status; type++) {
        uint32_t n = gather(hta, (enum kernel_type)type, by_name, rows);
        if (type != KERNEL_MEMORY)
            status = add_type(hta, plain, (enum kernel_type)type, rows, n, error);
        if (!status)
            status = add_type(hta, memory, (enum kernel_type)type, rows, n, error);
    }
    if (!status)
        status = hta_names_sort(plain, error);
    if (!status)
        status = hta_names_sort(memory, error);
    free(rows);
    free(by_name);
    return status;
}
