/*
 * test_spool.c - partial results: the header refuses what is damaged or foreign, and readers of the content are bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/spool.h"
#include "base/error.h"

static const struct spool_kind kind = {"test", 7};
static const struct spool_writer writer = {2, 5};

/* A partial result with an error as its content. */
static struct buffer make_result(void) {
    struct buffer out = {0};
    struct sutra_error error;
    error_file(&error, SUTRA_DATA, "trace.json", "malformed");
    error.offset = 12;
    error.line = 3;
    spool_begin(&out);
    spool_put_error(&out, &error);
    spool_end(&out, &kind, writer);
    assert_false(out.failed);
    return out;
}

static const char *open_result(const struct buffer *result, size_t size, const struct spool_kind *wanted) {
    struct spool_reader reader;
    struct spool_writer found;
    return spool_open(&reader, result->bytes, size, wanted, &found);
}

static void an_error_is_read_as_it_was_written(void **state) {
    (void)state;
    struct buffer result = make_result();
    struct spool_reader reader;
    struct spool_writer found;
    struct sutra_error error;
    assert_null(spool_open(&reader, result.bytes, result.length, &kind, &found));
    assert_int_equal(found.part, writer.part);
    assert_int_equal(found.n_parts, writer.n_parts);
    spool_take_error(&reader, &error);
    assert_false(reader.failed);
    assert_ptr_equal(reader.at, reader.end);
    assert_int_equal(error.status, SUTRA_DATA);
    assert_int_equal(error.offset, 12);
    assert_int_equal(error.line, 3);
    assert_string_equal(error.file, "trace.json");
    assert_string_equal(error.message, "malformed");
    buffer_free(&result);
}

static void every_flipped_bit_is_refused(void **state) {
    (void)state;
    struct buffer result = make_result();
    for (size_t bit = 0; bit < 8 * result.length; bit++) {
        result.bytes[bit / 8] = (char)(result.bytes[bit / 8] ^ (1 << bit % 8));
        assert_non_null(open_result(&result, result.length, &kind));
        result.bytes[bit / 8] = (char)(result.bytes[bit / 8] ^ (1 << bit % 8));
    }
    assert_null(open_result(&result, result.length, &kind));
    buffer_free(&result);
}

static void truncated_and_extended_results_are_refused(void **state) {
    (void)state;
    struct buffer result = make_result();
    size_t length = result.length;
    for (size_t size = 0; size < length; size++)
        assert_non_null(open_result(&result, size, &kind));
    buffer_append(&result, "x", 1);
    assert_non_null(open_result(&result, length + 1, &kind));
    buffer_free(&result);
}

static void results_of_another_analysis_or_layout_are_refused(void **state) {
    (void)state;
    struct buffer result = make_result();
    assert_non_null(open_result(&result, result.length, &(struct spool_kind){"other", 7}));
    assert_non_null(open_result(&result, result.length, &(struct spool_kind){"test", 8}));
    buffer_free(&result);
}

/* Reads an error whose texts have this length, and end or not. */
static bool reads_error(uint32_t status, size_t length, char last) {
    struct buffer out = {0};
    const uint64_t number = 0, size = length;
    char *text = malloc(length);
    struct sutra_error error;
    assert_non_null(text);
    memset(text, 'a', length);
    text[length - 1] = last;
    spool_put(&out, status);
    spool_put(&out, number);
    spool_put(&out, number);
    for (int i = 0; i < 2; i++) {
        spool_put(&out, size);
        buffer_append(&out, text, length);
    }
    struct spool_reader reader = {.at = out.bytes, .end = out.bytes + out.length};
    spool_take_error(&reader, &error);
    assert_non_null(memchr(error.file, 0, sizeof error.file));
    assert_non_null(memchr(error.message, 0, sizeof error.message));
    free(text);
    buffer_free(&out);
    return !reader.failed;
}

static void errors_with_other_statuses_or_texts_without_an_end_are_malformed(void **state) {
    (void)state;
    assert_true(reads_error(SUTRA_DATA, 256, 0));
    assert_false(reads_error(SUTRA_DATA, 257, 0));
    assert_false(reads_error(SUTRA_DATA, 20, 'a'));
    assert_false(reads_error(2, 20, 0));
    assert_false(reads_error(UINT32_MAX, 20, 0));
}

static void rows_of_another_size_are_malformed(void **state) {
    (void)state;
    struct buffer out = {0};
    const uint64_t rows[3] = {1, 2, 3};
    uint64_t n;
    spool_put_rows(&out, rows, 3, sizeof *rows);
    struct spool_reader reader = {.at = out.bytes, .end = out.bytes + out.length};
    assert_null(spool_take_rows(&reader, &n, 4));
    assert_true(reader.failed);
    buffer_free(&out);
}

static void numbers_stay_numbers_and_texts_stay_texts(void **state) {
    (void)state;
    static const struct column_spec number = {"number", SUTRA_COLUMN_INTEGER}, text = {"text", SUTRA_COLUMN_TEXT};
    struct sutra_table from, to;
    struct buffer out = {0};
    table_init(&from, "from", &number, 1);
    table_init(&to, "to", &text, 1);
    spool_put_table(&out, &from);
    struct spool_reader reader = {.at = out.bytes, .end = out.bytes + out.length};
    spool_take_table(&reader, &to);
    assert_true(reader.failed);
    assert_int_equal(to.columns[0].spec.kind, SUTRA_COLUMN_TEXT);
    table_free(&from);
    table_free(&to);
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_read_as_it_was_written),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(truncated_and_extended_results_are_refused),
        cmocka_unit_test(results_of_another_analysis_or_layout_are_refused),
        cmocka_unit_test(errors_with_other_statuses_or_texts_without_an_end_are_malformed),
        cmocka_unit_test(rows_of_another_size_are_malformed),
        cmocka_unit_test(numbers_stay_numbers_and_texts_stay_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
