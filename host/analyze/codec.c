/*
 * codec.c - implements codec.h.
 */
#include "analyze/codec.h"
#include "base/shared.h"

#include <libdeflate.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sutra/context.h"

/* Raised with each change of the encoded values. */
#define RESULT_FORMAT 1

/* Eight bytes with the NUL at its end. */
#define RESULT_MAGIC "SUTRAPR"

/* The beginning of a file. The other byte order shows in the format. */
struct result_header {
    char magic[8];
    uint32_t format;
    uint32_t checksum; /* CRC-32 of the whole file, with zero here */
    uint64_t length;   /* of the file */
    uint64_t layout;
    struct codec_shard shard;
    char version[24], analysis[16];
};
_Static_assert(sizeof(struct result_header) == 80, "a header without padding");

/* ---- Files ---- */

static uint32_t checksum_of(const char *bytes, size_t size) {
    const size_t at = offsetof(struct result_header, checksum), n = sizeof(uint32_t);
    uint32_t sum = libdeflate_crc32(0, bytes, at);
    sum = libdeflate_crc32(sum, (const char[sizeof(uint32_t)]){0}, n);
    return libdeflate_crc32(sum, bytes + at + n, size - at - n);
}

static struct result_header header_of(const struct codec_kind *kind) {
    struct result_header header = {.magic = RESULT_MAGIC, .format = RESULT_FORMAT, .layout = kind->layout};
    snprintf(header.version, sizeof header.version, "%s", sutra_version());
    snprintf(header.analysis, sizeof header.analysis, "%s", kind->analysis);
    return header;
}

void partial_result_begin(struct buffer *out) {
    const struct result_header header = {.format = 0};
    encode_value(out, header);
}

void partial_result_end(struct buffer *out, const struct codec_kind *kind, struct codec_shard shard) {
    struct result_header header = header_of(kind);
    header.shard = shard;
    if (out->failed)
        return;
    memcpy(out->bytes, &header, sizeof header);
    partial_result_seal(out);
}

void partial_result_seal(struct buffer *out) {
    struct result_header header;
    memcpy(&header, out->bytes, sizeof header);
    header.length = out->length;
    memcpy(out->bytes, &header, sizeof header);
    header.checksum = checksum_of(out->bytes, out->length);
    memcpy(out->bytes, &header, sizeof header);
}

bool is_partial_result(const char *bytes, size_t size) {
    static const char magic[] = RESULT_MAGIC;
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

const char *partial_result_open(struct codec *codec, const char *bytes, size_t size, const struct codec_kind *kind,
                                struct codec_shard *shard) {
    const struct result_header wanted = header_of(kind);
    struct result_header header = {.format = 0};
    *shard = (struct codec_shard){0};
    memcpy(&header, bytes, MIN(size, sizeof header));
    if (size < sizeof header || !is_partial_result(bytes, size))
        return "truncated, or not a partial result";
    *shard = header.shard;
    if (header.format != RESULT_FORMAT || memcmp(header.version, wanted.version, sizeof header.version) != 0)
        return "partial result of another sutra version";
    if (header.length != size || header.checksum != checksum_of(bytes, size))
        return "damaged partial result (checksum mismatch)";
    if (header.layout != wanted.layout || memcmp(header.analysis, wanted.analysis, sizeof header.analysis) != 0)
        return "partial result of another analysis or build";
    *codec = (struct codec){.at = bytes + sizeof header, .end = bytes + size};
    return NULL;
}

/* ---- Values ---- */

/* The next n bytes to decode, or NULL. */
static const char *next_bytes(struct codec *codec, uint64_t n) {
    codec_check(codec, n <= (uint64_t)(codec->end - codec->at));
    if (codec->failure)
        return NULL;
    codec->at += n;
    return codec->at - n;
}

void codec_bytes(struct codec *codec, void *bytes, size_t n) {
    const char *from;
    if (codec->out)
        buffer_append(codec->out, bytes, n);
    else if ((from = next_bytes(codec, n)))
        memcpy(bytes, from, n);
    else
        memset(bytes, 0, n);
}

void codec_bool(struct codec *codec, bool *value) {
    unsigned char byte = codec_decodes(codec) ? 0 : *value;
    codec_value(codec, &byte);
    *value = byte != 0;
}

void codec_limited_bytes(struct codec *codec, void *number, uint32_t max) {
    uint32_t value;
    codec_bytes(codec, number, sizeof value);
    memcpy(&value, number, sizeof value);
    if (codec_decodes(codec) && value > max) {
        codec_fail(codec, CODEC_MALFORMED);
        memset(number, 0, sizeof value);
    }
}

void encode_text(struct buffer *out, const char *text) {
    uint64_t length = text ? strlen(text) + 1 : 0;
    encode_value(out, length);
    buffer_append(out, text ? text : "", length);
}

void codec_text(struct codec *codec, const char **text) {
    uint64_t length;
    if (codec->out) {
        encode_text(codec->out, *text);
        return;
    }
    codec_value(codec, &length);
    const char *from = next_bytes(codec, length);
    if (from && length > 0)
        codec_check(codec, from[length - 1] == 0);
    *text = codec->failure || length == 0 ? NULL : from;
}

void codec_text_in(struct codec *codec, const char **text, struct arena *arena) {
    codec_text(codec, text);
    if (codec->out)
        return;
    const char *kept = *text ? arena_text(arena, *text, strlen(*text)) : "";
    if (!kept)
        codec_fail(codec, CODEC_NO_MEMORY);
    *text = kept ? kept : "";
}

void codec_chars(struct codec *codec, char *text, size_t size) {
    const char *value = text;
    codec_text(codec, &value);
    if (codec->out)
        return;
    int length = snprintf(text, size, "%s", value ? value : "");
    codec_check(codec, length >= 0 && (size_t)length < size);
}

void codec_status(struct codec *codec, enum sutra_status *status) {
    static const enum sutra_status known[] = {SUTRA_OK,        SUTRA_STRICT,      SUTRA_USAGE,    SUTRA_DATA,
                                              SUTRA_NO_INPUT,  SUTRA_UNAVAILABLE, SUTRA_INTERNAL, SUTRA_SYSTEM,
                                              SUTRA_NO_OUTPUT, SUTRA_IO,          SUTRA_CANCELLED};
    uint32_t number = codec_decodes(codec) ? 0 : (uint32_t)*status;
    codec_value(codec, &number);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (number == (uint32_t)known[i]) {
            *status = known[i];
            return;
        }
    codec_fail(codec, CODEC_MALFORMED);
    *status = SUTRA_OK;
}

void codec_error(struct codec *codec, struct sutra_error *error) {
    codec_status(codec, &error->status);
    codec_value(codec, &error->offset);
    codec_value(codec, &error->line);
    codec_chars(codec, error->file, sizeof error->file);
    codec_chars(codec, error->message, sizeof error->message);
}

void codec_strings(struct codec *codec, struct strings *strings) {
    uint32_t n = strings->n;
    codec_value(codec, &n);
    for (uint32_t i = 0; i < n && !codec->failure; i++) {
        uint64_t length = codec->out ? strings_length(strings, i) : 0;
        codec_value(codec, &length);
        if (codec->out) {
            buffer_append(codec->out, strings_text(strings, i), length);
            continue;
        }
        const char *bytes = next_bytes(codec, length);
        uint32_t number = bytes ? strings_intern(strings, bytes, length) : i;
        if (number == STRING_NONE)
            codec_fail(codec, CODEC_NO_MEMORY);
        codec_check(codec, number == i);
    }
}

void codec_array_bytes(struct codec *codec, void *list, uint64_t *n, size_t size, struct arena *arena) {
    uint64_t row_size = size;
    void *rows;
    codec_value(codec, n);
    codec_value(codec, &row_size);
    if (codec->out) {
        memcpy(&rows, list, sizeof rows);
        buffer_append(codec->out, rows, *n * size);
        return;
    }
    codec_check(codec, row_size == size && size > 0 && *n <= (uint64_t)(codec->end - codec->at) / size);
    const char *from = codec->failure ? NULL : next_bytes(codec, *n * size);
    rows = !from ? NULL : arena ? arena_alloc(arena, *n, size) : malloc(*n * size + 1);
    if (from && !rows)
        codec_fail(codec, CODEC_NO_MEMORY);
    *n = rows ? *n : 0;
    if (*n)
        memcpy(rows, from, *n * size);
    memcpy(list, &rows, sizeof rows);
}

/* ---- Tables ---- */

static void buffer_codec(struct codec *codec, struct buffer *bytes) {
    uint64_t length = bytes->length;
    codec_value(codec, &length);
    if (codec->out) {
        buffer_append(codec->out, length ? bytes->bytes : "", length);
        return;
    }
    const char *from = next_bytes(codec, length);
    bytes->length = 0;
    if (from)
        buffer_append(bytes, from, length);
    if (bytes->failed)
        codec_fail(codec, CODEC_NO_MEMORY);
}

/* Whether a column has values for n_rows rows, and its texts end. */
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

void codec_table(struct codec *codec, struct sutra_table *table) {
    uint32_t n_columns = table->n_columns;
    uint64_t n_rows = table->n_rows;
    if (table->failed)
        codec_fail(codec, CODEC_NO_MEMORY);
    codec_value(codec, &n_columns);
    codec_value(codec, &n_rows);
    codec_check(codec, n_columns == table->n_columns && n_rows < UINT64_MAX / 8);
    for (uint32_t i = 0; i < n_columns && !codec->failure; i++) {
        struct column *column = &table->columns[i];
        uint32_t kind = column->spec.kind;
        codec_limited(codec, &kind, SUTRA_COLUMN_TEXT);
        /* Ids may be texts, see table_retype(). */
        codec_check(codec, kind == SUTRA_COLUMN_TEXT || column->spec.kind != SUTRA_COLUMN_TEXT);
        if (codec->failure)
            break;
        column->spec.kind = (enum sutra_column_kind)kind;
        buffer_codec(codec, &column->values);
        buffer_codec(codec, &column->bytes);
        if (codec_decodes(codec) && !codec->failure)
            codec_check(codec, column_is_sound(column, n_rows));
    }
    if (codec_decodes(codec))
        table->n_rows = codec->failure ? 0 : n_rows;
}

/* Columns that depend on the trace. Their decoded names are in the result's arena. */
static void columns_codec(struct codec *codec, struct sutra_result *result, uint32_t id) {
    struct sutra_table *table = &result->tables[id];
    uint32_t n = table->n_columns;
    codec_value(codec, &n);
    if (codec_decodes(codec)) {
        codec_check(codec, n <= (uint64_t)(codec->end - codec->at) / sizeof(uint64_t));
        n = codec->failure ? 0 : n;
    }
    struct column_spec *columns = arena_zeros(&result->texts, (size_t)n + 1, sizeof *columns);
    for (uint32_t i = 0; i < n && columns; i++) {
        if (!codec_decodes(codec))
            columns[i] = table->columns[i].spec;
        codec_text_in(codec, &columns[i].name, &result->texts);
        codec_limited(codec, &columns[i].kind, SUTRA_COLUMN_TEXT);
    }
    if (!columns)
        codec_fail(codec, CODEC_NO_MEMORY);
    if (codec_decodes(codec))
        result_table_begin_with(result, id, columns, columns ? n : 0);
}

void codec_result(struct codec *codec, struct sutra_result *result) {
    for (uint32_t id = 0; id < result->n_tables && !codec->failure; id++) {
        bool made = result->made[id], has_reason = result->reasons[id];
        codec_bool(codec, &made);
        codec_bool(codec, &has_reason);
        if (has_reason)
            codec_text_in(codec, &result->reasons[id], &result->texts);
        if (!made)
            continue;
        if (!result->specs[id].columns[0].name)
            columns_codec(codec, result, id);
        else if (codec_decodes(codec))
            result_table_begin(result, id);
        codec_table(codec, &result->tables[id]);
    }
}

/* ---- Options ---- */

void codec_options(struct codec *codec, encode_options *encode, const void *options) {
    struct buffer wanted = {0};
    if (codec->out) {
        encode(options, codec->out);
        return;
    }
    encode(options, &wanted);
    if (wanted.failed)
        codec_fail(codec, CODEC_NO_MEMORY);
    else if ((size_t)(codec->end - codec->at) < wanted.length || memcmp(codec->at, wanted.bytes, wanted.length) != 0)
        codec_fail(codec, CODEC_OTHER_OPTIONS);
    else
        codec->at += wanted.length;
    buffer_free(&wanted);
}
