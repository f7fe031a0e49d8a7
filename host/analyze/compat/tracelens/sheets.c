/*
 * sheets.c - TraceLens' table of each kind of operator: GEMM, CONV_fwd, SDPA_bwd, UnaryElementwise, ...
 *
 *     models --> operators of a family, or their gradients --> groups, and a text for each parameter of each group
 *
 * A row contains operators of one name with equal parameters of their model; each parameter is a column, "param: M".
 * Tables of gradients have the forward operator's name and parameters, and the time of the event of autograd that
 * evaluates the gradient.
 *
 * Cost: O(n log n), and O(k log k) for the kernels below all operators of a sheet.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "analyze/table.h"
#include "base/error.h"
#include "match/key_index.h"
#include "text/numbers.h"
#include "text/strings.h"

/* Limit of the parameters of all models of a sheet. */
#define SHEET_PARAMS_MAX 64

enum sheet_family {
    SHEET_GEMM,
    SHEET_CONV,
    SHEET_SDPA,
    SHEET_UNARY,
    SHEET_BINARY,
    SHEET_NORM,
    SHEET_REDUCE,
    SHEET_NONE
};

enum sheet_part { PART_ALL, PART_FORWARD, PART_BACKWARD };

/* A table: of a family forward and backward operators, or both. */
struct sheet_spec {
    enum sutra_tracelens_table id;
    enum sheet_family family;
    enum sheet_part part;
};

/* A parameter's column and the kinds of its values. */
struct param_column {
    const char *name;
    bool has_integer, has_real, has_other, is_missing;
};

struct sheet {
    const struct tracelens_input *input;
    const struct launch_model *model;
    const struct tracelens_models *models;
    const struct sheet_spec *spec;
    bool gradients;       /* rows are of gradients */
    row_t n, *perf_model; /* operators */
    struct row_groups groups;
    uint32_t n_params;
    struct param_column params[SHEET_PARAMS_MAX];
    struct strings texts;
    uint32_t *cells;                           /* by group and parameter: a string of `texts`, or STRING_NONE */
    uint32_t *shown, n_shown;                  /* groups that are written, in order */
    enum group_order order;                    /* of the groups of operators */
    bool has_unknown_rates, has_unknown_bytes; /* a rate of FLOPs or of bytes is NaN */
    struct op_inputs_parser parser;
    struct model_params found; /* of the latest variant */
};

static inline row_t sheet_group_size(const struct sheet *sheet, uint32_t group) {
    return sheet->groups.first[group + 1] - sheet->groups.first[group];
}

/* The model of a member of a group. */
static inline row_t sheet_member(const struct sheet *sheet, uint32_t group, row_t i) {
    return sheet->perf_model[sheet->groups.member[sheet->groups.first[group] + i]];
}

/* ---- Operators of a sheet, in groups of equal name and parameters ---- */

static enum sheet_family family_of(const struct op_kind *kind) {
    switch (kind->category) {
    case OP_GEMM:
        return SHEET_GEMM;
    case OP_CONV_FWD:
    case OP_CONV_BWD:
        return SHEET_CONV;
    case OP_SDPA_FWD:
    case OP_SDPA_BWD:
        return SHEET_SDPA;
    case OP_NORM_FWD:
    case OP_NORM_BWD:
        return SHEET_NORM;
    case OP_REDUCE:
        return SHEET_REDUCE;
    case OP_ELEMENTWISE:
        return kind->tracelens == FORMULA_BINARY ? SHEET_BINARY : SHEET_UNARY;
    default:
        return SHEET_NONE;
    }
}

/* FLOPs and bytes of an operator, or of its gradient, and its busy time. */
static const struct op_flops *flops_of(const struct sheet *sheet, row_t perf_model) {
    const struct tracelens_models *models = sheet->models;
    bool own = !sheet->gradients || sheet->spec->family == SHEET_REDUCE;
    return &(own ? models->costs.flops : models->gradient_flops)[models->costs.groups.of[perf_model]];
}

static double busy_us_of(const struct sheet *sheet, row_t perf_model) {
    return launch_model_us(sheet->model,
                           (sheet->gradients ? sheet->models->gradient_busy : sheet->models->busy)[perf_model]);
}

static enum sutra_status group_operators(struct sheet *sheet, struct arena *arena, struct sutra_error *error) {
    const struct tracelens_models *models = sheet->models;
    struct tuple *keys = arena_alloc(arena, models->costs.n, sizeof *keys);
    sheet->perf_model = arena_alloc(arena, models->costs.n, sizeof *sheet->perf_model);
    TRY(arena_status(arena, error));
    for (row_t perf_model = 0; perf_model < models->costs.n; perf_model++) {
        const struct op_kind *kind = tracelens_model_kind(models, perf_model);
        if (family_of(kind) != sheet->spec->family || flops_of(sheet, perf_model)->missing ||
            (sheet->gradients && !(tracelens_has_gradient(kind) && models->gradient[perf_model] != ROW_NONE)))
            continue;
        keys[sheet->n] = (struct tuple){{host_name(sheet->model, models->host[perf_model]),
                                         models->variants[models->variant_of[perf_model]].params, 0, 0}};
        struct model_figures figures = tracelens_figures(flops_of(sheet, perf_model), busy_us_of(sheet, perf_model));
        sheet->has_unknown_rates |= isnan(figures.tera_flops_per_s);
        sheet->has_unknown_bytes |= isnan(figures.tera_bytes_per_s);
        sheet->perf_model[sheet->n++] = perf_model;
    }
    return row_groups_make(keys, sheet->n, arena, &sheet->groups, error);
}

/* ---- Parameters, as the columns of pandas have them: a missing value turns integers into real numbers ---- */

/* Fills in the parameters of a group; false: out of memory. */
static bool find_params(struct sheet *sheet, uint32_t group) {
    const struct tracelens_models *models = sheet->models;
    const struct model_variant *variant = &models->variants[models->variant_of[sheet_member(sheet, group, 0)]];
    struct op_inputs inputs;
    return op_costs_inputs(&models->costs, variant->group, &sheet->parser, &inputs) &&
           tracelens_params_find(tracelens_model_kind(models, sheet_member(sheet, group, 0)), &inputs,
                                 variant->transposes, &sheet->found);
}

static const struct model_param *param_named(const struct sheet *sheet, const char *name) {
    for (uint32_t i = 0; i < sheet->found.n; i++)
        if (strcmp(sheet->found.list[i].name, name) == 0)
            return &sheet->found.list[i];
    return NULL;
}

/* Finds the columns, in the order in which operators of the file have the parameters. False: out of memory. */
static bool find_columns(struct sheet *sheet) {
    for (uint32_t g = 0; g < sheet->groups.n; g++) {
        if (!find_params(sheet, g))
            return false;
        for (uint32_t i = 0; i < sheet->found.n; i++) {
            const char *name = sheet->found.list[i].name;
            bool exists = false;
            for (uint32_t k = 0; k < sheet->n_params && !exists; k++)
                exists = strcmp(sheet->params[k].name, name) == 0;
            if (!exists && sheet->n_params < SHEET_PARAMS_MAX)
                sheet->params[sheet->n_params++] = (struct param_column){.name = name, .is_missing = g > 0};
        }
        for (uint32_t i = 0; i < sheet->n_params; i++) {
            struct param_column *column = &sheet->params[i];
            const struct model_param *param = param_named(sheet, column->name);
            bool is_missing = !param || param->kind == PARAM_NONE;
            column->is_missing |= is_missing;
            column->has_integer |= !is_missing && param->kind == PARAM_INTEGER;
            column->has_real |= !is_missing && param->kind == PARAM_REAL;
            column->has_other |= !is_missing && param->kind != PARAM_INTEGER && param->kind != PARAM_REAL;
        }
    }
    return true;
}

/* Finds the text that pandas writes for a parameter: a string, STRING_NONE if missing. False: out of memory. */
static bool find_cell(struct sheet *sheet, const struct param_column *column, uint32_t *cell) {
    const struct model_param *param = param_named(sheet, column->name);
    bool real = column->has_integer && !column->has_other && (column->is_missing || column->has_real);
    char number[NUMBER_TEXT_MAX];
    *cell = STRING_NONE;
    if (!param || param->kind == PARAM_NONE)
        return true;
    if (param->kind == PARAM_INTEGER && real)
        *cell = strings_intern(&sheet->texts, number, double_format(param->number, number));
    else
        *cell = strings_intern(&sheet->texts, sheet->found.text.bytes + param->begin, param->length);
    return *cell != STRING_NONE;
}

/* Missing cells are last. */
static int compare_cells(const struct sheet *sheet, uint32_t a, uint32_t b) {
    if (a == b)
        return 0;
    if (a == STRING_NONE || b == STRING_NONE)
        return a == STRING_NONE ? 1 : -1;
    return strcmp(strings_text(&sheet->texts, a), strings_text(&sheet->texts, b));
}

static int by_key(const void *left, const void *right, void *arg) {
    const struct sheet *sheet = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct host_rows *hosts = &sheet->model->hosts;
    const struct strings *strings = sheet->model->strings;
    int order = strcmp(strings_text(strings, hosts->name[sheet->models->host[sheet_member(sheet, a, 0)]]),
                       strings_text(strings, hosts->name[sheet->models->host[sheet_member(sheet, b, 0)]]));
    for (uint32_t i = 0; i < sheet->n_params && !order; i++)
        order = compare_cells(sheet, sheet->cells[(size_t)a * sheet->n_params + i],
                              sheet->cells[(size_t)b * sheet->n_params + i]);
    return order ? order : (a > b) - (a < b);
}

/* Groups the operators of a table, or the gradients; `sheet` needs sheet_free() in any case. */
static enum sutra_status sheet_make(const struct tracelens_input *input, const struct sheet_spec *spec, bool gradients,
                                    struct arena *arena, struct sheet *sheet, struct sutra_error *error) {
    *sheet = (struct sheet){
        .input = input, .model = input->model, .models = input->models, .spec = spec, .gradients = gradients};
    TRY(group_operators(sheet, arena, error));
    TRY_ALLOC(find_columns(sheet) && strings_init(&sheet->texts), error);
    uint32_t n = sheet->groups.n, n_params = sheet->n_params;
    uint32_t *rank = arena_alloc(arena, n, sizeof *rank), *sorted = arena_alloc(arena, n, sizeof *sorted);
    sheet->cells = arena_alloc(arena, (size_t)n * n_params, sizeof *sheet->cells);
    TRY(arena_status(arena, error));
    for (uint32_t g = 0; g < n; g++) {
        TRY_ALLOC(find_params(sheet, g), error);
        for (uint32_t i = 0; i < n_params; i++)
            TRY_ALLOC(find_cell(sheet, &sheet->params[i], &sheet->cells[(size_t)g * n_params + i]), error);
    }
    /* pandas adds up in an order that depends on the groups' sorted names and parameters */
    for (uint32_t g = 0; g < n; g++)
        sorted[g] = g;
    if (n)
        qsort_r(sorted, n, sizeof *sorted, by_key, sheet);
    for (uint32_t i = 0; i < n; i++)
        rank[sorted[i]] = i;
    sheet->order = pandas_group_order(sheet->groups.of, sheet->n, rank);
    return SUTRA_OK;
}

static void sheet_free(struct sheet *sheet) {
    strings_free(&sheet->texts);
    op_inputs_parser_free(&sheet->parser);
    buffer_free(&sheet->found.text);
}

/* ---- The tables ---- */

static const struct sheet_spec specs[] = {
    {SUTRA_TRACELENS_GEMM, SHEET_GEMM, PART_ALL},
    {SUTRA_TRACELENS_CONV_FWD, SHEET_CONV, PART_FORWARD},
    {SUTRA_TRACELENS_CONV_BWD, SHEET_CONV, PART_BACKWARD},
    {SUTRA_TRACELENS_SDPA_FWD, SHEET_SDPA, PART_FORWARD},
    {SUTRA_TRACELENS_SDPA_BWD, SHEET_SDPA, PART_BACKWARD},
    {SUTRA_TRACELENS_UNARY, SHEET_UNARY, PART_ALL},
    {SUTRA_TRACELENS_BINARY, SHEET_BINARY, PART_ALL},
    {SUTRA_TRACELENS_NORMALIZATION, SHEET_NORM, PART_ALL},
    {SUTRA_TRACELENS_REDUCE_FWD, SHEET_REDUCE, PART_FORWARD},
    {SUTRA_TRACELENS_REDUCE_BWD, SHEET_REDUCE, PART_BACKWARD},
};

/* The rows of one sheet or of two. */
struct sheet_rows {
    struct sheet *sheet; /* whose rows are written */
    uint32_t n_params, n_front;
    const char *params[2 * SHEET_PARAMS_MAX]; /* columns; from n_front on they follow all other columns */
    struct value_stats *busy;                 /* by group */
    uint32_t *shown, n_shown;                 /* groups that are written, in order */
    double *scratch;
    struct buffer text;
};

/* ---- Columns ---- */

/* The cells of add_stats(). */
#define STATS_COLUMNS(name)                                                                                            \
    REAL(name "_mean"), REAL(name "_median"), REAL(name "_std"), REAL(name "_min"), REAL(name "_max")

static const struct column_spec columns[] = {
    REAL("GFLOPS_first"),          REAL("Data Moved (MB)_first"),
    REAL("FLOPS/Byte_first"),      STATS_COLUMNS("TB/s"),
    STATS_COLUMNS("TFLOPS/s"),     TEXT("process_name_first"),
    TEXT("process_label_first"),   TEXT("thread_name_first"),
    TEXT("Compute Spec"),          TEXT("kernel_details__summarize_kernel_stats"),
    TEXT("trunc_kernel_details"),  TEXT("Input Dims_first"),
    TEXT("Input type_first"),      TEXT("Input Strides_first"),
    TEXT("Concrete Inputs_first"), STATS_COLUMNS("Kernel Time (µs)"),
    REAL("Kernel Time (µs)_sum"),  INTEGER("name_count"),
    INTEGER("UID_first"),
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static row_t count_below(const struct sheet *sheet, row_t perf_model) {
    const struct tracelens_models *models = sheet->models;
    row_t host = sheet->gradients ? models->gradient[perf_model] : models->host[perf_model];
    const struct launch_links *links = &sheet->model->links;
    return links->first[sheet->model->hosts.end[host]] - links->first[host];
}

/* Columns of the operators' own parameters are first; further parameters of the forward sheet are last. */
static struct sutra_table *begin_table(const struct sheet_rows *rows, struct sutra_operators *operators) {
    static const char *const times[] = {"Kernel Time (µs)_min", "Kernel Time (µs)_max", "Kernel Time (µs)_sum", NULL};
    const struct sheet_spec *spec = rows->sheet->spec;
    struct column_spec all[1 + 2 * SHEET_PARAMS_MAX + N_COLUMNS] = {TEXT("name")};
    uint32_t n = 1;
    for (uint32_t i = 0; i < rows->n_front; i++)
        all[n++] = (struct column_spec)TEXT(rows->params[i]);
    for (int i = 0; i < N_COLUMNS; i++)
        all[n++] = columns[i];
    for (uint32_t i = rows->n_front; i < rows->n_params; i++)
        all[n++] = (struct column_spec)TEXT(rows->params[i]);
    struct sutra_table *table = result_table_begin_with(&operators->result, spec->id, all, n);
    bool integers = true; /* if all times are, or if no operator has kernels */
    for (row_t i = 0; i < rows->sheet->n && !rows->sheet->input->integer_times; i++)
        integers &= count_below(rows->sheet, rows->sheet->perf_model[i]) == 0;
    if (integers)
        tracelens_retype_integers(table, times);
    return table;
}

/* ---- Rows ---- */

/* A column of the members of a group; `field` is an offset in struct model_figures. */
static struct value_stats figure_stats(const struct sheet_rows *rows, uint32_t group, size_t field) {
    const struct sheet *sheet = rows->sheet;
    row_t n = sheet_group_size(sheet, group);
    for (row_t i = 0; i < n; i++) {
        row_t perf_model = sheet_member(sheet, group, i);
        struct model_figures figures = tracelens_figures(flops_of(sheet, perf_model), busy_us_of(sheet, perf_model));
        memcpy(&rows->scratch[i], (const char *)&figures + field, sizeof(double));
    }
    bool unknown =
        field == offsetof(struct model_figures, tera_bytes_per_s) ? sheet->has_unknown_bytes : sheet->has_unknown_rates;
    return pandas_stats(rows->scratch, n, unknown ? GROUPS_MIXED : sheet->order, rows->scratch + n);
}

static void add_stats(const struct value_stats *stats, struct sutra_table *table) {
    table_real(table, stats->mean);
    table_real(table, stats->median);
    table_real(table, stats->std);
    table_number(table, stats->min);
    table_number(table, stats->max);
}

/* Adds the columns about the kernels of all members, each member's kernels by start. */
static void add_kernels(const struct sheet *sheet, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const struct tracelens_models *models = sheet->models;
    struct arena_mark mark = arena_mark(arena);
    row_t n = sheet_group_size(sheet, group), n_kernels = 0;
    size_t capacity = 0;
    for (row_t i = 0; i < n; i++)
        capacity += count_below(sheet, sheet_member(sheet, group, i));
    row_t *first = arena_alloc(arena, (size_t)n + 1, sizeof *first), *members = arena_alloc(arena, n, sizeof *members);
    row_t *device = arena_alloc(arena, capacity, sizeof *device);
    table->failed |= arena->failed || capacity > ROW_LIMIT;
    for (row_t i = 0; i < n && !table->failed; i++) {
        row_t perf_model = sheet_member(sheet, group, i);
        row_t host = sheet->gradients ? models->gradient[perf_model] : models->host[perf_model];
        row_t n_below = tracelens_kernels_below(models, host, KERNELS_BY_START, device + n_kernels);
        table->failed |= n_below == ROW_NONE;
        members[i] = i;
        first[i] = n_kernels;
        n_kernels += n_below;
    }
    if (!table->failed) {
        first[n] = n_kernels;
        tracelens_details_write(sheet->input, &(struct kernel_lists){first, device}, members, n, arena, table);
    }
    arena_release(arena, mark);
}

/* Turns Python's text of tuples into lists: ((512,), ()) becomes [[512], []]. Text in quotes stays. */
static void append_as_lists(struct buffer *out, const char *text, size_t length) {
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quote && c == '\\' && i + 1 < length) {
            buffer_append(out, text + i++, 2);
            continue;
        }
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == ',' && i + 1 < length && text[i + 1] == ')')
            continue;
        else if (c == '(' || c == ')')
            c = c == '(' ? '[' : ']';
        buffer_append(out, &c, 1);
    }
}

/* Adds the first argument of the group that is not missing. */
static void add_argument(struct sheet_rows *rows, uint32_t group, enum op_argument argument,
                         struct sutra_table *table) {
    const struct sheet *sheet = rows->sheet;
    const struct op_arguments *arguments = &sheet->models->costs.arguments;
    uint32_t text = 0;
    for (row_t i = 0; i < sheet_group_size(sheet, group) && !text; i++)
        text = op_argument_text(arguments, argument, sheet_member(sheet, group, i));
    rows->text.length = 0;
    const char *bytes = strings_text(&arguments->texts, text);
    if (*bytes == '(')
        append_as_lists(&rows->text, bytes, strings_length(&arguments->texts, text));
    else
        buffer_append(&rows->text, bytes, strings_length(&arguments->texts, text));
    table->failed |= rows->text.failed;
    table_text(table, rows->text.bytes ? rows->text.bytes : "", rows->text.length);
}

static void add_param_cells(const struct sheet_rows *rows, uint32_t group, uint32_t first, uint32_t end,
                            struct sutra_table *table) {
    const struct sheet *sheet = rows->sheet;
    for (uint32_t i = first; i < end; i++) {
        uint32_t cell = STRING_NONE;
        for (uint32_t k = 0; k < sheet->n_params; k++)
            if (strcmp(sheet->params[k].name, rows->params[i]) == 0)
                cell = sheet->cells[(size_t)group * sheet->n_params + k];
        table_string(table, &sheet->texts, cell);
    }
}

static void add_group(struct sheet_rows *rows, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const struct sheet *sheet = rows->sheet;
    const struct tracelens_models *models = sheet->models;
    const struct thread_labels *labels = &models->labels;
    row_t perf_model = sheet_member(sheet, group, 0), host = models->host[perf_model];
    uint32_t thread = sheet->model->hosts.thread[host];
    struct model_figures figures = tracelens_figures(flops_of(sheet, perf_model), 0);
    struct value_stats bytes = figure_stats(rows, group, offsetof(struct model_figures, tera_bytes_per_s));
    struct value_stats flops = figure_stats(rows, group, offsetof(struct model_figures, tera_flops_per_s));
    table_string(table, sheet->model->strings, host_name(sheet->model, host));
    add_param_cells(rows, group, 0, rows->n_front, table);
    table_real(table, figures.giga_flops);
    table_real(table, figures.mega_bytes);
    table_real(table, figures.flops_per_byte);
    add_stats(&bytes, table);
    add_stats(&flops, table);
    table_string(table, &labels->texts, labels->process[thread]);
    table_string(table, &labels->texts, labels->label[thread]);
    table_string(table, &labels->texts, labels->thread[thread]);
    table_words(table, models->variants[models->variant_of[perf_model]].spec);
    add_kernels(sheet, group, arena, table);
    for (int argument = 0; argument < N_ARGUMENTS; argument++)
        add_argument(rows, group, (enum op_argument)argument, table);
    add_stats(&rows->busy[group], table);
    table_number(table, rows->busy[group].sum);
    table_integer(table, sheet_group_size(sheet, group));
    table_integer(table, sheet->model->hosts.event[host]);
    add_param_cells(rows, group, rows->n_front, rows->n_params, table);
}

static row_t uid_of(const struct sheet *sheet, uint32_t group) {
    return sheet->model->hosts.event[sheet->models->host[sheet_member(sheet, group, 0)]];
}

static int by_time_and_uid(const void *left, const void *right, void *arg) {
    const struct sheet_rows *rows = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (rows->busy[a].sum != rows->busy[b].sum)
        return rows->busy[a].sum > rows->busy[b].sum ? -1 : 1;
    row_t uid_a = uid_of(rows->sheet, a), uid_b = uid_of(rows->sheet, b);
    return (uid_a > uid_b) - (uid_a < uid_b);
}

/* Adds the parameters of a sheet that are not yet columns. */
static void add_params(struct sheet_rows *rows, const struct sheet *sheet) {
    for (uint32_t i = 0; i < sheet->n_params; i++) {
        bool there = false;
        for (uint32_t k = 0; k < rows->n_params && !there; k++)
            there = strcmp(rows->params[k], sheet->params[i].name) == 0;
        if (!there)
            rows->params[rows->n_params++] = sheet->params[i].name;
    }
}

/* Adds the rows of a sheet to its table, which is made with its first row. In a table of one part, a sheet that is not
 * of gradients contains either the operators that TraceLens moves to the backward sheet or all other operators. */
static enum sutra_status add_rows(struct sheet_rows *rows, struct sheet *sheet, bool moved, struct arena *arena,
                                  struct sutra_operators *operators, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    bool all = sheet->spec->part == PART_ALL || sheet->gradients;
    uint32_t n = sheet->groups.n;
    rows->sheet = sheet;
    rows->n_shown = 0;
    rows->shown = arena_alloc(arena, n, sizeof *rows->shown);
    rows->busy = arena_alloc(arena, n, sizeof *rows->busy);
    rows->scratch = arena_alloc(arena, (size_t)sheet->n * 2, sizeof *rows->scratch);
    TRY(arena_status(arena, error));
    for (uint32_t g = 0; g < n; g++) {
        const struct op_kind *kind = tracelens_model_kind(sheet->models, sheet_member(sheet, g, 0));
        bool is_moved = kind->tracelens == FORMULA_CONV_BACKWARD ||
                        strcmp(kind->name, "flash_attn::_flash_attn_varlen_backward") == 0;
        row_t n_members = sheet_group_size(sheet, g);
        for (row_t i = 0; i < n_members; i++)
            rows->scratch[i] = busy_us_of(sheet, sheet_member(sheet, g, i));
        rows->busy[g] = pandas_stats(rows->scratch, n_members, sheet->order, rows->scratch + n_members);
        if (all || is_moved == moved)
            rows->shown[rows->n_shown++] = g;
    }
    if (rows->n_shown)
        qsort_r(rows->shown, rows->n_shown, sizeof *rows->shown, by_time_and_uid, rows);
    struct sutra_table *table = &operators->result.tables[sheet->spec->id];
    if (rows->n_shown && !operators->result.made[sheet->spec->id])
        table = begin_table(rows, operators);
    for (uint32_t i = 0; i < rows->n_shown; i++)
        add_group(rows, rows->shown[i], arena, table);
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* Makes a table without gradients, or a table of gradients and then of the backward operators that have a model. */
static enum sutra_status make_sheet(const struct tracelens_input *input, const struct sheet_spec *spec,
                                    struct arena *arena, struct sutra_operators *operators, struct sutra_error *error) {
    struct sheet own = {0}, gradients = {0};
    struct sheet_rows rows = {0};
    bool backward = spec->part == PART_BACKWARD;
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = sheet_make(input, spec, false, arena, &own, error);
    if (!status && backward)
        status = sheet_make(input, spec, true, arena, &gradients, error);
    if (!status) {
        add_params(&rows, gradients.n ? &gradients : &own);
        rows.n_front = rows.n_params;
        add_params(&rows, &own);
    }
    if (!status && gradients.n)
        status = add_rows(&rows, &gradients, false, arena, operators, error);
    if (!status)
        status = add_rows(&rows, &own, backward, arena, operators, error);
    sheet_free(&own);
    sheet_free(&gradients);
    buffer_free(&rows.text);
    arena_release(arena, mark);
    return status;
}

enum sutra_status tracelens_sheets(const struct tracelens_input *input, struct arena *arena,
                                   struct sutra_operators *operators, struct sutra_error *error) {
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        TRY(make_sheet(input, &specs[i], arena, operators, error));
    return SUTRA_OK;
}
