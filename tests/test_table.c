/*
 * test_table.c - tests tables: appended rows, and CSV and JSON files of many rows that several threads write, against
 * text that is built here.
 */
#include "analyze/table.h"
#include "link_case.h"
#include "unit.h"

#define N_ROWS 60000

static const struct column_spec columns[] = {
    {"number", SUTRA_COLUMN_INTEGER}, {"share", SUTRA_COLUMN_REAL}, {"name", SUTRA_COLUMN_TEXT}};

/* As they are, in CSV, and in JSON. */
static const struct {
    const char *text, *csv, *json;
} names[] = {{"plain", "plain", "plain"},
             {"", "", ""},
             {"a<b, c>", "\"a<b, c>\"", "a<b, c>"},
             {"\"in\" quotes\"", "\"\"\"in\"\" quotes\"\"\"", "\\\"in\\\" quotes\\\""},
             {"two\nlines", "\"two\nlines\"", "two\\nlines"}};
#define N_NAMES (sizeof names / sizeof *names)

static void add_row(struct sutra_table *table, size_t row) {
    table_integer(table, (int64_t)row);
    table_real(table, (double)row + 0.5);
    table_words(table, names[row % N_NAMES].text);
}

static void rows_are_appended_after_existing_rows(void **state) {
    struct column_spec real_columns[3];
    struct sutra_table whole, empty, integers, reals;
    memcpy(real_columns, columns, sizeof columns);
    real_columns[0].kind = SUTRA_COLUMN_REAL;
    table_init(&whole, "t", columns, 3);
    table_init(&empty, "t", columns, 3);
    table_init(&integers, "t", columns, 3);
    table_init(&reals, "t", real_columns, 3);
    for (size_t row = 0; row < 2 * N_NAMES; row++)
        add_row(row < N_NAMES ? &integers : &reals, row);
    table_append(&whole, &empty);
    table_append(&whole, &integers);
    assert_int_equal(whole.columns[0].spec.kind, SUTRA_COLUMN_INTEGER);
    table_append(&whole, &reals);
    assert_int_equal(whole.columns[0].spec.kind, SUTRA_COLUMN_REAL);
    table_append(&whole, &empty);
    table_append(&whole, &integers);
    add_row(&whole, 3 * N_NAMES);
    assert_false(whole.failed);
    assert_int_equal(whole.n_rows, 3 * N_NAMES + 1);
    for (size_t row = 0; row < whole.n_rows; row++) {
        size_t of = row >= 2 * N_NAMES && row < 3 * N_NAMES ? row - 2 * N_NAMES : row, length;
        const char *text = table_get_text(&whole, 2, row, &length);
        assert_true(table_get_real(&whole, 0, row) == (double)of);
        assert_true(table_get_real(&whole, 1, row) == (double)of + 0.5);
        assert_string_equal(text, names[of % N_NAMES].text);
        assert_int_equal(length, strlen(text));
    }
    table_free(&whole);
    table_free(&empty);
    table_free(&integers);
    table_free(&reals);
}

static void put_expected(struct buffer *out, size_t n_rows, enum sutra_table_format format) {
    char line[128];
    bool json = format == SUTRA_TABLE_JSON;
    buffer_append(out, json ? "[" : "number,share,name\n", json ? 1 : 18);
    for (size_t row = 0; row < n_rows; row++) {
        const char *name = json ? names[row % N_NAMES].json : names[row % N_NAMES].csv;
        int n = json ? snprintf(line, sizeof line, "%s\n {\"number\": %zu, \"share\": %zu.5, \"name\": \"%s\"",
                                row ? "}," : "", row, row, name)
                     : snprintf(line, sizeof line, "%zu,%zu.5,%s\n", row, row, name);
        buffer_append(out, line, (size_t)n);
    }
    if (json)
        buffer_append(out, n_rows ? "}\n]\n" : "]\n", n_rows ? 4 : 2);
    buffer_append(out, "", 1);
}

static void write_and_compare(size_t n_rows, enum sutra_table_format format, unsigned n_threads) {
    char path[] = P_tmpdir "/sutra_table_XXXXXX";
    struct sutra_table table;
    struct buffer expected = {0};
    uint64_t n_bytes = 0;
    make_temp_file(path, "");
    table_init(&table, "t", columns, 3);
    for (size_t row = 0; row < n_rows; row++)
        add_row(&table, row);
    put_expected(&expected, n_rows, format);
    struct sutra_context *context = NEW_CONTEXT(.n_threads = n_threads, .device = SUTRA_DEVICE_CPU);
    assert_int_equal(sutra_table_write(context, &table, format, path, &n_bytes, NULL), SUTRA_OK);
    char *text = file_text(path, NULL);
    assert_int_equal(n_bytes, expected.length - 1);
    assert_true(strcmp(text, expected.bytes) == 0);
    unlink(path);
    free(text);
    buffer_free(&expected);
    table_free(&table);
    sutra_context_free(context);
}

static void files_are_the_same_by_any_number_of_threads(void **state) {
    static const size_t sizes[] = {0, 1, 2, N_ROWS};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned n_threads = 1; n_threads <= 3; n_threads += 2) {
            write_and_compare(sizes[i], SUTRA_TABLE_CSV, n_threads);
            write_and_compare(sizes[i], SUTRA_TABLE_JSON, n_threads);
        }
}

static const struct table_spec specs[] = {{"of_job", .columns = {{"rank", SUTRA_COLUMN_INTEGER}}},
                                          {"of_rank", OF_RANK, .columns = {{"ts", SUTRA_COLUMN_TEXT + 1}}},
                                          {.name = "unused"}};

static void missing_tables_have_a_reason(void **state) {
    static const struct column_spec own[] = {{"name", SUTRA_COLUMN_TEXT}, {"us", SUTRA_COLUMN_REAL}};
    struct sutra_result result;
    const char *reason = NULL;
    assert_true(result_init(&result, specs, 3));
    assert_int_equal(sutra_result_n_tables(&result), 3);
    assert_null(sutra_result_table(&result, 1, &reason));
    assert_string_equal(reason, "not requested, or no data");
    result.of_job = true;
    assert_null(sutra_result_table(&result, 1, &reason));
    assert_string_equal(reason, "this table exists per rank only");
    result.reasons[0] = "no kernels";
    assert_null(sutra_result_table(&result, 0, &reason));
    assert_string_equal(reason, "no kernels");
    assert_null(sutra_result_table(&result, 3, &reason));
    assert_string_equal(reason, "no such table");
    assert_null(sutra_result_table(&result, 2, NULL));

    result.real_kinds = 1U << (SUTRA_COLUMN_TEXT + 1);
    assert_int_equal(result_table_begin(&result, 1)->columns[0].spec.kind, SUTRA_COLUMN_REAL);
    const struct sutra_table *table = result_table_begin_with(&result, 0, own, 2);
    assert_ptr_equal(sutra_result_table(&result, 0, &reason), table);
    assert_null(reason);
    assert_string_equal(sutra_table_name(table), "of_job");
    assert_int_equal(table->n_columns, 2);
    assert_int_equal(result_status(&result, NULL), SUTRA_OK);
    result.tables[1].failed = true;
    assert_int_equal(result_status(&result, NULL), SUTRA_SYSTEM);
    result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_appended_after_existing_rows),
        cmocka_unit_test(files_are_the_same_by_any_number_of_threads),
        cmocka_unit_test(missing_tables_have_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
