/*
 * test_row_set.c - tests the set of rows against an array of flags.
 */
#include <time.h>

#include "columns/rows.h"
#include "unit.h"

static void an_empty_set_finds_nothing(void **state) {
    static const row_t sizes[] = {0, 1, 63, 64, 65, 4096, 4097, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct row_set set;
        assert_true(row_set_init(&set, sizes[i]));
        assert_int_equal(row_set_next(&set, 0), ROW_NONE);
        assert_int_equal(row_set_next(&set, sizes[i]), ROW_NONE);
        row_set_free(&set);
    }
}

static void next_member_equals_linear_search(void **state) {
    static const row_t sizes[] = {1, 64, 65, 5000, 70000};
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        row_t n = sizes[i];
        struct row_set set;
        row_t *next = malloc(((size_t)n + 1) * sizeof *next);
        char *flags = calloc(n, 1);
        assert_non_null(next);
        assert_non_null(flags);
        assert_true(row_set_init(&set, n));
        for (int added = 0; added < 40; added++) {
            row_t row = (row_t)rand_r(&seed) % n;
            row_set_add(&set, row);
            flags[row] = 1;
        }
        next[n] = ROW_NONE;
        for (row_t row = n; row-- > 0;)
            next[row] = flags[row] ? row : next[row + 1];
        for (row_t row = 0; row <= n; row++)
            assert_int_equal(row_set_next(&set, row), next[row]);
        row_set_free(&set);
        free(next);
        free(flags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_finds_nothing),
        cmocka_unit_test(next_member_equals_linear_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
