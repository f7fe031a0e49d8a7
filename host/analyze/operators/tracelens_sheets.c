/*
 * tracelens_sheets.c - TraceLens' table of each kind of operator: GEMM, CONV_fwd, SDPA_bwd, UnaryElementwise, ...
 *
 * A row stands for operators of one name with equal parameters of their model; each parameter is a column, "param: M".
 * Tables of gradients have the forward operator's name and parameters, and the time of the event of autograd that
 * evaluates the gradient.
 *
 * Cost: O(n log n), and O(k log k) for the kernels below all operators of a sheet.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/tracelens_rates.h"
#include "analyze/operators/tracelens_sheets.h"
#include "analyze/table.h"
#include "base/error.h"
#include "text/numbers.h"
#include "text/strings.h"

/*
 * The operators of one of TraceLens' tables by kind, joined by name and parameters.
 *
 *     models --> operators of a family, or their gradients --> groups, and a text for each parameter of each group
 */

/* Most parameters of all models of a sheet. */
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
    enum sutra_operators_table id;
    enum sheet_family family;
    enum sheet_part part;
};

/* A parameter's column and the kinds of its values. */
struct param_column {
    const char *name;
    bool has_integer, has_real, has_other, is_missing;
};

struct sheet {
    const struct op_input *input;
    const struct op_reading *reading;
    const struct tracelens_models *models;
    const struct sheet_spec *spec;
    bool gradients;  /* rows are of gradients */
    row_t n, *place; /* operators */
    struct op_groups groups;
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
    return sheet->place[sheet->groups.member[sheet->groups.first[group] + i]];
}

/*
 * Groups of operators of one kind, and their parameters as pandas' columns have them.
 *
 * A parameter that some operators lack turns integers into real numbers. O(n log n) for n operators.
 */

/* ---- Which operators ---- */

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

/* FLOPs and bytes of an operator, or of its gradient, and how long it runs. */
static const struct op_flops *tracelens_sheet_flops(const struct sheet *sheet, row_t place) {
    const struct tracelens_models *models = sheet->models;
    bool own = !sheet->gradients || sheet->spec->family == SHEET_REDUCE;
    return &(own ? models->works.flops : models->gradient_flops)[models->works.groups.of[place]];
}

static double tracelens_sheet_busy_us(const struct sheet *sheet, row_t place) {
    return op_us(sheet->reading, (sheet->gradients ? sheet->models->gradient_busy : sheet->models->busy)[place]);
}

static bool has_row(const struct sheet *sheet, row_t place) {
    const struct op_kind *kind = tracelens_model_kind(sheet->models, place);
    if (family_of(kind) != sheet->spec->family || tracelens_sheet_flops(sheet, place)->missing)
        return false;
    return !sheet->gradients || (tracelens_has_gradient(kind) && sheet->models->gradient[place] != ROW_NONE);
}

/* Groups operators by name and parameters. */
static enum sutra_status group_operators(struct sheet *sheet, struct arena *arena, struct sutra_error *error) {
    const struct tracelens_models *models = sheet->models;
    struct tuple *keys = arena_take(arena, models->works.n, sizeof *keys);
    sheet->place = arena_take(arena, models->works.n, sizeof *sheet->place);
    enum sutra_status status = arena_status(arena, error);
    for (row_t place = 0; place < models->works.n && !status; place++) {
        if (!has_row(sheet, place))
            continue;
        keys[sheet->n] = (struct tuple){
            {host_name(sheet->reading, models->host[place]), models->variants[models->variant_of[place]].params, 0, 0}};
        struct model_figures figures =
            tracelens_figures(tracelens_sheet_flops(sheet, place), tracelens_sheet_busy_us(sheet, place));
        sheet->has_unknown_rates |= isnan(figures.tera_flops_per_s);
        sheet->has_unknown_bytes |= isnan(figures.tera_bytes_per_s);
        sheet->place[sheet->n++] = place;
    }
    return status ? status : op_groups_make(keys, sheet->n, arena, &sheet->groups, error);
}

/* ---- Parameters ---- */

/* Fills in the parameters of a group; false: out of memory. */
static bool find_params(struct sheet *sheet, uint32_t group) {
    const struct tracelens_models *models = sheet->models;
    const struct model_variant *variant = &models->variants[models->variant_of[sheet_member(sheet, group, 0)]];
    struct op_inputs inputs;
    return op_works_inputs(&models->works, variant->group, &sheet->parser, &inputs) &&
           tracelens_params_find(tracelens_model_kind(models, sheet_member(sheet, group, 0)), &inputs,
                                 variant->transposes, &sheet->found);
}

static const struct model_param *param_named(const struct sheet *sheet, const char *name) {
    for (uint32_t i = 0; i < sheet->found.n; i++)
        if (strcmp(sheet->found.list[i].name, name) == 0)
            return &sheet->found.list[i];
    return NULL;
}

static void add_column(struct sheet *sheet, const char *name, bool is_missing) {
    for (uint32_t i = 0; i < sheet->n_params; i++)
        if (strcmp(sheet->params[i].name, name) == 0)
            return;
    if (sheet->n_params < SHEET_PARAMS_MAX)
        sheet->params[sheet->n_params++] = (struct param_column){.name = name, .is_missing = is_missing};
}

static void note_kind(struct param_column *column, const struct model_param *param) {
    if (!param || param->kind == PARAM_NONE)
        column->is_missing = true;
    else if (param->kind == PARAM_INTEGER)
        column->has_integer = true;
    else if (param->kind == PARAM_REAL)
        column->has_real = true;
    else
        column->has_other = true;
}

/* Columns in the order in which operators of the file have them. */
static bool find_columns(struct sheet *sheet) {
    bool ok = true;
    for (uint32_t g = 0; g < sheet->groups.n && ok; g++) {
        ok = find_params(sheet, g);
        for (uint32_t i = 0; i < sheet->found.n && ok; i++)
            add_column(sheet, sheet->found.list[i].name, g > 0);
        for (uint32_t i = 0; i < sheet->n_params && ok; i++)
            note_kind(&sheet->params[i], param_named(sheet, sheet->params[i].name));
    }
    return ok;
}

/* A parameter as pandas turns its column into text: a string, STRING_NONE where it is missing. False: out of memory. */
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

/* The texts of all groups' parameters, group by group. */
static enum sutra_status find_cells(struct sheet *sheet, struct arena *arena, struct sutra_error *error) {
    sheet->cells = arena_take(arena, (size_t)sheet->groups.n * sheet->n_params, sizeof *sheet->cells);
    bool ok = !arena->failed && strings_init(&sheet->texts);
    for (uint32_t g = 0; g < sheet->groups.n && ok; g++) {
        ok = find_params(sheet, g);
        for (uint32_t i = 0; i < sheet->n_params && ok; i++)
            ok = find_cell(sheet, &sheet->params[i], &sheet->cells[(size_t)g * sheet->n_params + i]);
    }
    return ok ? SUTRA_OK : error_memory(error);
}

/* Missing ones are last. */
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
    const struct host_rows *hosts = &sheet->reading->hosts;
    const struct strings *strings = sheet->reading->strings;
    int order = strcmp(strings_text(strings, hosts->name[sheet->models->host[sheet_member(sheet, a, 0)]]),
                       strings_text(strings, hosts->name[sheet->models->host[sheet_member(sheet, b, 0)]]));
    for (uint32_t i = 0; i < sheet->n_params && !order; i++)
        order = compare_cells(sheet, sheet->cells[(size_t)a * sheet->n_params + i],
                              sheet->cells[(size_t)b * sheet->n_params + i]);
    return order ? order : (a > b) - (a < b);
}

/* How the operators follow each other, by the order of their groups' sorted names and parameters. */
static enum sutra_status find_order(struct sheet *sheet, struct arena *arena, struct sutra_error *error) {
    uint32_t n = sheet->groups.n, *rank = arena_take(arena, n, sizeof *rank);
    uint32_t *sorted = arena_take(arena, n, sizeof *sorted);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < n && !status; g++)
        sorted[g] = g;
    if (n && !status)
        qsort_r(sorted, n, sizeof *sorted, by_key, sheet);
    for (uint32_t i = 0; i < n && !status; i++)
        rank[sorted[i]] = i;
    if (!status)
        sheet->order = pandas_group_order(sheet->groups.of, sheet->n, rank);
    return status;
}

/* The text of a parameter of a group, a string of sheet->texts; STRING_NONE: missing. */
static uint32_t tracelens_sheet_cell(const struct sheet *sheet, uint32_t group, const char *param) {
    for (uint32_t i = 0; i < sheet->n_params; i++)
        if (strcmp(sheet->params[i].name, param) == 0)
            return sheet->cells[(size_t)group * sheet->n_params + i];
    return STRING_NONE;
}

/* Groups the operators of a table, or the gradients; `sheet` needs tracelens_sheet_free() in any case. */
static enum sutra_status tracelens_sheet_make(const struct op_input *input, const struct sheet_spec *spec,
                                              bool gradients, struct arena *arena, struct sheet *sheet,
                                              struct sutra_error *error) {
    *sheet = (struct sheet){
        .input = input, .reading = input->reading, .models = input->models, .spec = spec, .gradients = gradients};
    enum sutra_status status = group_operators(sheet, arena, error);
    if (!status && !find_columns(sheet))
        status = error_memory(error);
    if (!status)
        status = find_cells(sheet, arena, error);
    return status ? status : find_order(sheet, arena, error);
}

static void tracelens_sheet_free(struct sheet *sheet) {
    strings_free(&sheet->texts);
    op_inputs_parser_free(&sheet->parser);
    buffer_free(&sheet->found.text);
}

#define TEXT    SUTRA_COLUMN_TEXT
#define REAL    SUTRA_COLUMN_REAL
#define INTEGER SUTRA_COLUMN_INTEGER

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

/* What is written of one sheet or of two. */
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

static const struct column_spec columns[] = {
    {"GFLOPS_first", REAL},
    {"Data Moved (MB)_first", REAL},
    {"FLOPS/Byte_first", REAL},
    {"TB/s_mean", REAL},
    {"TB/s_median", REAL},
    {"TB/s_std", REAL},
    {"TB/s_min", REAL},
    {"TB/s_max", REAL},
    {"TFLOPS/s_mean", REAL},
    {"TFLOPS/s_median", REAL},
    {"TFLOPS/s_std", REAL},
    {"TFLOPS/s_min", REAL},
    {"TFLOPS/s_max", REAL},
    {"process_name_first", TEXT},
    {"process_label_first", TEXT},
    {"thread_name_first", TEXT},
    {"Compute Spec", TEXT},
    {"kernel_details__summarize_kernel_stats", TEXT},
    {"trunc_kernel_details", TEXT},
    {"Input Dims_first", TEXT},
    {"Input type_first", TEXT},
    {"Input Strides_first", TEXT},
    {"Concrete Inputs_first", TEXT},
    {"Kernel Time (µs)_mean", REAL},
    {"Kernel Time (µs)_median", REAL},
    {"Kernel Time (µs)_std", REAL},
    {"Kernel Time (µs)_min", REAL},
    {"Kernel Time (µs)_max", REAL},
    {"Kernel Time (µs)_sum", REAL},
    {"name_count", INTEGER},
    {"UID_first", INTEGER},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static row_t works_below(const struct sheet *sheet, row_t place) {
    const struct tracelens_models *models = sheet->models;
    row_t host = sheet->gradients ? models->gradient[place] : models->host[place];
    const struct call_links *links = &sheet->reading->links;
    return links->first[sheet->reading->hosts.end[host]] - links->first[host];
}

/* Times are integers where all are, or where no operator has kernels. */
static bool has_integer_times(const struct sheet *sheet) {
    for (row_t i = 0; i < sheet->n && !sheet->input->integer_times; i++)
        if (works_below(sheet, sheet->place[i]))
            return false;
    return true;
}

/* Columns of the operators' own parameters are first; further parameters of the forward sheet are last. */
static struct sutra_table *begin_table(const struct sheet_rows *rows, struct sutra_operators *operators) {
    static const char *const times[] = {"Kernel Time (µs)_min", "Kernel Time (µs)_max", "Kernel Time (µs)_sum", NULL};
    const struct sheet_spec *spec = rows->sheet->spec;
    struct column_spec all[1 + 2 * SHEET_PARAMS_MAX + N_COLUMNS] = {{"name", TEXT}};
    uint32_t n = 1;
    for (uint32_t i = 0; i < rows->n_front; i++)
        all[n++] = (struct column_spec){rows->params[i], TEXT};
    for (int i = 0; i < N_COLUMNS; i++)
        all[n++] = columns[i];
    for (uint32_t i = rows->n_front; i < rows->n_params; i++)
        all[n++] = (struct column_spec){rows->params[i], TEXT};
    struct sutra_table *table = op_table_begin_with(operators, spec->id, all, n);
    if (has_integer_times(rows->sheet))
        tracelens_retype_integers(table, times);
    return table;
}

/* ---- Rows ---- */

/* A column of the members of a group; `field` is an offset in struct model_figures. */
static struct value_stats figure_stats(const struct sheet_rows *rows, uint32_t group, size_t field) {
    const struct sheet *sheet = rows->sheet;
    row_t n = sheet_group_size(sheet, group);
    for (row_t i = 0; i < n; i++) {
        row_t place = sheet_member(sheet, group, i);
        struct model_figures figures =
            tracelens_figures(tracelens_sheet_flops(sheet, place), tracelens_sheet_busy_us(sheet, place));
        memcpy(&rows->scratch[i], (const char *)&figures + field, sizeof(double));
    }
    bool unknown =
        field == offsetof(struct model_figures, tera_bytes_per_s) ? sheet->has_unknown_bytes : sheet->has_unknown_rates;
    return pandas_stats(rows->scratch, n, unknown ? GROUPS_MIXED : sheet->order, rows->scratch + n);
}

static void write_stats(const struct value_stats *stats, struct sutra_table *table) {
    table_real(table, stats->mean);
    table_real(table, stats->median);
    table_real(table, stats->std);
    table_number(table, stats->min);
    table_number(table, stats->max);
}

/* Kernels of all members, each list by start, and both columns about them. */
static void write_kernels(const struct sheet *sheet, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const struct tracelens_models *models = sheet->models;
    struct arena_mark mark = arena_mark(arena);
    row_t n = sheet_group_size(sheet, group), n_kernels = 0;
    size_t room = 0;
    for (row_t i = 0; i < n; i++)
        room += works_below(sheet, sheet_member(sheet, group, i));
    row_t *first = arena_take(arena, (size_t)n + 1, sizeof *first), *members = arena_take(arena, n, sizeof *members);
    row_t *device = arena_take(arena, room, sizeof *device);
    table->failed |= arena->failed || room > ROW_LIMIT;
    for (row_t i = 0; i < n && !table->failed; i++) {
        row_t place = sheet_member(sheet, group, i);
        row_t host = sheet->gradients ? models->gradient[place] : models->host[place];
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

/* The first argument of the group that is there. */
static void write_argument(struct sheet_rows *rows, uint32_t group, enum op_argument argument,
                           struct sutra_table *table) {
    const struct sheet *sheet = rows->sheet;
    const struct op_arguments *arguments = &sheet->models->works.arguments;
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

static void write_params(const struct sheet_rows *rows, uint32_t group, uint32_t first, uint32_t end,
                         struct sutra_table *table) {
    for (uint32_t i = first; i < end; i++)
        table_string(table, &rows->sheet->texts, tracelens_sheet_cell(rows->sheet, group, rows->params[i]));
}

static void write_group(struct sheet_rows *rows, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const struct sheet *sheet = rows->sheet;
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_TYPES, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct tracelens_models *models = sheet->models;
    const struct thread_labels *labels = &models->labels;
    row_t place = sheet_member(sheet, group, 0), host = models->host[place];
    uint32_t thread = sheet->reading->hosts.thread[host];
    struct model_figures figures = tracelens_figures(tracelens_sheet_flops(sheet, place), 0);
    struct value_stats bytes = figure_stats(rows, group, offsetof(struct model_figures, tera_bytes_per_s));
    struct value_stats flops = figure_stats(rows, group, offsetof(struct model_figures, tera_flops_per_s));
    table_string(table, sheet->reading->strings, host_name(sheet->reading, host));
    write_params(rows, group, 0, rows->n_front, table);
    table_real(table, figures.giga_flops);
    table_real(table, figures.mega_bytes);
    table_real(table, figures.flops_per_byte);
    write_stats(&bytes, table);
    write_stats(&flops, table);
    table_string(table, &labels->texts, labels->process[thread]);
    table_string(table, &labels->texts, labels->label[thread]);
    table_string(table, &labels->texts, labels->thread[thread]);
    table_words(table, models->variants[models->variant_of[place]].spec);
    write_kernels(sheet, group, arena, table);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        write_argument(rows, group, arguments[i], table);
    write_stats(&rows->busy[group], table);
    table_number(table, rows->busy[group].sum);
    table_integer(table, sheet_group_size(sheet, group));
    table_integer(table, sheet->reading->hosts.event[host]);
    write_params(rows, group, rows->n_front, rows->n_params, table);
}

static row_t uid_of(const struct sheet *sheet, uint32_t group) {
    return sheet->reading->hosts.event[sheet->models->host[sheet_member(sheet, group, 0)]];
}

static int by_time_and_uid(const void *left, const void *right, void *arg) {
    const struct sheet_rows *rows = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (rows->busy[a].sum != rows->busy[b].sum)
        return rows->busy[a].sum > rows->busy[b].sum ? -1 : 1;
    row_t uid_a = uid_of(rows->sheet, a), uid_b = uid_of(rows->sheet, b);
    return (uid_a > uid_b) - (uid_a < uid_b);
}

/* Whether TraceLens moves a row from the forward sheet to the backward sheet. */
static bool is_moved(const struct op_kind *kind) {
    return kind->tracelens == FORMULA_CONV_BACKWARD ||
           strcmp(kind->name, "flash_attn::_flash_attn_varlen_backward") == 0;
}

/* Whether a table shows a group: in a sheet of two parts, either the moved operators or all other operators. */
static bool is_shown(const struct sheet *sheet, uint32_t group, bool moved) {
    bool parts = sheet->spec->part != PART_ALL && !sheet->gradients;
    return !parts || is_moved(tracelens_model_kind(sheet->models, sheet_member(sheet, group, 0))) == moved;
}

static enum sutra_status order_groups(struct sheet_rows *rows, bool moved, struct arena *arena,
                                      struct sutra_error *error) {
    const struct sheet *sheet = rows->sheet;
    uint32_t n = sheet->groups.n;
    rows->n_shown = 0;
    rows->shown = arena_take(arena, n, sizeof *rows->shown);
    rows->busy = arena_take(arena, n, sizeof *rows->busy);
    rows->scratch = arena_take(arena, (size_t)sheet->n * 2, sizeof *rows->scratch);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < n && !status; g++) {
        row_t n_members = sheet_group_size(sheet, g);
        for (row_t i = 0; i < n_members; i++)
            rows->scratch[i] = tracelens_sheet_busy_us(sheet, sheet_member(sheet, g, i));
        rows->busy[g] = pandas_stats(rows->scratch, n_members, sheet->order, rows->scratch + n_members);
        if (is_shown(sheet, g, moved))
            rows->shown[rows->n_shown++] = g;
    }
    if (rows->n_shown && !status)
        qsort_r(rows->shown, rows->n_shown, sizeof *rows->shown, by_time_and_uid, rows);
    return status;
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

/* Adds the rows of a sheet to its table, which is made with its first row. */
static enum sutra_status write_rows(struct sheet_rows *rows, struct sheet *sheet, bool moved, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    rows->sheet = sheet;
    enum sutra_status status = order_groups(rows, moved, arena, error);
    struct sutra_table *table = &operators->tables[sheet->spec->id];
    if (!status && rows->n_shown && !operators->made[sheet->spec->id])
        table = begin_table(rows, operators);
    for (uint32_t i = 0; i < rows->n_shown && !status; i++)
        write_group(rows, rows->shown[i], arena, table);
    arena_release(arena, mark);
    return status;
}

/* A table without gradients, or one of gradients and then of the backward operators that have a model. */
static enum sutra_status write_sheet(const struct op_input *input, const struct sheet_spec *spec, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    struct sheet own = {0}, gradients = {0};
    struct sheet_rows rows = {0};
    bool backward = spec->part == PART_BACKWARD;
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = tracelens_sheet_make(input, spec, false, arena, &own, error);
    if (!status && backward)
        status = tracelens_sheet_make(input, spec, true, arena, &gradients, error);
    if (!status) {
        add_params(&rows, gradients.n ? &gradients : &own);
        rows.n_front = rows.n_params;
        add_params(&rows, &own);
    }
    if (!status && gradients.n)
        status = write_rows(&rows, &gradients, false, arena, operators, error);
    if (!status)
        status = write_rows(&rows, &own, backward, arena, operators, error);
    tracelens_sheet_free(&own);
    tracelens_sheet_free(&gradients);
    buffer_free(&rows.text);
    arena_release(arena, mark);
    return status;
}

enum sutra_status tracelens_sheets(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                   struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof specs / sizeof *specs && !status; i++)
        status = write_sheet(input, &specs[i], arena, operators, error);
    return status;
}

/*
 * Lists of kernels as TraceLens summarizes and Python prints them.
 *
 * Numbers are numpy's: sums are pairwise, deviations have ddof 0, and repr() prints the type's name.
 */

/* Characters of a name that the short form keeps. */
#define NAME_KEPT 64

/* A position in the lists of a group. */
struct kernel_entry {
    const struct op_reading *reading;
    row_t event, position;
    bool integers; /* all durations are */
    struct value_stats stats;
};

/* ---- Text ---- */

static void append_words(struct buffer *text, const char *words) {
    buffer_append(text, words, strlen(words));
}

static void append_repr(struct buffer *text, const char *string, size_t length) {
    char *to = buffer_reserve(text, length * 4 + 2);
    if (to)
        text->length += string_repr(string, length, to);
}

static void append_number(struct buffer *text, const char *key, double value, bool integer) {
    char number[NUMBER_TEXT_MAX];
    append_words(text, key);
    append_words(text, integer ? "np.int64(" : "np.float64(");
    buffer_append(text, number, integer ? integer_format((int64_t)value, number) : double_format(value, number));
    append_words(text, ")");
}

static void append_stream(const struct op_input *input, row_t event, struct buffer *text) {
    value_key stream = input->reading->events->stream[event];
    char room[NUMBER_TEXT_MAX];
    size_t length;
    if (!key_is_value(stream)) {
        append_words(text, "None");
        return;
    }
    const char *value = values_text(&input->context->values, stream, room, &length);
    if (!key_is_integer(stream) && values_at(&input->context->values, stream).type == VALUES_STRING)
        append_repr(text, value, length);
    else
        buffer_append(text, value, length);
}

/* The bytes of the first characters of a name. */
static size_t kept_length(const char *name, size_t length) {
    const char *at = name;
    uint32_t code_point;
    for (int i = 0; i < NAME_KEPT && at < name + length; i++)
        at = utf8_read(at, &code_point);
    return (size_t)(at - name);
}

static void append_name(const struct kernel_entry *entry, bool short_form, struct buffer *text, struct buffer *name) {
    const struct strings *strings = entry->reading->strings;
    uint32_t string = entry->reading->events->name[entry->event];
    const char *full = strings_text(strings, string);
    size_t length = strings_length(strings, string), kept = short_form ? kept_length(full, length) : length;
    name->length = 0;
    buffer_append(name, full, kept);
    if (kept < length)
        append_words(name, "...");
    append_words(text, "{'name': ");
    append_repr(text, name->bytes, name->length);
    append_words(text, ", 'stream': ");
}

static void append_entry(const struct op_input *input, const struct kernel_entry *entry, bool short_form,
                         struct buffer *text, struct buffer *name) {
    const struct value_stats *stats = &entry->stats;
    char count[NUMBER_TEXT_MAX];
    append_name(entry, short_form, text, name);
    append_stream(input, entry->event, text);
    if (short_form) {
        append_number(text, ", 'mean_duration_us': ", rint(stats->mean * 100) / 100, false);
    } else {
        append_words(text, ", 'count': ");
        buffer_append(text, count, integer_format((int64_t)stats->n, count));
        append_number(text, ", 'total_duration_us': ", stats->sum, entry->integers);
        append_number(text, ", 'mean_duration_us': ", stats->mean, false);
        append_number(text, ", 'median_duration_us': ", stats->median, false);
        append_number(text, ", 'std_dev_duration_us': ", stats->std, false);
        append_number(text, ", 'min_duration_us': ", stats->min, entry->integers);
        append_number(text, ", 'max_duration_us': ", stats->max, entry->integers);
    }
    append_words(text, "}");
}

static void write_list(const struct op_input *input, const struct kernel_entry *entries, row_t n, bool short_form,
                       struct sutra_table *table) {
    struct buffer text = {0}, name = {0};
    append_words(&text, "[");
    for (row_t i = 0; i < n; i++) {
        append_words(&text, i ? ", " : "");
        append_entry(input, &entries[i], short_form, &text, &name);
    }
    append_words(&text, "]");
    table->failed |= text.failed | name.failed;
    table_text(table, text.bytes, text.length);
    buffer_free(&text);
    buffer_free(&name);
}

/* ---- Entries ---- */

static row_t length_of(const struct kernel_lists *lists, row_t member) {
    return lists->first[member + 1] - lists->first[member];
}

/* The entry at a position, of n events with as many kernels. */
static struct kernel_entry make_entry(const struct op_input *input, const struct kernel_lists *lists,
                                      const row_t *members, row_t n, row_t position, double *values) {
    const struct op_reading *reading = input->reading;
    struct kernel_entry entry = {
        .reading = reading,
        .event = reading->devices.event[lists->device[lists->first[members[0]] + position]],
        .position = position,
        .integers = true,
    };
    for (row_t i = 0; i < n; i++) {
        row_t device = lists->device[lists->first[members[i]] + position];
        values[i] = op_dur_us(reading, device);
        entry.integers &= !number_is_double(number_at(reading->events->dur, reading->devices.event[device]));
    }
    entry.stats = numpy_stats(values, n, values + n);
    return entry;
}

static int compare_entries(const void *left, const void *right) {
    const struct kernel_entry *a = left, *b = right;
    const struct strings *strings = a->reading->strings;
    uint32_t name_a = a->reading->events->name[a->event], name_b = b->reading->events->name[b->event];
    if (a->stats.sum != b->stats.sum)
        return a->stats.sum < b->stats.sum ? -1 : 1;
    int order = strcmp(strings_text(strings, name_a), strings_text(strings, name_b));
    return order ? order : (a->position > b->position) - (a->position < b->position);
}

/* Members whose lists are as long as the template, which is the first that is not empty. */
static row_t choose_members(const struct kernel_lists *lists, const row_t *members, row_t n, row_t *chosen) {
    row_t n_chosen = 0;
    for (row_t i = 0; i < n; i++)
        if (length_of(lists, members[i]) == length_of(lists, n_chosen ? chosen[0] : members[i]) &&
            length_of(lists, members[i]))
            chosen[n_chosen++] = members[i];
    return n_chosen;
}

void tracelens_details_write(const struct op_input *input, const struct kernel_lists *lists, const row_t *members,
                             row_t n, struct arena *arena, struct sutra_table *table) {
    struct arena_mark mark = arena_mark(arena);
    row_t *chosen = arena_take(arena, n, sizeof *chosen);
    row_t n_chosen = chosen ? choose_members(lists, members, n, chosen) : 0;
    row_t n_entries = n_chosen ? length_of(lists, chosen[0]) : 0;
    struct kernel_entry *entries = arena_take(arena, n_entries, sizeof *entries);
    double *values = arena_take(arena, (size_t)n_chosen * 2, sizeof *values);
    table->failed |= arena->failed;
    if (!table->failed) {
        for (row_t i = 0; i < n_entries; i++)
            entries[i] = make_entry(input, lists, chosen, n_chosen, i, values);
        if (n_entries)
            qsort(entries, n_entries, sizeof *entries, compare_entries);
        write_list(input, entries, n_entries, false, table);
        if (n_entries)
            write_list(input, entries, n_entries, true, table);
        else
            table_text(table, "", 0);
    }
    arena_release(arena, mark);
}

/* ---- Integers ---- */

bool tracelens_has_integer_times(const struct op_reading *reading) {
    const struct device_rows *devices = &reading->devices;
    for (row_t i = 0; i < devices->n; i++)
        if (devices->class[i] != DEVICE_NO_WORK &&
            (number_is_double(number_at(reading->events->ts, devices->event[i])) ||
             number_is_double(number_at(reading->events->dur, devices->event[i]))))
            return false;
    return true;
}

void tracelens_retype_integers(struct sutra_table *table, const char *const *names) {
    for (; *names; names++)
        for (uint32_t i = 0; i < table->n_columns; i++)
            if (strcmp(table->columns[i].spec.name, *names) == 0)
                table_retype(table, i, SUTRA_COLUMN_INTEGER);
}
