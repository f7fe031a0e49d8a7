/*
 * test_cuda_apart.c - tests that columns apart from each other (enum cuda_columns) show errors of kernels: writes beyond a
 * column and reads of a column that no kernel has written. The other tests of the steps run with them, too.
 */
#include "cuda_compare.h"

#define ROWS 1001

static struct cuda_engine *open_with(enum cuda_columns columns, struct pool *pool) {
    static struct said said;
    struct cuda_engine_options options = options_for(false, &said);
    struct engine engine;
    options.columns = columns;
    return host_gpu_open(pool, &options, UNLIMITED, NEVER, &engine);
}

static void a_write_beyond_a_column_fails_the_step(void **state) {
    static const enum cuda_columns modes[] = {COLUMNS_APART, COLUMNS_APART_UNFILLED};
    uint32_t result[ROWS];
    struct pool *pool = pool_create(2);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct cuda_engine *made = open_with(modes[i], pool);
        assert_null(broken_step_run(made, STEP_WRITES_ALL, ROWS, result));
        assert_string_equal(broken_step_run(made, STEP_WRITES_BEYOND, ROWS, result),
                            "a kernel wrote outside of a column of 4004 bytes");
        assert_null(broken_step_run(made, STEP_WRITES_ALL, ROWS, result));
        host_gpu_close(made);
    }
    pool_free(pool);
}

/* Columns that are together contain the values of an earlier step. */
static void a_read_of_an_unwritten_column_changes_results(void **state) {
    uint32_t together[ROWS], apart[ROWS];
    struct pool *pool = pool_create(2);
    struct cuda_engine *made = open_with(COLUMNS_TOGETHER, pool);
    assert_null(broken_step_run(made, STEP_WRITES_ALL, ROWS, together));
    assert_null(broken_step_run(made, STEP_READS_UNWRITTEN, ROWS, together));
    host_gpu_close(made);
    made = open_with(COLUMNS_APART, pool);
    assert_null(broken_step_run(made, STEP_WRITES_ALL, ROWS, apart));
    assert_null(broken_step_run(made, STEP_READS_UNWRITTEN, ROWS, apart));
    host_gpu_close(made);
    for (row_t row = 0; row < ROWS; row++) {
        assert_int_equal(together[row], 7);
        assert_int_equal(apart[row], 0xA5A5A5A5);
    }
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_beyond_a_column_fails_the_step),
        cmocka_unit_test(a_read_of_an_unwritten_column_changes_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
