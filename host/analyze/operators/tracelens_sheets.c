/*
 * tracelens_sheets.c - TraceLens' table of each kind of operator: GEMM, CONV_fwd, SDPA_bwd, UnaryElementwise, ...
 *
 * A row stands for operators of one name with equal parameters of their model; each parameter is a column, "param: M".
 * A parameter that some operators lack turns integers into real numbers, as it does in pandas. Sheets of gradients have
 * the forward operator's name and parameters, and the time of the event of autograd that evaluates the gradient.
 *
 * Cost: O(n log n), and O(k log k) for the kernels below all operators of a sheet.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/tracelens_details.h"
#include "analyze/operators/tracelens_models.h"
#include "analyze/pandas_stats.h"
#include "base/error.h"
#include "text/number_text.h"

#define TEXT    SUTRA_COLUMN_TEXT
#define REAL    SUTRA_COLUMN_REAL
#define INTEGER SUTRA_COLUMN_INTEGER

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

/* A table: of a family forward and backward operators, or both. */
static const struct sheet_spec {
    enum sutra_operators_table id;
    const char *name;
    enum sheet_family family;
    enum sheet_part { PART_ALL, PART_FORWARD, PART_BACKWARD } part;
} sheets[] = {
    {SUTRA_TRACELENS_GEMM, "GEMM", SHEET_GEMM, PART_ALL},
    {SUTRA_TRACELENS_CONV_FWD, "CONV_fwd", SHEET_CONV, PART_FORWARD},
    {SUTRA_TRACELENS_CONV_BWD, "CONV_bwd", SHEET_CONV, PART_BACKWARD},
    {SUTRA_TRACELENS_SDPA_FWD, "SDPA_fwd", SHEET_SDPA, PART_FORWARD},
    {SUTRA_TRACELENS_SDPA_BWD, "SDPA_bwd", SHEET_SDPA, PART_BACKWARD},
    {SUTRA_TRACELENS_UNARY, "UnaryElementwise", SHEET_UNARY, PART_ALL},
    {SUTRA_TRACELENS_BINARY, "BinaryElementwise", SHEET_BINARY, PART_ALL},
    {SUTRA_TRACELENS_NORMALIZATION, "Normalization", SHEET_NORM, PART_ALL},
    {SUTRA_TRACELENS_REDUCE_FWD, "Reduce_fwd", SHEET_REDUCE, PART_FORWARD},
    {SUTRA_TRACELENS_REDUCE_BWD, "Reduce_bwd", SHEET_REDUCE, PART_BACKWARD},
};

/* A parameter's column, and what its values are. */
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
    struct value_stats *busy; /* by group */
    uint32_t n_params;
    struct param_column params[SHEET_PARAMS_MAX];
    struct strings texts;
    uint32_t *cells;                           /* by group and parameter: a string of `texts`, or STRING_NONE */
    uint32_t *shown, n_shown;                  /* groups that are written, in order */
    enum group_order order;                    /* of the groups of operators */
    bool has_unknown_rates, has_unknown_bytes; /* a rate of FLOPs or of bytes is NaN */
    double *scratch;
    struct op_inputs_parser parser;
    struct model_params found; /* of the variant that was asked for last */
    struct buffer text;
};

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

/* Whether TraceLens moves a row to the sheet of backward operators. */
static bool is_moved(const struct op_kind *kind) {
    return kind->tracelens == FORMULA_CONV_BACKWARD ||
           strcmp(kind->name, "flash_attn::_flash_attn_varlen_backward") == 0;
}

/* FLOPs and bytes of an operator, or of its gradient. */
static const struct op_flops *flops_of(const struct sheet *sheet, row_t place) {
    const struct tracelens_models *models = sheet->models;
    bool own = !sheet->gradients || sheet->spec->family == SHEET_REDUCE;
    return &(own ? models->works.flops : models->gradient_flops)[models->works.groups.of[place]];
}

static double busy_us(const struct sheet *sheet, row_t place) {
    return op_us(sheet->reading, (sheet->gradients ? sheet->models->gradient_busy : sheet->models->busy)[place]);
}

static bool has_row(const struct sheet *sheet, row_t place) {
    const struct op_kind *kind = tracelens_model_kind(sheet->models, place);
    if (family_of(kind) != sheet->spec->family || flops_of(sheet, place)->missing)
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
        struct model_figures figures = tracelens_figures(flops_of(sheet, place), busy_us(sheet, place));
        sheet->has_unknown_rates |= isnan(figures.tera_flops_per_s);
        sheet->has_unknown_bytes |= isnan(figures.tera_bytes_per_s);
        sheet->place[sheet->n++] = place;
    }
    return status ? status : op_groups_make(keys, sheet->n, arena, &sheet->groups, error);
}

static row_t group_size(const struct sheet *sheet, uint32_t group) {
    return sheet->groups.first[group + 1] - sheet->groups.first[group];
}

/* The place of a member of a group. */
static row_t member_of(const struct sheet *sheet, uint32_t group, row_t i) {
    return sheet->place[sheet->groups.member[sheet->groups.first[group] + i]];
}

/* ---- Parameters ---- */

/* Fills in the parameters of a group; false: out of memory. */
static bool find_params(struct sheet *sheet, uint32_t group) {
    const struct tracelens_models *models = sheet->models;
    const struct model_variant *variant = &models->variants[models->variant_of[member_of(sheet, group, 0)]];
    struct op_inputs inputs;
    return op_works_inputs(&models->works, variant->group, &sheet->parser, &inputs) &&
           tracelens_params_find(tracelens_model_kind(models, member_of(sheet, group, 0)), &inputs, variant->transposes,
                                 &sheet->found);
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
    int order = strcmp(strings_text(strings, hosts->name[sheet->models->host[member_of(sheet, a, 0)]]),
                       strings_text(strings, hosts->name[sheet->models->host[member_of(sheet, b, 0)]]));
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

static struct sutra_table *begin_sheet(struct sheet *sheet, struct sutra_operators *operators) {
    static const char *const times[] = {"Kernel Time (µs)_min", "Kernel Time (µs)_max", "Kernel Time (µs)_sum", NULL};
    struct sutra_table *table = &operators->tables[sheet->spec->id];
    struct column_spec specs[1 + SHEET_PARAMS_MAX + N_COLUMNS] = {{"name", TEXT}};
    uint32_t n = 1;
    for (uint32_t i = 0; i < sheet->n_params; i++)
        specs[n++] = (struct column_spec){sheet->params[i].name, TEXT};
    for (int i = 0; i < N_COLUMNS; i++)
        specs[n++] = columns[i];
    table_init(table, sheet->spec->name, specs, n);
    operators->made[sheet->spec->id] = true;
    if (has_integer_times(sheet))
        tracelens_retype_integers(table, times);
    return table;
}

/* ---- Rows ---- */

/* A column of the members of a group; `field` is an offset in struct model_figures. */
static struct value_stats figure_stats(const struct sheet *sheet, uint32_t group, size_t field) {
    row_t n = group_size(sheet, group);
    for (row_t i = 0; i < n; i++) {
        row_t place = member_of(sheet, group, i);
        struct model_figures figures = tracelens_figures(flops_of(sheet, place), busy_us(sheet, place));
        memcpy(&sheet->scratch[i], (const char *)&figures + field, sizeof(double));
    }
    bool unknown =
        field == offsetof(struct model_figures, tera_bytes_per_s) ? sheet->has_unknown_bytes : sheet->has_unknown_rates;
    return pandas_stats(sheet->scratch, n, unknown ? GROUPS_MIXED : sheet->order, sheet->scratch + n);
}

static void put_stats(const struct value_stats *stats, struct sutra_table *table) {
    table_real(table, stats->mean);
    table_real(table, stats->median);
    table_real(table, stats->std);
    table_number(table, stats->min);
    table_number(table, stats->max);
}

/* Kernels of all members, each list by start, and both columns about them. */
static void put_kernels(const struct sheet *sheet, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const struct tracelens_models *models = sheet->models;
    struct arena_mark mark = arena_mark(arena);
    row_t n = group_size(sheet, group), n_kernels = 0;
    size_t room = 0;
    for (row_t i = 0; i < n; i++)
        room += works_below(sheet, member_of(sheet, group, i));
    row_t *first = arena_take(arena, (size_t)n + 1, sizeof *first), *members = arena_take(arena, n, sizeof *members);
    row_t *device = arena_take(arena, room, sizeof *device);
    table->failed |= arena->failed || room > ROW_LIMIT;
    for (row_t i = 0; i < n && !table->failed; i++) {
        row_t place = member_of(sheet, group, i);
        row_t host = sheet->gradients ? models->gradient[place] : models->host[place];
        row_t n_below = tracelens_kernels_below(models, host, KERNELS_BY_START, device + n_kernels);
        table->failed |= n_below == ROW_NONE;
        members[i] = i;
        first[i] = n_kernels;
        n_kernels += n_below;
    }
    if (!table->failed) {
        first[n] = n_kernels;
        tracelens_details_put(sheet->input, &(struct kernel_lists){first, device}, members, n, arena, table);
    }
    arena_release(arena, mark);
}

/* Python's text of tuples as that of lists: ((512,), ()) becomes [[512], []]. Text in quotes stays. */
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
static void put_argument(struct sheet *sheet, uint32_t group, enum op_argument argument, struct sutra_table *table) {
    const struct op_arguments *arguments = &sheet->models->works.arguments;
    uint32_t text = 0;
    for (row_t i = 0; i < group_size(sheet, group) && !text; i++)
        text = op_argument_text(arguments, argument, member_of(sheet, group, i));
    sheet->text.length = 0;
    const char *bytes = strings_text(&arguments->texts, text);
    if (*bytes == '(')
        append_as_lists(&sheet->text, bytes, strings_length(&arguments->texts, text));
    else
        buffer_append(&sheet->text, bytes, strings_length(&arguments->texts, text));
    table->failed |= sheet->text.failed;
    table_text(table, sheet->text.bytes ? sheet->text.bytes : "", sheet->text.length);
}

static void put_group(struct sheet *sheet, uint32_t group, struct arena *arena, struct sutra_table *table) {
    static const enum op_argument arguments[] = {ARGUMENT_DIMS, ARGUMENT_TYPES, ARGUMENT_STRIDES, ARGUMENT_VALUES};
    const struct tracelens_models *models = sheet->models;
    const struct thread_labels *labels = &models->labels;
    row_t place = member_of(sheet, group, 0), host = models->host[place];
    uint32_t thread = sheet->reading->hosts.thread[host];
    struct model_figures figures = tracelens_figures(flops_of(sheet, place), 0);
    struct value_stats bytes = figure_stats(sheet, group, offsetof(struct model_figures, tera_bytes_per_s));
    struct value_stats flops = figure_stats(sheet, group, offsetof(struct model_figures, tera_flops_per_s));
    table_string(table, sheet->reading->strings, host_name(sheet->reading, host));
    for (uint32_t i = 0; i < sheet->n_params; i++)
        table_string(table, &sheet->texts, sheet->cells[(size_t)group * sheet->n_params + i]);
    table_real(table, figures.giga_flops);
    table_real(table, figures.mega_bytes);
    table_real(table, figures.flops_per_byte);
    put_stats(&bytes, table);
    put_stats(&flops, table);
    table_string(table, &labels->texts, labels->process[thread]);
    table_string(table, &labels->texts, labels->label[thread]);
    table_string(table, &labels->texts, labels->thread[thread]);
    table_words(table, models->variants[models->variant_of[place]].spec);
    put_kernels(sheet, group, arena, table);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        put_argument(sheet, group, arguments[i], table);
    put_stats(&sheet->busy[group], table);
    table_number(table, sheet->busy[group].sum);
    table_integer(table, group_size(sheet, group));
    table_integer(table, sheet->reading->hosts.event[host]);
}

static row_t uid_of(const struct sheet *sheet, uint32_t group) {
    return sheet->reading->hosts.event[sheet->models->host[member_of(sheet, group, 0)]];
}

static int by_time_and_uid(const void *left, const void *right, void *arg) {
    const struct sheet *sheet = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (sheet->busy[a].sum != sheet->busy[b].sum)
        return sheet->busy[a].sum > sheet->busy[b].sum ? -1 : 1;
    row_t uid_a = uid_of(sheet, a), uid_b = uid_of(sheet, b);
    return (uid_a > uid_b) - (uid_a < uid_b);
}

/* Of the forward operators that share a sheet with backward ones, those that are backward ones, or all others. */
static bool is_shown(const struct sheet *sheet, uint32_t group, bool moved) {
    const struct op_kind *kind = tracelens_model_kind(sheet->models, member_of(sheet, group, 0));
    return sheet->spec->part == PART_ALL || sheet->gradients || is_moved(kind) == moved;
}

static enum sutra_status order_groups(struct sheet *sheet, bool moved, struct arena *arena, struct sutra_error *error) {
    uint32_t n = sheet->groups.n;
    sheet->shown = arena_take(arena, n, sizeof *sheet->shown);
    sheet->busy = arena_take(arena, n, sizeof *sheet->busy);
    sheet->scratch = arena_take(arena, (size_t)sheet->n * 2, sizeof *sheet->scratch);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < n && !status; g++) {
        row_t n_members = group_size(sheet, g);
        for (row_t i = 0; i < n_members; i++)
            sheet->scratch[i] = busy_us(sheet, member_of(sheet, g, i));
        sheet->busy[g] = pandas_stats(sheet->scratch, n_members, sheet->order, sheet->scratch + n_members);
        if (is_shown(sheet, g, moved))
            sheet->shown[sheet->n_shown++] = g;
    }
    if (sheet->n_shown && !status)
        qsort_r(sheet->shown, sheet->n_shown, sizeof *sheet->shown, by_time_and_uid, sheet);
    return status;
}

/* Adds the rows of operators, or of gradients; a sheet without rows is not made. `moved`: the backward operators that
 * the forward sheet leaves out. */
static enum sutra_status write_rows(const struct op_input *input, const struct sheet_spec *spec, bool gradients,
                                    bool moved, struct arena *arena, struct sutra_operators *operators,
                                    struct sutra_error *error) {
    struct sheet sheet = {
        .input = input, .reading = input->reading, .models = input->models, .spec = spec, .gradients = gradients};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = group_operators(&sheet, arena, error);
    if (!status && !find_columns(&sheet))
        status = error_memory(error);
    if (!status)
        status = find_cells(&sheet, arena, error);
    if (!status)
        status = find_order(&sheet, arena, error);
    if (!status)
        status = order_groups(&sheet, moved, arena, error);
    struct sutra_table *table = &operators->tables[spec->id];
    if (!status && sheet.n_shown && !operators->made[spec->id])
        begin_sheet(&sheet, operators);
    for (uint32_t i = 0; i < sheet.n_shown && !status; i++)
        put_group(&sheet, sheet.shown[i], arena, table);
    strings_free(&sheet.texts);
    op_inputs_parser_free(&sheet.parser);
    buffer_free(&sheet.found.text);
    buffer_free(&sheet.text);
    arena_release(arena, mark);
    return status;
}

enum sutra_status tracelens_sheets(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                   struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets && !status; i++) {
        bool backward = sheets[i].part == PART_BACKWARD;
        if (backward)
            status = write_rows(input, &sheets[i], true, false, arena, operators, error);
        if (!status)
            status = write_rows(input, &sheets[i], false, backward, arena, operators, error);
    }
    return status;
}
