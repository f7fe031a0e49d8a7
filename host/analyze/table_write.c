/*
 * table_write.c - a table as CSV or JSON.
 *
 * CSV is what pandas writes: numbers as Python's repr() has them, nothing for NaN, text in quotes only where it has to
 * be. Except in tables of other tools, ' precedes text that a spreadsheet would run as a formula. Cost: O(bytes
 * written), in pieces of some rows, which all threads make; memory for a piece of a megabyte or so of each.
 */
#include <math.h>

#include "analyze/table.h"
#include "write/csv_text.h"
#include "write/pieces.h"

/* What a number takes in the text, about. */
#define NUMBER_BYTES 16

static void csv_value(struct text_out *text, const struct sutra_table *table, uint32_t column, uint64_t row) {
    size_t length;
    switch (table->columns[column].spec.kind) {
    case SUTRA_COLUMN_INTEGER:
        out_integer(text, table_get_integer(table, column, row));
        break;
    case SUTRA_COLUMN_REAL:
        csv_real(text, table_get_real(table, column, row));
        break;
    case SUTRA_COLUMN_TEXT: {
        const char *bytes = table_get_text(table, column, row, &length);
        (table->verbatim ? csv_text : csv_safe_text)(text, bytes, length);
    }
    }
}

/* Headings of the group: it stands above its columns; below it are the names of these, and below those of the
 * others. */
enum csv_heading { HEADING_GROUP, HEADING_IN_GROUP, HEADING_INDEX, HEADING_ALL };

static void csv_line(struct text_out *text, const struct sutra_table *table, enum csv_heading heading, uint32_t first) {
    for (uint32_t i = first; i < table->n_columns; i++) {
        bool in_group = i >= table->n_index;
        bool named = heading == HEADING_ALL || in_group == (heading != HEADING_INDEX);
        const char *name = heading == HEADING_GROUP ? table->group : table->columns[i].spec.name;
        out_add(text, i > first ? "," : "");
        out_add(text, named ? name : "");
    }
    out_add(text, "\n");
}

/* Without rows, pandas has one column before the group, without a name. */
static void csv_group_head(struct text_out *text, const struct sutra_table *table) {
    uint32_t first = table->n_rows ? 0 : table->n_index - 1;
    csv_line(text, table, HEADING_GROUP, first);
    csv_line(text, table, HEADING_IN_GROUP, first);
    if (table->n_rows)
        csv_line(text, table, HEADING_INDEX, 0);
}

static void csv_head(struct text_out *text, const struct sutra_table *table) {
    csv_line(text, table, HEADING_ALL, 0);
}

static void csv_row(struct text_out *text, const struct sutra_table *table, uint64_t row) {
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (i)
            out_add(text, ",");
        csv_value(text, table, i, row);
    }
    out_add(text, "\n");
}

static void json_value(struct text_out *text, const struct sutra_table *table, uint32_t column, uint64_t row) {
    size_t length;
    if (table->columns[column].spec.kind == SUTRA_COLUMN_TEXT) {
        const char *bytes = table_get_text(table, column, row, &length);
        out_string(text, bytes, length);
    } else if (!isfinite(table_get_real(table, column, row))) {
        out_add(text, "null");
    } else {
        csv_value(text, table, column, row);
    }
}

static void json_row(struct text_out *text, const struct sutra_table *table, uint64_t row) {
    out_add(text, row ? "},\n {" : "\n {");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        out_add(text, i ? ", \"" : "\"");
        out_add(text, table->columns[i].spec.name);
        out_add(text, "\": ");
        json_value(text, table, i, row);
    }
}

/* ---- The file ---- */

/* Rows of a piece, from what they take on average. */
static uint64_t rows_of_piece(const struct sutra_table *table) {
    uint64_t n_bytes = table->n_rows * table->n_columns * NUMBER_BYTES;
    for (uint32_t i = 0; i < table->n_columns; i++)
        n_bytes += table->columns[i].bytes.length;
    uint64_t n_pieces = n_bytes / PIECE_BYTES + 1;
    return table->n_rows / n_pieces + 1;
}

struct table_pieces {
    const struct sutra_table *table;
    uint64_t n_rows; /* of each, but for the last */
    size_t n;
    enum sutra_table_format format;
};

static void write_rows(const struct table_pieces *pieces, size_t number, struct text_out *text) {
    const struct sutra_table *table = pieces->table;
    uint64_t first = number * pieces->n_rows, end = first + pieces->n_rows;
    bool json = pieces->format == SUTRA_TABLE_JSON;
    if (number == 0 && json)
        out_add(text, "[");
    else if (number == 0)
        (table->group ? csv_group_head : csv_head)(text, table);
    for (uint64_t row = first; row < end && row < table->n_rows; row++)
        (json ? json_row : csv_row)(text, table, row);
    if (number + 1 == pieces->n && json)
        out_add(text, table->n_rows ? "}\n]\n" : "]\n");
}

static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    struct text_out text = {.out = *out};
    write_rows(arg, number, &text);
    *out = text.out;
}

enum sutra_status sutra_table_write(struct sutra_context *context, const struct sutra_table *table,
                                    enum sutra_table_format format, const char *path, uint64_t *n_bytes,
                                    struct sutra_error *error) {
    struct table_pieces pieces = {.table = table, .n_rows = rows_of_piece(table), .format = format};
    pieces.n = (size_t)(table->n_rows / pieces.n_rows + 1);
    return pieces_write(context, path, pieces.n, fill_piece, &pieces, n_bytes, error);
}

bool table_write_csv(const void *of, struct text_out *text) {
    const struct sutra_table *table = of;
    write_rows(&(struct table_pieces){.table = table, .n_rows = table->n_rows, .n = 1}, 0, text);
    return true;
}
