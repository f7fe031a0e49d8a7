/*
 * table.h - result tables: named columns of integers, real numbers or text, all of equal length.
 *
 *     const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_TEMPORAL, &reason);
 *     struct sutra_column column;
 *     for (uint32_t i = 0; sutra_table_column(table, i, &column); i++)
 *         ... column.name, column.integers[row], column.reals[row] or sutra_column_text(&column, row) ...
 *
 * A table belongs to the result from which it was requested, and lives as long as the result.
 */
#ifndef SUTRA_TABLE_H
#define SUTRA_TABLE_H

#include <stdint.h>

#include "sutra/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_table;
struct sutra_result;
struct sutra_trace_defect;

/* The tables of a result: of struct sutra_hta, sutra_hta_ranks, sutra_operators, sutra_operators_ranks,
 * sutra_collectives, sutra_overview, sutra_memory, sutra_nsys, or sutra_diff. */
#define SUTRA_RESULT(pointer) ((const struct sutra_result *)(pointer))

/* Returns a table of a result. `id` is from the enum of the analysis, such as enum sutra_hta_table. NULL: the table is
 * missing, and *reason (may be NULL) becomes the cause: not requested, no such data, ... Table and reason live as long
 * as the result. */
const struct sutra_table *sutra_result_table(const struct sutra_result *result, uint32_t id, const char **reason);

/* Returns the number of tables, missing ones included: ids are smaller. */
uint32_t sutra_result_n_tables(const struct sutra_result *result);

/* Fills *defect with the i-th defect of the analyzed traces (sutra/trace.h), which lives as long as the result; 0 after
 * the last one. */
int sutra_result_defect(const struct sutra_result *result, uint32_t i, struct sutra_trace_defect *defect);

enum sutra_column_kind { SUTRA_COLUMN_INTEGER, SUTRA_COLUMN_REAL, SUTRA_COLUMN_TEXT };

/* A column; only the arrays of its kind are not NULL. Real numbers that are not available are NaN. The text of row i
 * starts at bytes[starts[i]] and ends before the NUL at bytes[starts[i + 1] - 1]. Text is UTF-8; lone surrogates are
 * encoded as three bytes each. */
struct sutra_column {
    const char *name;
    enum sutra_column_kind kind;
    const int64_t *integers;
    const double *reals;
    const uint64_t *starts;
    const char *bytes;
};

static inline const char *sutra_column_text(const struct sutra_column *column, uint64_t row) {
    return column->bytes + column->starts[row];
}

/* Returns the name of the table, which is its file name without extension: "temporal_breakdown". */
const char *sutra_table_name(const struct sutra_table *table);
uint64_t sutra_table_rows(const struct sutra_table *table);

/* Fills *column for column i, from 0; returns 0 and leaves *column unchanged after the last one. */
int sutra_table_column(const struct sutra_table *table, uint32_t i, struct sutra_column *column);

enum sutra_table_format { SUTRA_TABLE_CSV, SUTRA_TABLE_JSON };

/* Writes a table to a file: CSV in the format of pandas (unavailable numbers are empty), or a JSON array with one
 * object per row (unavailable numbers are null). In CSV, a ' precedes text that begins with =, +, -, @, a tab or a
 * carriage return, except in tables of HTA and TraceLens. "-" is standard output; the file is compressed if the name
 * ends in .gz or .zst. *n_bytes (may be NULL): uncompressed bytes. Errors: SUTRA_NO_OUTPUT: cannot be created;
 * SUTRA_IO: writing failed, and no file remains. */
enum sutra_status sutra_table_write(struct sutra_context *context, const struct sutra_table *table,
                                    enum sutra_table_format format, const char *path, uint64_t *n_bytes,
                                    struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
