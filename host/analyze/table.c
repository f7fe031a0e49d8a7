/* table.c - implements table.h: building tables, writing them as CSV or JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "text/strings.h"
#include "write/sink.h"
#include "write/text.h"

/* ---- CSV and JSON ----
 *
 * CSV is as pandas writes it: numbers as Python's repr(), nothing for NaN, quotes only if needed. Except in tables of
 * other tools, ' precedes text that a spreadsheet would run as a formula. All threads write pieces of rows, about a
 * megabyte each. O(bytes written).
 */

/* Estimated size of a number in the text. */
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

/* Lines of a heading with a group: the group above its columns; their names; the names of the other columns. */
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

static void csv_row(struct text_out *text, const struct sutra_table *table, uint64_t row) {
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (i)
            out_add(text, ",");
        csv_value(text, table, i, row);
    }
    out_add(text, "\n");
}

static void json_row(struct text_out *text, const struct sutra_table *table, uint64_t row) {
    out_add(text, row ? "},\n {" : "\n {");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        out_add(text, i ? ", \"" : "\"");
        out_add(text, table->columns[i].spec.name);
        out_add(text, "\": ");
        if (table->columns[i].spec.kind == SUTRA_COLUMN_TEXT) {
            size_t length;
            const char *bytes = table_get_text(table, i, row, &length);
            out_string(text, bytes, length);
        } else if (!isfinite(table_get_real(table, i, row))) {
            out_add(text, "null");
        } else {
            csv_value(text, table, i, row);
        }
    }
}

struct table_pieces {
    const struct sutra_table *table;
    uint64_t n_rows; /* of each piece except the last */
    size_t n;
    enum sutra_table_format format;
};

static void write_rows(const struct table_pieces *pieces, size_t number, struct text_out *text) {
    const struct sutra_table *table = pieces->table;
    uint64_t first = number * pieces->n_rows, end = first + pieces->n_rows;
    bool json = pieces->format == SUTRA_TABLE_JSON;
    if (number == 0 && json) {
        out_add(text, "[");
    } else if (number == 0 && !table->group) {
        csv_line(text, table, HEADING_ALL, 0);
    } else if (number == 0) {
        /* Without rows, pandas writes one column before the group, without a name. */
        uint32_t first_column = table->n_rows ? 0 : table->n_index - 1;
        csv_line(text, table, HEADING_GROUP, first_column);
        csv_line(text, table, HEADING_IN_GROUP, first_column);
        if (table->n_rows)
            csv_line(text, table, HEADING_INDEX, 0);
    }
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
    uint64_t size = table->n_rows * table->n_columns * NUMBER_BYTES;
    for (uint32_t i = 0; i < table->n_columns; i++)
        size += table->columns[i].bytes.length;
    struct table_pieces pieces = {
        .table = table, .n_rows = table->n_rows / (size / PIECE_BYTES + 1) + 1, .format = format};
    pieces.n = (size_t)(table->n_rows / pieces.n_rows + 1);
    return pieces_write(context, path, pieces.n, fill_piece, &pieces, n_bytes, error);
}

bool table_write_csv(const void *arg, struct text_out *text) {
    const struct sutra_table *table = arg;
    write_rows(&(struct table_pieces){.table = table, .n_rows = table->n_rows, .n = 1}, 0, text);
    return true;
}

/* ---- Building tables ---- */

void table_init(struct sutra_table *table, const char *name, const struct column_spec *specs, uint32_t n_columns) {
    *table = (struct sutra_table){.name = name, .columns = calloc((size_t)n_columns + 1, sizeof *table->columns)};
    table->failed = !table->columns;
    table->n_columns = table->failed ? 0 : n_columns;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        table->columns[i].spec = specs[i];
        table_retype(table, i, specs[i].kind);
    }
}

void table_retype(struct sutra_table *table, uint32_t column, enum sutra_column_kind kind) {
    if (table->failed)
        return;
    struct buffer *values = &table->columns[column].values;
    table->columns[column].spec.kind = kind;
    values->length = 0;
    if (kind == SUTRA_COLUMN_TEXT)
        buffer_append(values, &(uint64_t){0}, sizeof(uint64_t));
    table->failed |= values->failed;
}

static void free_columns(struct column *columns, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        buffer_free(&columns[i].values);
        buffer_free(&columns[i].bytes);
    }
}

void table_free(struct sutra_table *table) {
    if (table->memory)
        table_memory_release(table->memory);
    else
        free_columns(table->columns, table->n_columns);
    free(table->columns);
    *table = (struct sutra_table){0};
}

/* ---- Finished tables ---- */

void table_make_integers(struct sutra_table *table, uint32_t column) {
    struct column *of = &table->columns[column];
    bool integers = !table->failed && of->spec.kind == SUTRA_COLUMN_REAL;
    for (uint64_t row = 0; row < table->n_rows && integers; row++) {
        double value = table_get_real(table, column, row);
        integers = value >= -1e15 && value <= 1e15 && value == (double)(int64_t)value;
    }
    if (!integers)
        return;
    for (uint64_t row = 0; row < table->n_rows; row++) {
        int64_t value = (int64_t)table_get_real(table, column, row);
        memcpy(of->values.bytes + row * sizeof value, &value, sizeof value);
    }
    of->spec.kind = SUTRA_COLUMN_INTEGER;
}

/* The new column, or NULL. */
static struct column *add_column(struct sutra_table *table, struct column_spec spec) {
    struct column *columns =
        table->failed ? NULL : realloc(table->columns, (table->n_columns + 1) * sizeof *table->columns);
    table->failed |= !columns;
    if (!columns)
        return NULL;
    table->columns = columns;
    columns[table->n_columns] = (struct column){.spec = spec};
    table_retype(table, table->n_columns++, spec.kind);
    return &columns[table->n_columns - 1];
}

void table_add_integers(struct sutra_table *table, const char *name, const int64_t *values) {
    struct column *column = add_column(table, (struct column_spec)INTEGER(name));
    if (column)
        buffer_append(&column->values, values, table->n_rows * sizeof *values);
    table->failed |= column && column->values.failed;
}

void table_add_texts(struct sutra_table *table, const char *name, const char *const *values) {
    struct column *column = add_column(table, (struct column_spec)TEXT(name));
    for (uint64_t row = 0; row < table->n_rows && column; row++) {
        buffer_append(&column->bytes, values[row], strlen(values[row]) + 1);
        uint64_t end = column->bytes.length;
        buffer_append(&column->values, &end, sizeof end);
    }
    table->failed |= column && (column->values.failed || column->bytes.failed);
}

/* ---- Shared columns ---- */

struct table_memory *table_memory_of(const struct sutra_table *table) {
    struct table_memory **memory = (struct table_memory **)&table->memory, *other = NULL;
    if (__atomic_load_n(memory, __ATOMIC_ACQUIRE))
        return table->memory;
    struct table_memory *made = calloc(1, sizeof *made + table->n_columns * sizeof *made->columns);
    if (!made)
        return NULL;
    made->n_columns = table->n_columns;
    memcpy(made->columns, table->columns, table->n_columns * sizeof *made->columns);
    if (__atomic_compare_exchange_n(memory, &other, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    free(made);
    return other;
}

void table_memory_release(struct table_memory *memory) {
    if (!refcount_release(&memory->holders))
        return;
    free_columns(memory->columns, memory->n_columns);
    free(memory);
}

/* Appends eight bytes to the next column. */
static void append_bytes(struct sutra_table *table, const void *value) {
    if (table->failed)
        return;
    struct column *column = &table->columns[table->next_column];
    buffer_append(&column->values, value, 8);
    table->failed |= column->values.failed | column->bytes.failed;
    if (++table->next_column == table->n_columns) {
        table->next_column = 0;
        table->n_rows += !table->failed;
    }
}

void table_real(struct sutra_table *table, double value) {
    append_bytes(table, &value);
}

void table_integer(struct sutra_table *table, int64_t value) {
    if (!table->failed && table->columns[table->next_column].spec.kind == SUTRA_COLUMN_REAL)
        table_real(table, (double)value);
    else
        append_bytes(table, &value);
}

void table_integers(struct sutra_table *table, const int64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        table_integer(table, values[i]);
}

void table_reals(struct sutra_table *table, const double *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        table_real(table, values[i]);
}

void table_string(struct sutra_table *table, const struct strings *strings, uint32_t string) {
    bool has = string != STRING_NONE;
    table_text(table, has ? strings_text(strings, string) : "", has ? strings_length(strings, string) : 0);
}

void table_number(struct sutra_table *table, double value) {
    if (!table->failed && table->columns[table->next_column].spec.kind == SUTRA_COLUMN_REAL)
        table_real(table, value);
    else
        table_integer(table, value > -9e18 && value < 9e18 ? (int64_t)value : 0);
}

void table_file_name(struct sutra_table *table, const char *path) {
    struct buffer name = {0};
    visible_append_utf8(&name, path, strlen(path));
    table->failed |= name.failed;
    table_text(table, name.bytes, name.length);
    buffer_free(&name);
}

void table_text(struct sutra_table *table, const char *bytes, size_t length) {
    if (table->failed)
        return;
    struct buffer *text = &table->columns[table->next_column].bytes;
    buffer_append(text, bytes, length);
    buffer_append(text, "", 1);
    uint64_t end = text->length;
    append_bytes(table, &end);
}

struct sutra_column column_named(const struct sutra_table *table, const char *name) {
    struct sutra_column column;
    for (uint32_t i = 0; sutra_table_column(table, i, &column); i++)
        if (strcmp(column.name, name) == 0)
            return column;
    return (struct sutra_column){0};
}

uint32_t table_column(const struct sutra_table *table, const char *name) {
    uint32_t column = 0;
    while (column < table->n_columns && strcmp(table->columns[column].spec.name, name) != 0)
        column++;
    return column;
}

int64_t table_get_integer(const struct sutra_table *table, uint32_t column, uint64_t row) {
    return ((const int64_t *)(const void *)table->columns[column].values.bytes)[row];
}

double table_get_real(const struct sutra_table *table, uint32_t column, uint64_t row) {
    if (table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER)
        return (double)table_get_integer(table, column, row);
    return ((const double *)(const void *)table->columns[column].values.bytes)[row];
}

const char *table_get_text(const struct sutra_table *table, uint32_t column, uint64_t row, size_t *length) {
    const uint64_t *starts = (const uint64_t *)(const void *)table->columns[column].values.bytes;
    *length = (size_t)(starts[row + 1] - starts[row] - 1);
    return table->columns[column].bytes.bytes + starts[row];
}

/* Appends the texts of n rows: their bytes, and where each ends. */
static void append_texts(struct column *to, const struct column *from, uint64_t n) {
    uint64_t *ends = (uint64_t *)(void *)buffer_reserve(&to->values, n * sizeof *ends);
    const uint64_t *starts = (const uint64_t *)(const void *)from->values.bytes;
    uint64_t begin = to->bytes.length;
    buffer_append(&to->bytes, from->bytes.bytes, starts[n]);
    for (uint64_t row = 0; row < n && ends; row++)
        ends[row] = begin + starts[row + 1];
    to->values.length += ends ? n * sizeof *ends : 0;
}

/* Appends the integers of n rows as real numbers. */
static void append_as_reals(struct column *to, const struct column *from, uint64_t n) {
    double *reals = (double *)(void *)buffer_reserve(&to->values, n * sizeof *reals);
    const int64_t *integers = (const int64_t *)(const void *)from->values.bytes;
    for (uint64_t row = 0; row < n && reals; row++)
        reals[row] = (double)integers[row];
    to->values.length += reals ? n * sizeof *reals : 0;
}

void table_append(struct sutra_table *table, const struct sutra_table *from) {
    table->failed |= from->failed;
    for (uint32_t i = 0; i < table->n_columns && !table->failed && from->n_rows > 0; i++) {
        struct column *to = &table->columns[i];
        const struct column *added = &from->columns[i];
        if (to->spec.kind == SUTRA_COLUMN_INTEGER && added->spec.kind == SUTRA_COLUMN_REAL) {
            /* The column becomes one of real numbers, in place: both take eight bytes. */
            for (uint64_t row = 0; row < table->n_rows; row++) {
                double real = (double)table_get_integer(table, i, row);
                memcpy(to->values.bytes + row * sizeof real, &real, sizeof real);
            }
            to->spec.kind = SUTRA_COLUMN_REAL;
        }
        if (to->spec.kind == SUTRA_COLUMN_TEXT)
            append_texts(to, added, from->n_rows);
        else if (to->spec.kind == added->spec.kind)
            buffer_append(&to->values, added->values.bytes, from->n_rows * sizeof(int64_t));
        else
            append_as_reals(to, added, from->n_rows);
        table->failed |= to->values.failed | to->bytes.failed;
    }
    table->n_rows += table->failed ? 0 : from->n_rows;
}

void table_append_row(struct sutra_table *table, const struct sutra_table *from, uint64_t row) {
    for (uint32_t i = 0; i < from->n_columns; i++)
        switch (from->columns[i].spec.kind) {
        case SUTRA_COLUMN_INTEGER:
            table_integer(table, table_get_integer(from, i, row));
            break;
        case SUTRA_COLUMN_REAL:
            table_real(table, table_get_real(from, i, row));
            break;
        case SUTRA_COLUMN_TEXT: {
            size_t length;
            const char *text = table_get_text(from, i, row, &length);
            table_text(table, text, length);
        }
        }
}

void table_reorder(struct sutra_table *table, const uint64_t *order) {
    struct column_spec *specs = malloc(((size_t)table->n_columns + 1) * sizeof *specs);
    struct sutra_table made;
    table->failed |= !specs;
    for (uint32_t i = 0; i < table->n_columns && specs; i++)
        specs[i] = table->columns[i].spec;
    if (table->failed) {
        free(specs);
        return;
    }
    table_init(&made, table->name, specs, table->n_columns);
    made.group = table->group;
    made.n_index = table->n_index;
    made.verbatim = table->verbatim;
    for (uint64_t row = 0; row < table->n_rows; row++)
        table_append_row(&made, table, order[row]);
    table_free(table);
    *table = made;
    free(specs);
}

const char *sutra_table_name(const struct sutra_table *table) {
    return table->name;
}

uint64_t sutra_table_rows(const struct sutra_table *table) {
    return table->n_rows;
}

int sutra_table_column(const struct sutra_table *table, uint32_t i, struct sutra_column *column) {
    if (i >= table->n_columns)
        return 0;
    const struct column *from = &table->columns[i];
    const void *values = from->values.bytes;
    *column = (struct sutra_column){.name = from->spec.name, .kind = from->spec.kind};
    if (from->spec.kind == SUTRA_COLUMN_INTEGER)
        column->integers = values;
    else if (from->spec.kind == SUTRA_COLUMN_REAL)
        column->reals = values;
    else {
        column->starts = values;
        column->bytes = from->bytes.bytes;
    }
    return 1;
}

void table_init_like(struct sutra_table *table, const struct sutra_table *like) {
    struct column_spec specs[TABLE_COLUMNS_MAX];
    for (uint32_t i = 0; i < like->n_columns; i++)
        specs[i] = like->columns[i].spec;
    table_init(table, like->name, specs, like->n_columns);
}

/* ---- The tables of a result ---- */

bool result_init(struct sutra_result *result, const struct table_spec *specs, uint32_t n_tables) {
    struct sutra_table *tables = calloc(n_tables, sizeof *tables + sizeof *result->reasons + sizeof *result->made);
    if (!tables)
        return false;
    const char **reasons = (const char **)(void *)(tables + n_tables);
    *result = (struct sutra_result){.specs = specs,
                                    .n_tables = n_tables,
                                    .tables = tables,
                                    .reasons = reasons,
                                    .made = (bool *)(void *)(reasons + n_tables)};
    return true;
}

void result_free(struct sutra_result *result) {
    for (uint32_t id = 0; id < result->n_tables; id++)
        table_free(&result->tables[id]);
    free(result->tables);
    arena_free(&result->texts);
    *result = (struct sutra_result){0};
}

struct sutra_table *result_table_begin_with(struct sutra_result *result, uint32_t id, const struct column_spec *columns,
                                            uint32_t n) {
    const struct table_spec *spec = &result->specs[id];
    struct sutra_table *table = &result->tables[id];
    table_init(table, spec->name, columns, n);
    table->group = spec->group;
    table->n_index = spec->n_index;
    table->verbatim = result->verbatim;
    result->made[id] = true;
    return table;
}

struct sutra_table *result_table_begin(struct sutra_result *result, uint32_t id) {
    const struct table_spec *spec = &result->specs[id];
    struct column_spec columns[TABLE_COLUMNS_MAX];
    uint32_t n = 0;
    for (; n < TABLE_COLUMNS_MAX && spec->columns[n].name; n++) {
        uint8_t kind = spec->columns[n].kind;
        if (kind > SUTRA_COLUMN_TEXT)
            kind = result->real_kinds >> kind & 1 ? SUTRA_COLUMN_REAL : SUTRA_COLUMN_INTEGER;
        columns[n] = (struct column_spec){spec->columns[n].name, (enum sutra_column_kind)kind};
    }
    return result_table_begin_with(result, id, columns, n);
}

enum sutra_status result_status(const struct sutra_result *result, struct sutra_error *error) {
    for (uint32_t id = 0; id < result->n_tables; id++)
        TRY_ALLOC(!result->tables[id].failed, error);
    return SUTRA_OK;
}

const struct sutra_table *sutra_result_table(const struct sutra_result *result, uint32_t id, const char **reason) {
    bool is_known = id < result->n_tables, is_made = is_known && result->made[id];
    const char *missing = !is_known                                             ? "no such table"
                          : result->reasons[id]                                 ? result->reasons[id]
                          : result->of_job && result->specs[id].scope != OF_JOB ? "this table exists per rank only"
                                                                                : "not requested, or no data";
    if (reason)
        *reason = is_made ? NULL : missing;
    return is_made ? &result->tables[id] : NULL;
}

int sutra_result_defect(const struct sutra_result *result, uint32_t i, struct sutra_trace_defect *defect) {
    if (i >= result->n_defects)
        return 0;
    report_give(defect, &result->defects[i], sizeof *defect);
    return 1;
}

uint32_t sutra_result_n_tables(const struct sutra_result *result) {
    return result->n_tables;
}
