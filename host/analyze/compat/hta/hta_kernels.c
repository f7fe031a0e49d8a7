/*
 * hta_kernels.c - durations of kernels by type and name, and of user annotations by name.
 *
 * As in HTA: names by descending total. If there are more names than requested, the names after that number and the
 * names whose running total exceeds its own quantile (80 % by default) become "others", except names with a total below
 * 0, or, with a list of texts, names that contain one of them. Then every name counts as one value, its total: min, max
 * and mean of a name are its total, and "others" describes the totals of its names. O(k) for k kernels and O(n log n)
 * for n names.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"
#include "text/strings.h"

/*
 * ---- Short names: without brackets, and without all before the last space ----
 *
 *     void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 4>(...)    at::native::::CatArrayBatchedCopy
 */

/* Removes the text from the last bracket of a kind on; without such a bracket, all text. */
static void close_bracket(struct buffer *text, char open) {
    while (text->length && text->bytes[text->length - 1] != open)
        text->length--;
    text->length -= text->length > 0;
}

void hta_short_name(const char *name, size_t length, struct buffer *shortened) {
    shortened->length = 0;
    if (text_begins_with(name, length, "Memcpy") || text_begins_with(name, length, "Memset") ||
        text_begins_with(name, length, "dma") || (!memchr(name, '<', length) && !memchr(name, '(', length))) {
        buffer_append(shortened, name, length);
        return;
    }
    for (size_t i = 0; i < length && !shortened->failed; i++) {
        if (text_begins_with(name + i, length - i, "->"))
            i++;
        else if (name[i] == '>')
            close_bracket(shortened, '<');
        else if (name[i] == ')')
            close_bracket(shortened, '(');
        else
            buffer_append(shortened, name + i, 1);
    }
    size_t prefix = shortened->length;
    while (prefix && shortened->bytes[prefix - 1] != ' ')
        prefix--;
    shortened->length -= prefix;
    if (prefix)
        memmove(shortened->bytes, shortened->bytes + prefix, shortened->length);
}

/* ---- Rows of one type ---- */

#define OTHERS "others"

/* Kernels of one name. */
struct name_row {
    const char *name;
    size_t length;
    struct moments durs;
    bool is_kept; /* never one of the others */
};

static int compare_text(const char *a, size_t n_a, const char *b, size_t n_b) {
    int order = memcmp(a, b, MIN(n_a, n_b));
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* The largest sum first, then by name. */
static int compare_rows(const void *left, const void *right) {
    const struct name_row *a = left, *b = right;
    if (a->durs.sum != b->durs.sum)
        return a->durs.sum > b->durs.sum ? -1 : 1;
    return compare_text(a->name, a->length, b->name, b->length);
}

#define NO_TYPE KERNEL_N_TYPES /* annotations have no type */

/* Collects the names of one type in rows[], which has room for all strings. */
static uint32_t collect_names(const struct hta_input *input, enum kernel_type type, const struct moments *by_name,
                              struct name_row *rows) {
    const struct strings *strings = input->rows.strings;
    const struct sutra_hta_options *options = &input->options;
    uint32_t n = 0;
    for (uint32_t string = 0; string < strings->n; string++) {
        if (type == NO_TYPE ? by_name[string].n == 0 : input->kernels.of_name[string] != type + 1)
            continue;
        bool is_kept = false;
        if (type != NO_TYPE || options->n_kept_annotations == 0)
            is_kept = by_name[string].sum < 0;
        else
            for (size_t i = 0; i < options->n_kept_annotations && !is_kept; i++)
                is_kept = text_compare(strings, string, TEXT_HAS, options->kept_annotations[i]);
        rows[n++] =
            (struct name_row){strings_text(strings, string), strings_length(strings, string), by_name[string], is_kept};
    }
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
        table_words(table, kernel_type_names[type]);
    table_integer(table, options->rank);
}

/* Adds more names than requested: the last ones, and those with a running total above the quantile, as others. */
static enum sutra_status add_with_others(const struct sutra_hta_options *options, struct sutra_table *table,
                                         enum kernel_type type, const struct name_row *rows, uint32_t n,
                                         uint64_t n_kept, struct arena *arena, struct sutra_error *error) {
    double *running = arena_alloc(arena, n, sizeof *running), *sorted = arena_alloc(arena, n, sizeof *sorted);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    row_t *order = arena_alloc(arena, n, sizeof *order);
    struct moments others = {0};
    wide_t sum = 0;
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < n; i++) {
        running[i] = us_of_wide(sum += rows[i].durs.sum);
        keys[i] = double_sort_key(running[i]);
        order[i] = i;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, n}, error));
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = running[order[i]];
    double limit = quantile_of(sorted, n, options->kept_ratio);
    for (uint32_t i = 0; i < n; i++) {
        bool above = !rows[i].is_kept && (running[i] > limit || i >= n_kept);
        bool named_others = rows[i].length == strlen(OTHERS) && memcmp(rows[i].name, OTHERS, strlen(OTHERS)) == 0;
        wide_t total = rows[i].durs.sum; /* clipped to 64 bits */
        total = CLAMP(total, INT64_MIN, INT64_MAX);
        struct moments one = {0};
        moments_add(above || named_others ? &others : &one, (int64_t)total);
        if (one.n)
            add_row(options, table, type, rows[i].name, rows[i].length, &one);
    }
    if (others.n)
        add_row(options, table, type, OTHERS, strlen(OTHERS), &others);
    return SUTRA_OK;
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

/* ---- Order of a complete table ---- */

/* With and without types. */
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

static int compare_order(const void *left, const void *right, void *arg) {
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
    uint64_t *order = arena_alloc(arena, (size_t)table->n_rows, sizeof *order);
    TRY(arena_status(arena, error));
    for (uint64_t i = 0; i < table->n_rows; i++)
        order[i] = i;
    qsort_r(order, (size_t)table->n_rows, sizeof *order, compare_order, table);
    table_reorder(table, order);
    arena_release(arena, mark);
    return table->failed ? error_memory(error) : SUTRA_OK;
}

/* ---- Tables of kernels ---- */

enum sutra_status hta_names(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    size_t n_strings = input->rows.strings->n;
    struct moments *by_name = arena_zeros(arena, n_strings, sizeof *by_name);
    struct name_row *rows = arena_alloc(arena, n_strings, sizeof *rows);
    struct sutra_table *plain = result_table_begin(&hta->result, SUTRA_HTA_KERNELS);
    struct sutra_table *memory = result_table_begin(&hta->result, SUTRA_HTA_KERNELS_MEMORY);
    const uint64_t n_kept = input->options.n_kernels;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < input->kernels.n; i++)
        moments_add(&by_name[input->rows.events->name[input->kernels.event[i]]],
                    input->kernels.end[i] - input->kernels.start[i]);
    for (enum kernel_type type = 0; type <= KERNEL_MEMORY; type++) {
        uint32_t n = collect_names(input, type, by_name, rows);
        if (type != KERNEL_MEMORY)
            TRY(add_type(&input->options, plain, type, rows, n, n_kept, arena, error));
        TRY(add_type(&input->options, memory, type, rows, n, n_kept, arena, error));
    }
    TRY(hta_names_sort(plain, arena, error));
    return hta_names_sort(memory, arena, error);
}

/*
 * ---- Tables of user annotations: on the host, and Kineto's copies of them on streams ----
 *
 * Copies last from the first to the last kernel that was launched in the annotation. Nested annotations count in full,
 * so totals of several names cannot be added. O(n), and a sort of the names.
 */

static enum sutra_status add_annotations(const struct hta_input *input, uint32_t category, enum sutra_hta_table id,
                                         const char *reason, struct arena *arena, struct sutra_hta *hta,
                                         struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct moments *by_name = arena_zeros(arena, rows->strings->n, sizeof *by_name);
    struct name_row *names = arena_alloc(arena, rows->strings->n, sizeof *names);
    row_t n = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(category_roles(rows->events, rows->roles, event) & category))
            continue;
        moments_add(&by_name[rows->events->name[event]], rows->dur[event]);
        n++;
    }
    if (n == 0) {
        hta->result.reasons[id] = reason;
        return SUTRA_OK;
    }
    struct sutra_table *table = result_table_begin(&hta->result, id);
    uint32_t n_names = collect_names(input, NO_TYPE, by_name, names);
    TRY(add_type(&input->options, table, NO_TYPE, names, n_names, input->options.n_annotations, arena, error));
    return hta_names_sort(table, arena, error);
}

enum sutra_status hta_annotations(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    TRY(add_annotations(input, CATEGORY_GPU_ANNOTATION, SUTRA_HTA_GPU_ANNOTATIONS,
                        "no event has the category gpu_user_annotation: this PyTorch version does not record it, or no "
                        "record_function() launched a kernel",
                        arena, hta, error));
    return add_annotations(input, CATEGORY_ANNOTATION, SUTRA_HTA_ANNOTATIONS,
                           "no event has the category user_annotation: annotate code with record_function()", arena,
                           hta, error);
}
