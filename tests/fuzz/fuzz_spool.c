/*
 * fuzz_spool.c - the input as what another process has left: texts lie in it and end, a table that is taken is the bytes
 * that it was made of.
 */
#include "analyze/spool.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct column_spec columns[] = {
        {"number", SUTRA_COLUMN_INTEGER}, {"text", SUTRA_COLUMN_TEXT}, {"share", SUTRA_COLUMN_REAL}};
    char *bytes = new_bytes(size);
    if (size)
        memcpy(bytes, data, size);
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
