/*
 * tracelens_unified.c - TraceLens' unified_perf_summary: the operators that stand for the GPU work of a trace, with
 * their kernel time, FLOPs and bytes, joined where names and arguments are equal. O(n log n) for n operators and
 * kernels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/tracelens_collect.h"
#include "analyze/operators/tracelens_details.h"
#include "analyze/pandas_stats.h"
#include "base/error.h"

struct unified {
    const struct op_input *input;
    const struct op_reading *reading;
    const struct tracelens_models *models;
    struct collected_ops ops;
    struct op_arguments arguments;
    struct strings names; /* of synthetic entries */
    uint32_t *name;       /* by entry: a string, of `names` for synthetic entries */
    uint8_t *category;    /* by entry: enum op_category */
    row_t n_real;         /* entries before the synthetic ones */
    double *busy_us;      /* by entry */
    struct model_figures *figures;
    bool has_figures;      /* any entry has */
    row_t *first, *device; /* kernels of entries */
    struct op_groups groups;
    struct value_stats *busy; /* by group */
    enum group_order order;   /* of the groups of entries, */
    bool has_unknown_rates;   /* and whether any rate is NaN, */
    bool has_unknown_bytes;   /* of FLOPs and of bytes */
    double *scratch;          /* room for two numbers of each entry */
};

/* ---- Names and categories ---- */

/* The name of a synthetic entry, "operator->kernel (Synthetic Op)"; STRING_NONE: out of memory. */
static uint32_t synthetic_name(struct unified *of, const struct collected_op *op, struct buffer *text) {
    static const char ending[] = " (Synthetic Op)";
    const struct strings *strings = of->reading->strings;
    uint32_t parent = host_name(of->reading, op->host);
    uint32_t kernel = of->reading->events->name[of->reading->devices.event[op->device]];
    text->length = 0;
    buffer_append(text, strings_text(strings, parent), strings_length(strings, parent));
    buffer_append(text, "->", 2);
    buffer_append(text, strings_text(strings, kernel), strings_length(strings, kernel));
    buffer_append(text, ending, sizeof ending - 1);
    return text->failed ? STRING_NONE : strings_intern(&of->names, text->bytes, text->length);
}

/* As TraceLens has it: by the name, else by the first kernel that the operator itself launched. */
static uint8_t category_of(const struct unified *of, const struct collected_op *op, const char *name, size_t length) {
    const struct op_charges *charges = &of->reading->charges;
    row_t charge = charges->of_host[op->host];
    if (op->kind == COLLECTED_GRADIENT)
        return OP_SDPA_BWD;
    if (charge == ROW_NONE)
        return (uint8_t)op_category_find(name, length, NULL, 0, OP_TABLE_TRACELENS);
    uint32_t kernel = of->reading->events->name[of->reading->devices.event[charges->device[charges->first[charge]]]];
    return (uint8_t)op_category_find(name, length, strings_text(of->reading->strings, kernel),
                                     strings_length(of->reading->strings, kernel), OP_TABLE_TRACELENS);
}

/* Numbers names, categories, threads and arguments. */
static enum sutra_status find_keys(struct unified *of, struct tuple *keys, struct arena *arena,
                                   struct sutra_error *error) {
    const struct thread_labels *labels = &of->models->labels;
    struct tuples threads = {0};
    struct buffer text = {0};
    of->name = arena_take(arena, of->ops.n, sizeof *of->name);
    of->category = arena_take(arena, of->ops.n, sizeof *of->category);
    bool ok = !arena->failed && strings_init(&of->names);
    for (row_t i = 0; i < of->ops.n && ok; i++) {
        const struct collected_op *op = &of->ops.list[i];
        bool synthetic = op->kind == COLLECTED_SYNTHETIC;
        const struct strings *strings = synthetic ? &of->names : of->reading->strings;
        uint32_t name = synthetic ? synthetic_name(of, op, &text) : host_name(of->reading, op->host);
        uint32_t thread = of->reading->hosts.thread[op->host];
        uint32_t where = tuples_number(
            &threads, (struct tuple){{labels->process[thread], labels->label[thread], labels->thread[thread], 0}});
        ok = name != STRING_NONE && where != TUPLE_NONE;
        of->name[i] = name;
        of->n_real += synthetic ? 0 : 1U;
        of->category[i] = ok ? category_of(of, op, strings_text(strings, name), strings_length(strings, name)) : 0;
        keys[i] = (struct tuple){{(value_key)name * 2 + synthetic, of->category[i], where, of->arguments.of[i]}};
    }
    tuples_free(&threads);
    buffer_free(&text);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Times and figures ---- */

static bool has_model(const struct collected_op *op) {
    return op->kind == COLLECTED_MODEL || op->kind == COLLECTED_GRADIENT;
}

static const struct op_flops *flops_of(const struct unified *of, const struct collected_op *op) {
    if (!has_model(op))
        return NULL;
    const struct op_flops *flops = op->kind == COLLECTED_MODEL ? of->models->works.flops : of->models->gradient_flops;
    flops += of->models->works.groups.of[op->place];
    return flops->missing ? NULL : flops;
}

static enum sutra_status find_figures(struct unified *of, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &of->reading->devices;
    row_t n = of->ops.n, *hosts = arena_take(arena, n, sizeof *hosts);
    int64_t *ticks = arena_take(arena, n, sizeof *ticks);
    of->busy_us = arena_take(arena, n, sizeof *of->busy_us);
    of->figures = arena_take(arena, n, sizeof *of->figures);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++)
        hosts[i] = of->ops.list[i].host;
    if (!status)
        status = op_reading_busy(of->reading, hosts, n, arena, ticks, error);
    for (row_t i = 0; i < n && !status; i++) {
        const struct collected_op *op = &of->ops.list[i];
        const struct op_flops *flops = flops_of(of, op);
        if (op->kind == COLLECTED_SYNTHETIC)
            ticks[i] = devices->stop[op->device] - devices->start[op->device];
        if (op->kind == COLLECTED_GRADIENT)
            ticks[i] = of->models->gradient_busy[op->place];
        of->busy_us[i] = op_us(of->reading, ticks[i]);
        of->figures[i] = flops
                             ? tracelens_figures(flops, of->busy_us[i])
                             : (struct model_figures){(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
        of->has_figures |= flops != NULL;
        of->has_unknown_rates |= isnan(of->figures[i].tera_flops_per_s);
        of->has_unknown_bytes |= isnan(of->figures[i].tera_bytes_per_s);
    }
    return status;
}

/* Kernels of each entry, in the order of their calls in the file. */
static enum sutra_status list_kernels(struct unified *of, struct arena *arena, struct sutra_error *error) {
    const struct call_links *links = &of->reading->links;
    of->first = arena_take(arena, (size_t)of->ops.n + 1, sizeof *of->first);
    of->device = arena_take(arena, (size_t)links->n + of->ops.n, sizeof *of->device);
    row_t n = 0;
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < of->ops.n && !status; i++) {
        const struct collected_op *op = &of->ops.list[i];
        row_t n_below = 1;
        of->first[i] = n;
        if (op->kind == COLLECTED_SYNTHETIC)
            of->device[n] = op->device;
        else
            n_below = tracelens_kernels_below(of->models, op->host, KERNELS_BY_CALL, of->device + n);
        if (n_below == ROW_NONE)
            return error_memory(error);
        n += n_below;
    }
    if (!status)
        of->first[of->ops.n] = n;
    return status;
}

/* ---- Columns ---- */

#define TEXT    SUTRA_COLUMN_TEXT
#define REAL    SUTRA_COLUMN_REAL
#define INTEGER SUTRA_COLUMN_INTEGER

/* `figures`: the column is there only where an operator has a model whose figures are known. */
static const struct unified_column {
    struct column_spec spec;
    bool figures;
} columns[] = {
    {{"name", TEXT}, false},
    {{"op category", TEXT}, false},
    {{"process_name", TEXT}, false},
    {{"process_label", TEXT}, false},
    {{"thread_name", TEXT}, false},
    {{"Input Dims", TEXT}, false},
    {{"Input type", TEXT}, false},
    {{"Input Strides", TEXT}, false},
    {{"Concrete Inputs", TEXT}, false},
    {{"ex_UID", INTEGER}, false},
    {{"operation_count", INTEGER}, false},
    {{"total_duration_us", REAL}, false},
    {{"mean_duration_us", REAL}, false},
    {{"std_duration_us", REAL}, false},
    {{"GFLOPS", REAL}, true},
    {{"Data Moved (MB)", REAL}, true},
    {{"FLOPS/Byte", REAL}, true},
    {{"Compute Spec", TEXT}, true},
    {{"TB/s_mean", REAL}, true},
    {{"TB/s_std", REAL}, true},
    {{"TFLOPS/s_mean", REAL}, true},
    {{"TFLOPS/s_std", REAL}, true},
    {{"Kernel Time (µs)_mean", REAL}, false},
    {{"Kernel Time (µs)_std", REAL}, false},
    {{"Kernel Time (µs)_sum", REAL}, false},
    {{"duration_us_median", REAL}, false},
    {{"duration_us_min", REAL}, false},
    {{"duration_us_max", REAL}, false},
    {{"TB/s_median", REAL}, true},
    {{"TB/s_min", REAL}, true},
    {{"TB/s_max", REAL}, true},
    {{"TFLOPS/s_median", REAL}, true},
    {{"TFLOPS/s_min", REAL}, true},
    {{"TFLOPS/s_max", REAL}, true},
    {{"Kernel Time (µs)_median", REAL}, false},
    {{"Kernel Time (µs)_min", REAL}, false},
    {{"Kernel Time (µs)_max", REAL}, false},
    {{"kernel_details_summary", TEXT}, false},
    {{"trunc_kernel_details", TEXT}, false},
    {{"perf_params", TEXT}, false},
    {{"has_perf_model", TEXT}, false},
    {{"Percentage (%)", REAL}, false},
    {{"Cumulative Percentage (%)", REAL}, false},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static bool has_integer_durations(const struct unified *of) {
    const struct op_reading *reading = of->reading;
    for (row_t i = 0; i < of->ops.n; i++)
        if (number_is_double(number_at(reading->events->dur, reading->hosts.event[of->ops.list[i].host])))
            return false;
    return true;
}

static struct sutra_table *begin_table(const struct unified *of, struct sutra_operators *operators) {
    static const char *const durations[] = {"total_duration_us", "duration_us_min", "duration_us_max", NULL};
    static const char *const times[] = {"Kernel Time (µs)_sum", "Kernel Time (µs)_min", "Kernel Time (µs)_max", NULL};
    struct column_spec specs[N_COLUMNS];
    uint32_t n = 0;
    for (int i = 0; i < N_COLUMNS; i++)
        if (of->has_figures || !columns[i].figures)
            specs[n++] = columns[i].spec;
    struct sutra_table *table = op_table_begin_with(operators, SUTRA_TRACELENS_UNIFIED, specs, n);
    if (has_integer_durations(of))
        tracelens_retype_integers(table, durations);
    if (of->input->integer_times)
        tracelens_retype_integers(table, times);
    return table;
}

/* ---- Rows ---- */

/* Synthetic entries are numbered after all events. */
static row_t uid_of(const struct unified *of, row_t entry) {
    return entry < of->n_real ? of->reading->hosts.event[of->ops.list[entry].host]
                              : of->reading->events->n + (entry - of->n_real);
}

static void write_names(const struct unified *of, row_t entry, struct sutra_table *table) {
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_TYPES, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct collected_op *op = &of->ops.list[entry];
    const struct thread_labels *labels = &of->models->labels;
    uint32_t thread = of->reading->hosts.thread[op->host];
    table_string(table, op->kind == COLLECTED_SYNTHETIC ? &of->names : of->reading->strings, of->name[entry]);
    table_words(table, op_category_names[of->category[entry]]);
    table_string(table, &labels->texts, labels->process[thread]);
    table_string(table, &labels->texts, labels->label[thread]);
    table_string(table, &labels->texts, labels->thread[thread]);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        table_string(table, &of->arguments.texts, op_argument_text(&of->arguments, arguments[i], entry));
}

/* A column of the members of a group; `field` is an offset in struct model_figures. */
static struct value_stats figure_stats(const struct unified *of, const row_t *members, row_t n, size_t field) {
    for (row_t i = 0; i < n; i++)
        memcpy(&of->scratch[i], (const char *)&of->figures[members[i]] + field, sizeof(double));
    bool unknown =
        field == offsetof(struct model_figures, tera_bytes_per_s) ? of->has_unknown_bytes : of->has_unknown_rates;
    return pandas_stats(of->scratch, n, unknown ? GROUPS_MIXED : of->order, of->scratch + n);
}

static struct value_stats duration_stats(const struct unified *of, const row_t *members, row_t n) {
    const struct op_reading *reading = of->reading;
    for (row_t i = 0; i < n; i++)
        of->scratch[i] =
            number_as_double(number_at(reading->events->dur, reading->hosts.event[of->ops.list[members[i]].host]));
    return pandas_stats(of->scratch, n, of->order, of->scratch + n);
}

/* The first member with figures; the first of all where there is none. */
static row_t first_known(const struct unified *of, const row_t *members, row_t n) {
    for (row_t i = 0; i < n; i++)
        if (flops_of(of, &of->ops.list[members[i]]))
            return members[i];
    return members[0];
}

static const struct model_variant *variant_of(const struct unified *of, row_t entry) {
    const struct collected_op *op = &of->ops.list[entry];
    return flops_of(of, op) ? &of->models->variants[of->models->variant_of[op->place]] : NULL;
}

static void write_figures(const struct unified *of, row_t known, const struct value_stats *bytes,
                          const struct value_stats *flops, struct sutra_table *table) {
    const struct model_figures *figures = &of->figures[known];
    const struct model_variant *variant = variant_of(of, known);
    table_real(table, figures->giga_flops);
    table_real(table, figures->mega_bytes);
    table_real(table, figures->flops_per_byte);
    table_words(table, variant ? variant->spec : "");
    table_real(table, bytes->mean);
    table_real(table, bytes->std);
    table_real(table, flops->mean);
    table_real(table, flops->std);
}

static void write_order(const struct value_stats *stats, struct sutra_table *table) {
    table_real(table, stats->median);
    table_number(table, stats->min);
    table_number(table, stats->max);
}

static void write_group(const struct unified *of, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const row_t *members = of->groups.member + of->groups.first[group];
    row_t n = of->groups.first[group + 1] - of->groups.first[group], known = first_known(of, members, n);
    const struct value_stats *busy = &of->busy[group];
    struct value_stats bytes = figure_stats(of, members, n, offsetof(struct model_figures, tera_bytes_per_s));
    struct value_stats flops = figure_stats(of, members, n, offsetof(struct model_figures, tera_flops_per_s));
    struct value_stats durations = duration_stats(of, members, n);
    const struct kernel_lists lists = {of->first, of->device};
    const struct model_variant *variant = variant_of(of, known);
    write_names(of, members[0], table);
    table_integer(table, uid_of(of, members[0]));
    table_integer(table, n);
    table_number(table, durations.sum);
    table_real(table, durations.mean);
    table_real(table, durations.std);
    if (of->has_figures)
        write_figures(of, known, &bytes, &flops, table);
    table_real(table, busy->mean);
    table_real(table, busy->std);
    table_number(table, busy->sum);
    write_order(&durations, table);
    if (of->has_figures) {
        write_order(&bytes, table);
        write_order(&flops, table);
    }
    write_order(busy, table);
    tracelens_details_write(of->input, &lists, members, n, arena, table);
    table_string(table, &of->models->texts, variant ? variant->params : STRING_NONE);
    table_words(table, has_model(&of->ops.list[members[0]]) ? "True" : "False");
}

static int by_time_and_uid(const void *left, const void *right, void *arg) {
    const struct unified *of = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (of->busy[a].sum != of->busy[b].sum)
        return of->busy[a].sum > of->busy[b].sum ? -1 : 1;
    row_t entry_a = of->groups.member[of->groups.first[a]], entry_b = of->groups.member[of->groups.first[b]];
    row_t uid_a = uid_of(of, entry_a), uid_b = uid_of(of, entry_b);
    return (uid_a > uid_b) - (uid_a < uid_b);
}

static enum sutra_status write_groups(struct unified *of, struct arena *arena, struct sutra_operators *operators,
                                      struct sutra_error *error) {
    uint32_t n = of->groups.n, *order = arena_take(arena, n, sizeof *order);
    double *sums = arena_take(arena, n, sizeof *sums), so_far = 0;
    of->busy = arena_take(arena, n, sizeof *of->busy);
    of->scratch = arena_take(arena, (size_t)of->ops.n * 2, sizeof *of->scratch);
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    of->order = pandas_group_order(of->groups.of, of->ops.n, NULL);
    for (uint32_t g = 0; g < n; g++) {
        row_t first = of->groups.first[g], n_members = of->groups.first[g + 1] - first;
        for (row_t i = 0; i < n_members; i++)
            of->scratch[i] = of->busy_us[of->groups.member[first + i]];
        of->busy[g] = pandas_stats(of->scratch, n_members, of->order, of->scratch + n_members);
        order[g] = g;
    }
    if (n)
        qsort_r(order, n, sizeof *order, by_time_and_uid, of);
    for (uint32_t i = 0; i < n; i++)
        sums[i] = of->busy[order[i]].sum;
    double all = numpy_sum(sums, n);
    struct sutra_table *table = begin_table(of, operators);
    for (uint32_t i = 0; i < n; i++) {
        double share = sums[i] / all * 100;
        write_group(of, order[i], arena, table);
        table_real(table, share);
        table_real(table, so_far += share);
    }
    return SUTRA_OK;
}

enum sutra_status tracelens_unified(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct unified of = {.input = input, .reading = input->reading, .models = input->models};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = tracelens_collect(of.models, arena, &of.ops, error);
    row_t *hosts = status ? NULL : arena_take(arena, of.ops.n, sizeof *hosts);
    struct tuple *keys = status ? NULL : arena_take(arena, of.ops.n, sizeof *keys);
    if (!status)
        status = arena_status(arena, error);
    for (row_t i = 0; i < of.ops.n && !status; i++)
        hosts[i] = of.ops.list[i].host;
    if (!status)
        status = op_arguments_read(input->context, of.reading, hosts, of.ops.n, arena, &of.arguments, error);
    if (!status)
        status = find_keys(&of, keys, arena, error);
    if (!status)
        status = op_groups_make(keys, of.ops.n, arena, &of.groups, error);
    if (!status)
        status = find_figures(&of, arena, error);
    if (!status)
        status = list_kernels(&of, arena, error);
    if (!status)
        status = write_groups(&of, arena, operators, error);
    op_arguments_free(&of.arguments);
    strings_free(&of.names);
    arena_release(arena, mark);
    return status;
}
