/*
 * tracelens_sheet.h - the operators of one of TraceLens' tables by kind, joined by name and parameters.
 *
 *     models --> operators of a family, or their gradients --> groups, and a text for each parameter of each group
 */
#ifndef ANALYZE_OPERATORS_TRACELENS_SHEET_H
#define ANALYZE_OPERATORS_TRACELENS_SHEET_H

#include "analyze/operators/tracelens_models.h"
#include "analyze/pandas_stats.h"

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

/* Groups the operators of a table, or the gradients; `sheet` needs tracelens_sheet_free() in any case. */
enum sutra_status tracelens_sheet_make(const struct op_input *input, const struct sheet_spec *spec, bool gradients,
                                       struct arena *arena, struct sheet *sheet, struct sutra_error *error);
void tracelens_sheet_free(struct sheet *sheet);

/* The text of a parameter of a group, a string of sheet->texts; STRING_NONE: missing. */
uint32_t tracelens_sheet_cell(const struct sheet *sheet, uint32_t group, const char *param);

/* FLOPs and bytes of an operator, or of its gradient, and how long it runs. */
const struct op_flops *tracelens_sheet_flops(const struct sheet *sheet, row_t place);
double tracelens_sheet_busy_us(const struct sheet *sheet, row_t place);

static inline row_t sheet_group_size(const struct sheet *sheet, uint32_t group) {
    return sheet->groups.first[group + 1] - sheet->groups.first[group];
}

/* The model of a member of a group. */
static inline row_t sheet_member(const struct sheet *sheet, uint32_t group, row_t i) {
    return sheet->place[sheet->groups.member[sheet->groups.first[group] + i]];
}

#endif
