/*
 * fuzz_spool.c - the input as what another process has left: texts lie in it and end; a table that is taken, and what
 * is kept of collectives and of overheads, is the bytes that it was made of.
 */
#include "analyze/collectives/tracelens.h"
#include "analyze/dlrm/overheads.h"
#include "analyze/spool.h"
#include "fuzz.h"

/* What was restored from the input's beginning gives these bytes again. */
static void check_again(const char *begin, const struct spool_reader *reader, struct buffer *again) {
    check(reader->at <= reader->end, "nothing is read behind the end");
    check(same_bytes(again->bytes, again->length, begin, (size_t)(reader->at - begin)),
          "what was restored is what was put");
    buffer_free(again);
}

static void restore_calls(const char *bytes, size_t size) {
    struct spool_reader reader = {.at = bytes, .end = bytes + size};
    struct collective_calls calls;
    struct buffer again = {0};
    check(collective_calls_init(&calls), "there is memory");
    check(collective_calls_restore(&calls, 0, &reader), "there is memory");
    if (!reader.failed && (unsigned char)reader.at[-1] <= 1) { /* any byte but 0 is true */
        collective_calls_put(&calls, &again);
        check_again(bytes, &reader, &again);
    }
    collective_calls_free(&calls);
}

static void restore_rows(const char *bytes, size_t size) {
    struct spool_reader reader = {.at = bytes, .end = bytes + size};
    struct nccl_rows *rows = NULL;
    struct buffer again = {0};
    check(nccl_rows_restore(&rows, &reader), "there is memory");
    check(reader.failed == !rows, "damaged rows are none");
    if (rows) {
        nccl_rows_put(rows, &again);
        check_again(bytes, &reader, &again);
    }
    nccl_rows_free(rows);
}

static void restore_raw(const char *bytes, size_t size) {
    struct spool_reader reader = {.at = bytes, .end = bytes + size};
    struct dlrm_raw raw = {.n = 0};
    struct buffer again = {0};
    check(dlrm_raw_restore(&raw, &reader), "there is memory");
    if (!reader.failed && size > 0 && (unsigned char)bytes[0] <= 1) {
        dlrm_raw_put(&raw, &again);
        check_again(bytes, &reader, &again);
    }
    dlrm_raw_free(&raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct column_spec columns[] = {
        {"number", SUTRA_COLUMN_INTEGER}, {"text", SUTRA_COLUMN_TEXT}, {"share", SUTRA_COLUMN_REAL}};
    char *bytes = new_bytes(size);
    if (size)
        memcpy(bytes, data, size);
    restore_calls(bytes, size);
    restore_rows(bytes, size);
    restore_raw(bytes, size);
    struct spool_reader reader = {.at = bytes, .end = bytes + size};
    struct sutra_table table;
    struct buffer again = {0};
    const char *text = spool_take_text(&reader);
    check(!text || text + strlen(text) < reader.at, "a text ends before what follows");
    const char *begin = reader.at;
    table_init(&table, "table", columns, sizeof columns / sizeof *columns);
    spool_take_table(&reader, &table);
    check(reader.at <= reader.end, "nothing is read behind the end");
    check(!reader.failed || table.n_rows == 0, "a damaged table has no rows");
    if (!reader.failed && !table.failed) {
        spool_put_table(&again, &table);
        check(same_bytes(again.bytes, again.length, begin, (size_t)(reader.at - begin)), "a table is what it was");
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
