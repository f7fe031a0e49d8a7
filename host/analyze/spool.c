/*
 * spool.c - bytes in the order in which they are asked for, behind a header.
 */
#include "analyze/spool.h"

#include <libdeflate.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sutra/context.h"

/* Counts up with each change of what is written. */
#define SPOOL_FORMAT 1

/* Eight bytes with the zero at its end. */
#define SPOOL_MAGIC "SUTRAPR"

/* All of a file before its content. The other byte order shows in the format. */
struct spool_header {
    char magic[8];
    uint32_t format;
    uint32_t checksum; /* CRC-32 of the whole file, with zero here */
    uint64_t length;   /* of the file */
    uint64_t layout;
    struct spool_writer writer;
    char version[24], analysis[16];
};
_Static_assert(sizeof(struct spool_header) == 80, "a header without padding");

/* ---- The header ---- */

static uint32_t checksum_of(const char *bytes, size_t size) {
    const size_t at = offsetof(struct spool_header, checksum), n = sizeof(uint32_t);
    uint32_t sum = libdeflate_crc32(0, bytes, at);
    sum = libdeflate_crc32(sum, (const char[sizeof(uint32_t)]){0}, n);
    return libdeflate_crc32(sum, bytes + at + n, size - at - n);
}

static struct spool_header header_of(const struct spool_kind *kind) {
    struct spool_header header = {.magic = SPOOL_MAGIC, .format = SPOOL_FORMAT, .layout = kind->layout};
    snprintf(header.version, sizeof header.version, "%s", sutra_version());
    snprintf(header.analysis, sizeof header.analysis, "%s", kind->analysis);
    return header;
}

void spool_begin(struct buffer *out) {
    const struct spool_header header = {.format = 0};
    spool_put(out, header);
}

void spool_end(struct buffer *out, const struct spool_kind *kind, struct spool_writer writer) {
    struct spool_header header = header_of(kind);
    header.writer = writer;
    if (out->failed)
        return;
    memcpy(out->bytes, &header, sizeof header);
    spool_seal(out);
}

void spool_seal(struct buffer *out) {
    struct spool_header header;
    memcpy(&header, out->bytes, sizeof header);
    header.length = out->length;
    memcpy(out->bytes, &header, sizeof header);
    header.checksum = checksum_of(out->bytes, out->length);
    memcpy(out->bytes, &header, sizeof header);
}

bool spool_may_begin(const char *bytes, size_t size) {
    static const char magic[] = SPOOL_MAGIC;
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

const char *spool_open(struct spool_reader *reader, const char *bytes, size_t size, const struct spool_kind *kind,
                       struct spool_writer *writer) {
    const struct spool_header wanted = header_of(kind);
    struct spool_header header = {.format = 0};
    *writer = (struct spool_writer){0};
    memcpy(&header, bytes, size < sizeof header ? size : sizeof header);
    if (size < sizeof header || !spool_may_begin(bytes, size))
        return "truncated, or not a partial result";
    *writer = header.writer;
    if (header.format != SPOOL_FORMAT || memcmp(header.version, wanted.version, sizeof header.version) != 0)
        return "partial result of another sutra version";
    if (header.length != size || header.checksum != checksum_of(bytes, size))
        return "damaged partial result (checksum mismatch)";
    if (header.layout != wanted.layout || memcmp(header.analysis, wanted.analysis, sizeof header.analysis) != 0)
        return "partial result of another analysis or build";
    *reader = (struct spool_reader){.at = bytes + sizeof header, .end = bytes + size};
    return NULL;
}

/* ---- Content ---- */

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
    const uint64_t row_size = size;
    spool_put(out, n);
    spool_put(out, row_size);
    buffer_append(out, rows, n * size);
}

void spool_put_error(struct buffer *out, const struct sutra_error *error) {
    const uint32_t status = error->status;
    spool_put(out, status);
    spool_put(out, error->offset);
    spool_put(out, error->line);
    spool_put_text(out, error->file);
    spool_put_text(out, error->message);
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

uint32_t spool_take_limited(struct spool_reader *reader, uint32_t most) {
    uint32_t number;
    spool_take(reader, number);
    reader->failed |= number > most;
    return reader->failed ? 0 : number;
}

enum sutra_status spool_take_status(struct spool_reader *reader) {
    switch (spool_take_limited(reader, SUTRA_CANCELLED)) {
#define STATUS(name)                                                                                                   \
    case name:                                                                                                         \
        return name
        STATUS(SUTRA_OK);
        STATUS(SUTRA_STRICT);
        STATUS(SUTRA_USAGE);
        STATUS(SUTRA_DATA);
        STATUS(SUTRA_NO_INPUT);
        STATUS(SUTRA_UNAVAILABLE);
        STATUS(SUTRA_INTERNAL);
        STATUS(SUTRA_SYSTEM);
        STATUS(SUTRA_NO_OUTPUT);
        STATUS(SUTRA_IO);
        STATUS(SUTRA_CANCELLED);
#undef STATUS
    default:
        reader->failed = true;
        return SUTRA_OK;
    }
}

/* A text of at most size - 1 characters. */
static void take_text_into(struct spool_reader *reader, char *to, size_t size) {
    const char *text = spool_take_text(reader);
    int length = snprintf(to, size, "%s", text ? text : "");
    reader->failed |= length < 0 || (size_t)length >= size;
}

void spool_take_error(struct spool_reader *reader, struct sutra_error *error) {
    error->status = spool_take_status(reader);
    spool_take(reader, error->offset);
    spool_take(reader, error->line);
    take_text_into(reader, error->file, sizeof error->file);
    take_text_into(reader, error->message, sizeof error->message);
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
    return same ? SUTRA_OK
                : error_file(error, SUTRA_DATA, path, "analyzed with other options: repeat the options of --shard");
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
    uint64_t row_size;
    spool_take(reader, *n);
    spool_take(reader, row_size);
    reader->failed |= row_size != size || size == 0 || *n > (uint64_t)(reader->end - reader->at) / size;
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
        uint32_t kind = spool_take_limited(reader, SUTRA_COLUMN_TEXT);
        reader->failed |= (kind == SUTRA_COLUMN_TEXT) != (column->spec.kind == SUTRA_COLUMN_TEXT);
        if (reader->failed)
            break;
        column->spec.kind = (enum sutra_column_kind)kind;
        take_buffer(reader, &column->values);
        take_buffer(reader, &column->bytes);
        table->failed |= column->values.failed || column->bytes.failed;
        reader->failed |= !table->failed && !column_is_sound(column, n_rows);
        if (table->failed)
            return;
    }
    table->n_rows = reader->failed ? 0 : n_rows;
}
