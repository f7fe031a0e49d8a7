/*
 * spool.c - bytes in the order in which they are asked for.
 */
#include "analyze/spool.h"

#include <string.h>

void spool_put_text(struct buffer *out, const char *text) {
    uint64_t length = text ? strlen(text) + 1 : 0;
    spool_put(out, length);
    buffer_append(out, text ? text : "", length);
}

static void put_buffer(struct buffer *out, const struct buffer *bytes) {
    uint64_t length = bytes->length;
    spool_put(out, length);
    buffer_append(out, bytes->length ? bytes->bytes : "", bytes->length);
}

void spool_put_table(struct buffer *out, const struct sutra_table *table) {
    out->failed |= table->failed; /* nobody has asked yet */
    spool_put(out, table->n_columns);
    spool_put(out, table->n_rows);
    for (uint32_t i = 0; i < table->n_columns; i++) {
        uint32_t kind = table->columns[i].spec.kind;
        spool_put(out, kind);
        put_buffer(out, &table->columns[i].values);
        put_buffer(out, &table->columns[i].bytes);
    }
}

void spool_put_strings(struct buffer *out, const struct strings *strings) {
    spool_put(out, strings->n);
    for (uint32_t i = 0; i < strings->n; i++) {
        uint64_t length = strings_length(strings, i);
        spool_put(out, length);
        buffer_append(out, strings_text(strings, i), length);
    }
}

void spool_put_rows(struct buffer *out, const void *rows, uint64_t n, size_t size) {
    spool_put(out, n);
    buffer_append(out, rows, n * size);
}

/* The next n bytes, or NULL. */
static const char *take_bytes(struct spool_reader *reader, uint64_t n) {
    reader->failed |= n > (uint64_t)(reader->end - reader->at);
    if (reader->failed)
        return NULL;
    reader->at += n;
    return reader->at - n;
}

void spool_take_bytes(struct spool_reader *reader, void *to, size_t n) {
    const char *bytes = take_bytes(reader, n);
    if (bytes)
        memcpy(to, bytes, n);
    else
        memset(to, 0, n);
}

const char *spool_take_text(struct spool_reader *reader) {
    uint64_t length;
    spool_take(reader, length);
    const char *text = take_bytes(reader, length);
    if (length == 0 || !text)
        return NULL;
    reader->failed |= text[length - 1] != 0;
    return reader->failed ? NULL : text;
}

bool spool_take_same(struct spool_reader *reader, const char *text) {
    const char *taken = spool_take_text(reader);
    return taken && text ? strcmp(taken, text) == 0 : !taken && !text;
}

enum sutra_status spool_take_options(struct spool_reader *reader, struct buffer *wanted, const char *path,
                                     struct sutra_error *error) {
    bool failed = wanted->failed;
    bool same = !failed && (size_t)(reader->end - reader->at) >= wanted->length &&
                memcmp(reader->at, wanted->bytes, wanted->length) == 0;
    reader->at += same ? wanted->length : 0;
    buffer_free(wanted);
    if (failed)
        return error_memory(error);
    return same ? SUTRA_OK : error_file(error, SUTRA_DATA, path, "was analyzed with other options");
}

bool spool_take_strings(struct spool_reader *reader, struct strings *strings) {
    uint32_t n;
    spool_take(reader, n);
    for (uint32_t i = 0; i < n && !reader->failed; i++) {
        uint64_t length;
        spool_take(reader, length);
        const char *bytes = take_bytes(reader, length);
        uint32_t number = bytes ? strings_intern(strings, bytes, length) : i;
        if (number == STRING_NONE)
            return false;
        reader->failed |= number != i;
    }
    return true;
}

void *spool_take_rows(struct spool_reader *reader, uint64_t *n, size_t size) {
    spool_take(reader, *n);
    reader->failed |= *n > (uint64_t)(reader->end - reader->at) / size;
    const char *from = reader->failed ? NULL : take_bytes(reader, *n * size);
    char *rows = from ? malloc(*n * size + 1) : NULL;
    *n = rows ? *n : 0;
    return rows && *n ? memcpy(rows, from, *n * size) : rows;
}

/* ---- Tables ---- */

static void take_buffer(struct spool_reader *reader, struct buffer *bytes) {
    uint64_t length;
    spool_take(reader, length);
    const char *from = take_bytes(reader, length);
    bytes->length = 0;
    if (from)
        buffer_append(bytes, from, length);
}

/* Whether the values of a column are those of so many rows. */
static bool column_is_sound(const struct column *column, uint64_t n_rows) {
    if (column->spec.kind != SUTRA_COLUMN_TEXT)
        return column->values.length / 8 == n_rows && column->values.length % 8 == 0;
    const uint64_t *starts = (const uint64_t *)(const void *)column->values.bytes;
    if (column->values.length % 8 != 0 || column->values.length / 8 != n_rows + 1 || starts[0] != 0 ||
        starts[n_rows] != column->bytes.length)
        return false;
    for (uint64_t row = 0; row < n_rows; row++)
        if (starts[row + 1] <= starts[row] || starts[row + 1] > column->bytes.length ||
            column->bytes.bytes[starts[row + 1] - 1] != 0)
            return false;
    return true;
}

void spool_take_table(struct spool_reader *reader, struct sutra_table *table) {
    uint32_t n_columns;
    uint64_t n_rows;
    spool_take(reader, n_columns);
    spool_take(reader, n_rows);
    reader->failed |= n_columns != table->n_columns || n_rows >= UINT64_MAX / 8;
    for (uint32_t i = 0; i < n_columns && !reader->failed; i++) {
        struct column *column = &table->columns[i];
        uint32_t kind;
        spool_take(reader, kind);
        reader->failed |= kind > SUTRA_COLUMN_TEXT;
        column->spec.kind = (enum sutra_column_kind)(reader->failed ? 0 : kind);
        take_buffer(reader, &column->values);
        take_buffer(reader, &column->bytes);
        table->failed |= column->values.failed || column->bytes.failed;
        reader->failed |= !table->failed && !column_is_sound(column, n_rows);
        if (table->failed)
            return;
    }
    table->n_rows = reader->failed ? 0 : n_rows;
}
