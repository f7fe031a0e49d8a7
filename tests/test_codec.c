/*
 * test_codec.c - tests the format of partial results: the header rejects damaged and foreign files, and decoders check
 * bounds.
 */
#include "analyze/codec.h"
#include "base/error.h"
#include "unit.h"

static const struct codec_kind kind = {"test", 7};
static const struct codec_shard shard = {2, 5};

/* A partial result with an error as its content. */
static struct buffer make_result(void) {
    struct buffer out = {0};
    struct sutra_error error;
    error_file(&error, SUTRA_DATA, "trace.json", "malformed");
    error.offset = 12;
    error.line = 3;
    partial_result_begin(&out);
    codec_error(&(struct codec){.out = &out}, &error);
    partial_result_end(&out, &kind, shard);
    assert_false(out.failed);
    return out;
}

static const char *open_result(const struct buffer *result, size_t size, const struct codec_kind *wanted) {
    struct codec codec;
    struct codec_shard found;
    return partial_result_open(&codec, result->bytes, size, wanted, &found);
}

static void an_error_is_read_as_it_was_written(void **state) {
    struct buffer result = make_result();
    struct codec codec;
    struct codec_shard found;
    struct sutra_error error;
    assert_null(partial_result_open(&codec, result.bytes, result.length, &kind, &found));
    assert_int_equal(found.shard, shard.shard);
    assert_int_equal(found.n_shards, shard.n_shards);
    codec_error(&codec, &error);
    assert_int_equal(codec.failure, CODEC_OK);
    assert_ptr_equal(codec.at, codec.end);
    assert_int_equal(error.status, SUTRA_DATA);
    assert_int_equal(error.offset, 12);
    assert_int_equal(error.line, 3);
    assert_string_equal(error.file, "trace.json");
    assert_string_equal(error.message, "malformed");
    buffer_free(&result);
}

static void every_flipped_bit_is_refused(void **state) {
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
    struct buffer result = make_result();
    size_t length = result.length;
    for (size_t size = 0; size < length; size++)
        assert_non_null(open_result(&result, size, &kind));
    buffer_append(&result, "x", 1);
    assert_non_null(open_result(&result, length + 1, &kind));
    buffer_free(&result);
}

static void results_of_another_analysis_or_layout_are_refused(void **state) {
    struct buffer result = make_result();
    assert_non_null(open_result(&result, result.length, &(struct codec_kind){"other", 7}));
    assert_non_null(open_result(&result, result.length, &(struct codec_kind){"test", 8}));
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
    encode_value(&out, status);
    encode_value(&out, number);
    encode_value(&out, number);
    for (int i = 0; i < 2; i++) {
        encode_value(&out, size);
        buffer_append(&out, text, length);
    }
    struct codec codec = {.at = out.bytes, .end = out.bytes + out.length};
    codec_error(&codec, &error);
    assert_non_null(memchr(error.file, 0, sizeof error.file));
    assert_non_null(memchr(error.message, 0, sizeof error.message));
    free(text);
    buffer_free(&out);
    return !codec.failure;
}

static void errors_with_other_statuses_or_texts_without_an_end_are_malformed(void **state) {
    assert_true(reads_error(SUTRA_DATA, 256, 0));
    assert_false(reads_error(SUTRA_DATA, 257, 0));
    assert_false(reads_error(SUTRA_DATA, 20, 'a'));
    assert_false(reads_error(2, 20, 0));
    assert_false(reads_error(UINT32_MAX, 20, 0));
}

static void rows_of_another_size_are_malformed(void **state) {
    struct buffer out = {0};
    uint64_t values[3] = {1, 2, 3}, *rows = values, n = 3;
    uint32_t *decoded;
    codec_array(&(struct codec){.out = &out}, &rows, &n, NULL);
    struct codec codec = {.at = out.bytes, .end = out.bytes + out.length};
    codec_array(&codec, &decoded, &n, NULL);
    assert_null(decoded);
    assert_int_equal(codec.failure, CODEC_MALFORMED);
    buffer_free(&out);
}

static void numbers_stay_numbers_and_texts_stay_texts(void **state) {
    static const struct column_spec number = {"number", SUTRA_COLUMN_INTEGER}, text = {"text", SUTRA_COLUMN_TEXT};
    struct sutra_table from, to;
    struct buffer out = {0};
    table_init(&from, "from", &number, 1);
    table_init(&to, "to", &text, 1);
    codec_table(&(struct codec){.out = &out}, &from);
    struct codec codec = {.at = out.bytes, .end = out.bytes + out.length};
    codec_table(&codec, &to);
    assert_int_equal(codec.failure, CODEC_MALFORMED);
    assert_int_equal(to.columns[0].spec.kind, SUTRA_COLUMN_TEXT);
    table_free(&from);
    table_free(&to);
    buffer_free(&out);
}

/* Analyses check tables for memory failures at their end, after partial results are encoded. */
static void failed_table_is_not_encoded(void **state) {
    struct sutra_table table = {.failed = true};
    struct buffer out = {0};
    struct codec codec = {.out = &out};
    codec_table(&codec, &table);
    assert_int_equal(codec.failure, CODEC_NO_MEMORY);
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
        cmocka_unit_test(failed_table_is_not_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
