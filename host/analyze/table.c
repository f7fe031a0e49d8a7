/*
 * table.c - making tables: values are appended to the columns one after the other.
 */
#include "analyze/table.h"

#include <stdlib.h>
#include <string.h>

#include "text/visible.h"

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
        table_memory_leave(table->memory);
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
    struct column *column = add_column(table, (struct column_spec){name, SUTRA_COLUMN_INTEGER});
    if (column)
        buffer_append(&column->values, values, table->n_rows * sizeof *values);
    table->failed |= column && column->values.failed;
}

void table_add_texts(struct sutra_table *table, const char *name, const char *const *values) {
    struct column *column = add_column(table, (struct column_spec){name, SUTRA_COLUMN_TEXT});
    for (uint64_t row = 0; row < table->n_rows && column; row++) {
        buffer_append(&column->bytes, values[row], strlen(values[row]) + 1);
        uint64_t end = column->bytes.length;
        buffer_append(&column->values, &end, sizeof end);
    }
    table->failed |= column && (column->values.failed || column->bytes.failed);
}

/* ---- Columns that others hold ---- */

struct table_memory *table_memory_of(const struct sutra_table *table) {
    struct table_memory **place = (struct table_memory **)&table->memory, *there = NULL;
    if (__atomic_load_n(place, __ATOMIC_ACQUIRE))
        return table->memory;
    struct table_memory *made = calloc(1, sizeof *made + table->n_columns * sizeof *made->columns);
    if (!made)
        return NULL;
    made->n_columns = table->n_columns;
    memcpy(made->columns, table->columns, table->n_columns * sizeof *made->columns);
    if (__atomic_compare_exchange_n(place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    free(made);
    return there;
}

void table_memory_leave(struct table_memory *memory) {
    if (!holders_leave(&memory->holders))
        return;
    free_columns(memory->columns, memory->n_columns);
    free(memory);
}

/* Appends eight bytes to the column whose turn it is. */
static void put(struct sutra_table *table, const void *value) {
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
    put(table, &value);
}

void table_integer(struct sutra_table *table, int64_t value) {
    if (!table->failed && table->columns[table->next_column].spec.kind == SUTRA_COLUMN_REAL)
        table_real(table, (double)value);
    else
        put(table, &value);
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
    put(table, &end);
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

/* The column becomes one of real numbers, in place: both take eight bytes. */
static void make_real(struct sutra_table *table, uint32_t number) {
    struct column *column = &table->columns[number];
    for (uint64_t row = 0; row < table->n_rows; row++) {
        double real = (double)table_get_integer(table, number, row);
        memcpy(column->values.bytes + row * sizeof real, &real, sizeof real);
    }
    column->spec.kind = SUTRA_COLUMN_REAL;
}

static void append_value(struct sutra_table *table, const struct sutra_table *from, uint32_t column, uint64_t row) {
    size_t length;
    switch (from->columns[column].spec.kind) {
    case SUTRA_COLUMN_INTEGER:
        table_integer(table, table_get_integer(from, column, row));
        break;
    case SUTRA_COLUMN_REAL:
        table_real(table, table_get_real(from, column, row));
        break;
    case SUTRA_COLUMN_TEXT: {
        const char *text = table_get_text(from, column, row, &length);
        table_text(table, text, length);
    }
    }
}

/* The text of n rows behind what there is: their bytes, then where each ends. */
static void append_text(struct column *to, const struct column *from, uint64_t n) {
    uint64_t *ends = (uint64_t *)(void *)buffer_reserve(&to->values, n * sizeof *ends);
    const uint64_t *starts = (const uint64_t *)(const void *)from->values.bytes;
    uint64_t begin = to->bytes.length;
    buffer_append(&to->bytes, from->bytes.bytes, starts[n]);
    for (uint64_t row = 0; row < n && ends; row++)
        ends[row] = begin + starts[row + 1];
    to->values.length += ends ? n * sizeof *ends : 0;
}

/* Integers of n rows as real numbers behind what there is. */
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
        if (to->spec.kind == SUTRA_COLUMN_INTEGER && added->spec.kind == SUTRA_COLUMN_REAL)
            make_real(table, i);
        if (to->spec.kind == SUTRA_COLUMN_TEXT)
            append_text(to, added, from->n_rows);
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
        append_value(table, from, i, row);
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
