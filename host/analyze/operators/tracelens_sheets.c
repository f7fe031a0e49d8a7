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

#include "analyze/operators/tracelens_details.h"
#include "analyze/operators/tracelens_sheet.h"

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
