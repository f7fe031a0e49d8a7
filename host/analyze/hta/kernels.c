/*
 * kernels.c - which kernels took the time: durations by type and name.
 *
 * As the reference does it: names by falling sum of durations; if there are more than wanted, all behind that number
 * and all whose running sum is above its own quantile (80 %, if no other is requested) become "others", except those with a
 * sum below 0, or with a list of texts except those that contain one. Then every
 * name counts as one value, its sum, so that for the names kept the least, the largest and the mean are the sum, and
 * for "others" they tell about the sums of its names. O(k) for kernels and O(n log n) for names.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/kernels.h"
#include "base/error.h"
#include "match/steps.h"

/*
 * Names of kernels without what stands in brackets, and without what stands before the last space:
 *
 *     void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 4>(...)    at::native::::CatArrayBatchedCopy
 */

static bool begins_with(const char *name, size_t length, const char *text) {
    return length >= strlen(text) && memcmp(name, text, strlen(text)) == 0;
}

static bool stays_hta_short_name(const char *name, size_t length) {
    return begins_with(name, length, "Memcpy") || begins_with(name, length, "Memset") ||
           begins_with(name, length, "dma") || (!memchr(name, '<', length) && !memchr(name, '(', length));
}

/* Takes away all from the last bracket of a kind on; without one, all. */
static void close_bracket(struct buffer *text, char open) {
    while (text->length && text->bytes[text->length - 1] != open)
        text->length--;
    text->length -= text->length > 0;
}

void hta_short_name(const char *name, size_t length, struct buffer *shortened) {
    shortened->length = 0;
    if (stays_hta_short_name(name, length)) {
        buffer_append(shortened, name, length);
        return;
    }
    for (size_t i = 0; i < length && !shortened->failed; i++) {
        if (begins_with(name + i, length - i, "->"))
            i++;
        else if (name[i] == '>')
            close_bracket(shortened, '<');
        else if (name[i] == ')')
            close_bracket(shortened, '(');
        else
            buffer_append(shortened, name + i, 1);
    }
    size_t behind = shortened->length;
    while (behind && shortened->bytes[behind - 1] != ' ')
        behind--;
    shortened->length -= behind;
    if (behind)
        memmove(shortened->bytes, shortened->bytes + behind, shortened->length);
}

#define OTHERS "others"

/* Kernels of one name. */
struct name_row {
    const char *name;
    size_t length;
    struct moments durs;
    bool stays; /* it never becomes one of the others */
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

/* What stands for a type where names have none. */
#define NO_TYPE KERNEL_N_TYPES

/* Annotations that contain a requested text stay; without a list of texts negative sums do. */
static bool stays_hta_names(const struct hta_input *input, enum kernel_type type, uint32_t string,
                            const struct moments *durs) {
    const struct sutra_hta_options *options = &input->options;
    if (type != NO_TYPE || options->n_kept_annotations == 0)
        return durs->sum < 0;
    for (size_t i = 0; i < options->n_kept_annotations; i++)
        if (text_compare(input->rows.strings, string, TEXT_HAS, options->kept_annotations[i]))
            return true;
    return false;
}

/* Names of one type into rows[], which has room for all strings. */
static uint32_t gather(const struct hta_input *input, enum kernel_type type, const struct moments *by_name,
                       struct name_row *rows) {
    const struct strings *strings = input->rows.strings;
    uint32_t n = 0;
    for (uint32_t string = 0; string < strings->n; string++)
        if (type == NO_TYPE ? by_name[string].n > 0 : input->kernels.of_name[string] == type + 1)
            rows[n++] = (struct name_row){strings_text(strings, string), strings_length(strings, string),
                                          by_name[string], stays_hta_names(input, type, string, &by_name[string])};
    qsort(rows, n, sizeof *rows, compare_rows);
    return n;
}

static void add_row(const struct sutra_hta_options *options, struct sutra_table *table, enum kernel_type type,
                    const char *name, size_t length, const struct moments *durs) {
    double deviation = moments_deviation(durs, NS_PER_US);
    table_text(table, name, length);
    table_number(table, us_of_wide(durs->sum));
    table_number(table, us_of(durs->max));
    table_number(table, us_of(durs->min));
    table_real(table, durs->n > 1 ? deviation : 0);
    table_real(table, us_of_wide(durs->sum) / (double)durs->n);
    if (type != NO_TYPE)
        table_text(table, kernel_type_names[type], strlen(kernel_type_names[type]));
    table_integer(table, options->rank);
}

/* above[i]: whether name i is one of the others. */
static enum sutra_status judge(const struct name_row *rows, uint32_t n, uint64_t n_kept, double ratio, uint8_t *above,
                               struct arena *arena, struct sutra_error *error) {
    double *running = arena_take(arena, n, sizeof *running), *sorted = arena_take(arena, n, sizeof *sorted);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    row_t *order = arena_take(arena, n, sizeof *order);
    wide_t sum = 0;
    if (arena->failed)
        return error_memory(error);
    for (uint32_t i = 0; i < n; i++) {
        running[i] = us_of_wide(sum += rows[i].durs.sum);
        keys[i] = double_sort_key(running[i]);
        order[i] = i;
    }
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, n}, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = running[order[i]];
    double most = quantile_of(sorted, n, ratio);
    for (uint32_t i = 0; i < n; i++)
        above[i] = !rows[i].stays && (running[i] > most || i >= n_kept);
    return SUTRA_OK;
}

/* The sum of a name as the one value that it counts as; too large a sum is as large as can be. */
static int64_t sum_of(const struct name_row *row) {
    wide_t sum = row->durs.sum;
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

static enum sutra_status add_with_others(const struct sutra_hta_options *options, struct sutra_table *table,
                                         enum kernel_type type, const struct name_row *rows, uint32_t n,
                                         uint64_t n_kept, struct arena *arena, struct sutra_error *error) {
    struct moments others = {0};
    uint8_t *above = arena_take(arena, n, sizeof *above);
    enum sutra_status status =
        arena->failed ? error_memory(error) : judge(rows, n, n_kept, options->kept_ratio, above, arena, error);
    for (uint32_t i = 0; i < n && !status; i++) {
        struct moments sum = {0};
        bool named_so = rows[i].length == strlen(OTHERS) && memcmp(rows[i].name, OTHERS, strlen(OTHERS)) == 0;
        moments_add(above[i] || named_so ? &others : &sum, sum_of(&rows[i]));
        if (sum.n)
            add_row(options, table, type, rows[i].name, rows[i].length, &sum);
    }
    if (!status && others.n)
        add_row(options, table, type, OTHERS, strlen(OTHERS), &others);
    return status;
}

static enum sutra_status add_type(const struct sutra_hta_options *options, struct sutra_table *table,
                                  enum kernel_type type, const struct name_row *rows, uint32_t n, uint64_t n_kept,
                                  struct arena *arena, struct sutra_error *error) {
    if (n > n_kept)
        return add_with_others(options, table, type, rows, n, n_kept, arena, error);
    for (uint32_t i = 0; i < n; i++)
        add_row(options, table, type, rows[i].name, rows[i].length, &rows[i].durs);
    return SUTRA_OK;
}

/* ---- Order of a whole table ---- */

/* Of both kinds of tables; with a type the rank stands behind it. */
enum { COLUMN_NAME = 0, COLUMN_TYPE = 6, COLUMN_RANK = 7, COLUMN_RANK_ONLY = 6 };

static int compare_column(const struct sutra_table *table, uint32_t column, uint64_t a, uint64_t b) {
    size_t n_a, n_b;
    const char *text_a = table_get_text(table, column, a, &n_a), *text_b = table_get_text(table, column, b, &n_b);
    return compare_text(text_a, n_a, text_b, n_b);
}

static int compare_ranks(const struct sutra_table *table, uint32_t column, uint64_t a, uint64_t b) {
    int64_t rank_a = table_get_integer(table, column, a), rank_b = table_get_integer(table, column, b);
    return (rank_a > rank_b) - (rank_a < rank_b);
}

static int compare_places(const void *left, const void *right, void *arg) {
    const struct sutra_table *table = arg;
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    bool typed = table->n_columns > COLUMN_RANK;
    int order = typed ? compare_column(table, COLUMN_TYPE, a, b) : compare_ranks(table, COLUMN_RANK_ONLY, a, b);
    if (!order)
        order = compare_column(table, COLUMN_NAME, a, b);
    return order || !typed ? order : compare_ranks(table, COLUMN_RANK, a, b);
}

enum sutra_status hta_names_sort(struct sutra_table *table, struct arena *arena, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *order = arena_take(arena, (size_t)table->n_rows, sizeof *order);
    if (!order)
        return error_memory(error);
    for (uint64_t i = 0; i < table->n_rows; i++)
        order[i] = i;
    qsort_r(order, (size_t)table->n_rows, sizeof *order, compare_places, table);
    table_reorder(table, order);
    arena_release(arena, mark);
    return table->failed ? error_memory(error) : SUTRA_OK;
}

/* The rows of a table of names and their durations, of names that by_name has something of: without a type, which the
 * table then has no column for. */
static enum sutra_status hta_names_fill(const struct hta_input *input, struct sutra_table *table,
                                        const struct moments *by_name, struct arena *arena, struct sutra_error *error) {
    struct name_row *rows = arena_take(arena, input->rows.strings->n, sizeof *rows);
    if (!rows)
        return error_memory(error);
    uint32_t n = gather(input, NO_TYPE, by_name, rows);
    enum sutra_status status =
        add_type(&input->options, table, NO_TYPE, rows, n, input->options.n_annotations, arena, error);
    return status ? status : hta_names_sort(table, arena, error);
}

/* ---- Both tables ---- */

/* Moments of durations by name. */
static void sum_up(const struct hta_input *input, struct moments *by_name) {
    const struct hta_kernels *kernels = &input->kernels;
    for (row_t i = 0; i < kernels->n; i++)
        moments_add(&by_name[input->rows.events->name[kernels->event[i]]], kernels->end[i] - kernels->start[i]);
}

enum sutra_status hta_names(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    size_t n_strings = input->rows.strings->n;
    struct moments *by_name = arena_zeros(arena, n_strings, sizeof *by_name);
    struct name_row *rows = arena_take(arena, n_strings, sizeof *rows);
    struct sutra_table *plain = hta_table_begin(hta, SUTRA_HTA_KERNELS);
    struct sutra_table *memory = hta_table_begin(hta, SUTRA_HTA_KERNELS_MEMORY);
    enum sutra_status status = SUTRA_OK;
    if (arena->failed)
        return error_memory(error);
    sum_up(input, by_name);
    for (int type = 0; type <= KERNEL_MEMORY && !status; type++) {
        uint32_t n = gather(input, (enum kernel_type)type, by_name, rows);
        if (type != KERNEL_MEMORY)
            status = add_type(&input->options, plain, (enum kernel_type)type, rows, n, input->options.n_kernels, arena,
                              error);
        if (!status)
            status = add_type(&input->options, memory, (enum kernel_type)type, rows, n, input->options.n_kernels, arena,
                              error);
    }
    if (!status)
        status = hta_names_sort(plain, arena, error);
    return status ? status : hta_names_sort(memory, arena, error);
}

/*
 * How long the user's annotations lasted, by name: those on the host, and Kineto's copies of them
 * on streams, which last from the first to the last kernel that was launched in them.
 *
 * Annotations within others count in full, so that sums of several names say nothing. O(n), and a sort of the names.
 */

static enum sutra_status break_down(const struct hta_input *input, uint32_t category, enum sutra_hta_table id,
                                    const char *reason, struct arena *arena, struct sutra_hta *hta,
                                    struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct moments *by_name = arena_zeros(arena, rows->strings->n, sizeof *by_name);
    row_t n = 0;
    if (!by_name)
        return error_memory(error);
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(category_roles(rows->events, rows->roles, event) & category))
            continue;
        moments_add(&by_name[rows->events->name[event]], rows->dur[event]);
        n++;
    }
    if (n == 0) {
        hta->reasons[id] = reason;
        return SUTRA_OK;
    }
    return hta_names_fill(input, hta_table_begin(hta, id), by_name, arena, error);
}

enum sutra_status hta_annotations(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    enum sutra_status status =
        break_down(input, CATEGORY_GPU_ANNOTATION, SUTRA_HTA_GPU_ANNOTATIONS,
                   "no event has the category gpu_user_annotation: this PyTorch version does not record it, or no "
                   "record_function() launched a kernel",
                   arena, hta, error);
    if (status)
        return status;
    return break_down(input, CATEGORY_ANNOTATION, SUTRA_HTA_ANNOTATIONS,
                      "no event has the category user_annotation: annotate code with record_function()", arena, hta,
                      error);
}
