/*
 * table_write.c - a table as CSV or JSON.
 *
 * CSV is what pandas writes: numbers as Python's repr() has them, nothing for NaN, text in quotes only where it has to
 * be. Cost: O(bytes written); memory for a piece of about a megabyte.
 */
#include <math.h>

#include "analyze/table.h"
#include "write/csv_text.h"
#include "write/text_file.h"

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
        csv_text(text, bytes, length);
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

bool table_write_csv(const void *of, struct text_out *text) {
    const struct sutra_table *table = of;
    (table->group ? csv_group_head : csv_head)(text, table);
    for (uint64_t row = 0; row < table->n_rows; row++) {
        for (uint32_t i = 0; i < table->n_columns; i++) {
            if (i)
                out_add(text, ",");
            csv_value(text, table, i, row);
        }
        out_add(text, "\n");
        out_step(text);
    }
    return true;
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

static bool write_json(const void *of, struct text_out *text) {
    const struct sutra_table *table = of;
    out_add(text, "[");
    for (uint64_t row = 0; row < table->n_rows; row++) {
        out_add(text, row ? "},\n {" : "\n {");
        for (uint32_t i = 0; i < table->n_columns; i++) {
            out_add(text, i ? ", \"" : "\"");
            out_add(text, table->columns[i].spec.name);
            out_add(text, "\": ");
            json_value(text, table, i, row);
        }
        out_step(text);
    }
    out_add(text, table->n_rows ? "}\n]\n" : "]\n");
    return true;
}

enum sutra_status sutra_table_write(struct sutra_context *context, const struct sutra_table *table,
                                    enum sutra_table_format format, const char *path, uint64_t *n_bytes,
                                    struct sutra_error *error) {
    return text_file_write(context, path, format == SUTRA_TABLE_JSON ? write_json : table_write_csv, table, n_bytes,
                           error);
}
