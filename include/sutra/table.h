/*
 * table.h - results as tables: named columns of integers, real numbers or text, all of one length.
 *
 *     struct sutra_column column;
 *     for (uint32_t i = 0; sutra_table_column(table, i, &column); i++)
 *         ... column.name, column.integers[row], column.reals[row] or sutra_column_text(&column, row) ...
 *
 * A table belongs to the result that it was asked of and lives as long as that.
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

enum sutra_column_kind { SUTRA_COLUMN_INTEGER, SUTRA_COLUMN_REAL, SUTRA_COLUMN_TEXT };

/* One column; only the array of its kind is not NULL. A real number that could not be computed is NaN. Text of row i
 * begins at bytes[starts[i]] and ends before the NUL at bytes[starts[i + 1] - 1]; it is UTF-8, in which lone surrogates
 * stand as three bytes each. */
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

/* The name of the table, which is that of its file without the ending: "temporal_breakdown". */
const char *sutra_table_name(const struct sutra_table *table);
uint64_t sutra_table_rows(const struct sutra_table *table);

/* Column `i`, from 0; returns 0 and leaves *column alone where there is none. */
int sutra_table_column(const struct sutra_table *table, uint32_t i, struct sutra_column *column);

enum sutra_table_format { SUTRA_TABLE_CSV, SUTRA_TABLE_JSON };

/* Writes a table to a file: as CSV that pandas reads and would write alike (numbers that could not be computed are
 * empty), or as a JSON array with an object for each row (there they are null). In CSV, ' precedes text that begins
 * with =, +, -, @, a tab or a carriage return, except in tables of HTA and TraceLens. "-" is standard output; a name that
 * ends in .gz or .zst is compressed. *n_bytes (may be NULL): bytes written, before compression. SUTRA_NO_OUTPUT:
 * cannot be created. SUTRA_IO: writing failed; nothing is left behind. */
enum sutra_status sutra_table_write(struct sutra_context *context, const struct sutra_table *table,
                                    enum sutra_table_format format, const char *path, uint64_t *n_bytes,
                                    struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
