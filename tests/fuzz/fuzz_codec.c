/*
 * fuzz_codec.c - fuzzes partial results: decoded texts are terminated; decoded tables, collectives and overheads are
 * encoded as the same bytes.
 */
#include "analyze/codec.h"
#include "analyze/compat/dlrm/overheads.h"
#include "analyze/compat/tracelens/nccl_collectives.h"
#include "fuzz.h"

/* The decoded prefix of the input is encoded as the same bytes. */
static void check_again(const char *begin, const struct codec *codec, struct buffer *again) {
    check(codec->at <= codec->end, "nothing is read after the end");
    check(same_bytes(again->bytes, again->length, begin, (size_t)(codec->at - begin)),
          "decoded values are encoded as the same bytes");
    buffer_free(again);
}

static void decode_calls(const char *bytes, size_t size) {
    struct codec codec = {.at = bytes, .end = bytes + size};
    struct collective_calls calls;
    struct buffer again = {0};
    check(collective_calls_init(&calls), "there is memory");
    collective_calls_codec(&codec, &calls, 0);
    check(codec.failure != CODEC_NO_MEMORY, "there is memory");
    if (!codec.failure && (unsigned char)codec.at[-1] <= 1) { /* any byte but 0 is true */
        collective_calls_codec(&(struct codec){.out = &again}, &calls, 0);
        check_again(bytes, &codec, &again);
    }
    collective_calls_free(&calls);
}

static void decode_rows(const char *bytes, size_t size) {
    struct codec codec = {.at = bytes, .end = bytes + size};
    struct nccl_rows *rows = NULL;
    struct buffer again = {0};
    nccl_rows_codec(&codec, &rows);
    check(codec.failure != CODEC_NO_MEMORY, "there is memory");
    check((codec.failure != CODEC_OK) == !rows, "malformed rows are not decoded");
    if (rows) {
        nccl_rows_codec(&(struct codec){.out = &again}, &rows);
        check_again(bytes, &codec, &again);
    }
    nccl_rows_free(rows);
}

static void decode_raw(const char *bytes, size_t size) {
    struct codec codec = {.at = bytes, .end = bytes + size};
    struct dlrm_raw raw = {.n = 0};
    struct buffer again = {0};
    dlrm_raw_codec(&codec, &raw);
    check(codec.failure != CODEC_NO_MEMORY, "there is memory");
    if (!codec.failure && size > 0 && (unsigned char)bytes[0] <= 1) {
        dlrm_raw_codec(&(struct codec){.out = &again}, &raw);
        check_again(bytes, &codec, &again);
    }
    dlrm_raw_free(&raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct column_spec columns[] = {
        {"number", SUTRA_COLUMN_INTEGER}, {"text", SUTRA_COLUMN_TEXT}, {"share", SUTRA_COLUMN_REAL}};
    char *bytes = new_bytes(size);
    if (size)
        memcpy(bytes, data, size);
    decode_calls(bytes, size);
    decode_rows(bytes, size);
    decode_raw(bytes, size);
    struct codec codec = {.at = bytes, .end = bytes + size};
    struct sutra_table table;
    struct buffer again = {0};
    const char *text;
    codec_text(&codec, &text);
    check(!text || text + strlen(text) < codec.at, "a text ends before what follows");
    const char *begin = codec.at;
    table_init(&table, "table", columns, sizeof columns / sizeof *columns);
    codec_table(&codec, &table);
    check(codec.at <= codec.end, "nothing is read behind the end");
    check(!codec.failure || table.n_rows == 0, "a damaged table has no rows");
    if (!codec.failure && !table.failed) {
        codec_table(&(struct codec){.out = &again}, &table);
        check(same_bytes(again.bytes, again.length, begin, (size_t)(codec.at - begin)), "a table is what it was");
        for (uint64_t row = 0; row < table.n_rows; row++)
            if (table.columns[1].spec.kind == SUTRA_COLUMN_TEXT) {
                size_t length;
                const char *cell = table_get_text(&table, 1, row, &length);
                check(cell[length] == 0, "a text of a table ends");
            }
    }
    buffer_free(&again);
    table_free(&table);
    free(bytes);
    return 0;
}
