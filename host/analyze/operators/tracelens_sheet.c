/*
 * tracelens_sheet.c - groups of operators of one kind, and their parameters as pandas' columns have them.
 *
 * A parameter that some operators lack turns integers into real numbers. O(n log n) for n operators.
 */
#include "analyze/operators/tracelens_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/number_text.h"

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

const struct op_flops *tracelens_sheet_flops(const struct sheet *sheet, row_t place) {
    const struct tracelens_models *models = sheet->models;
    bool own = !sheet->gradients || sheet->spec->family == SHEET_REDUCE;
    return &(own ? models->works.flops : models->gradient_flops)[models->works.groups.of[place]];
}

double tracelens_sheet_busy_us(const struct sheet *sheet, row_t place) {
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

uint32_t tracelens_sheet_cell(const struct sheet *sheet, uint32_t group, const char *param) {
    for (uint32_t i = 0; i < sheet->n_params; i++)
        if (strcmp(sheet->params[i].name, param) == 0)
            return sheet->cells[(size_t)group * sheet->n_params + i];
    return STRING_NONE;
}

enum sutra_status tracelens_sheet_make(const struct op_input *input, const struct sheet_spec *spec, bool gradients,
                                       struct arena *arena, struct sheet *sheet, struct sutra_error *error) {
    *sheet = (struct sheet){
        .input = input, .reading = input->reading, .models = input->models, .spec = spec, .gradients = gradients};
    enum sutra_status status = group_operators(sheet, arena, error);
    if (!status && !find_columns(sheet))
        status = error_memory(error);
    if (!status)
        status = find_cells(sheet, arena, error);
    return status ? status : find_order(sheet, arena, error);
}

void tracelens_sheet_free(struct sheet *sheet) {
    strings_free(&sheet->texts);
    op_inputs_parser_free(&sheet->parser);
    buffer_free(&sheet->found.text);
}
