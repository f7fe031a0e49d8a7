/*
 * test_pandas_stats.c - tests sums and standard deviations to the last digit against values of numpy 2.4 and pandas
 * 3.1.
 */
#include <math.h>

#include "analyze/statistics.h"
#include "unit.h"

#define N_LONG 1000

static const double values[] = {0.1, 0.2, 0.3, 1e16 / 3, 0.7, -1e16 / 3, 3.3};
enum { N_VALUES = sizeof values / sizeof *values };

static void assert_equal(double made, double expected) {
    if (made != expected)
        print_error("%.17g, not %.17g\n", made, expected);
    assert_true(made == expected);
}

static void numpy_sums_are_pairwise(void **state) {
    static const struct {
        uint64_t n;
        double sum;
    } cases[] = {{0, 0},     {7, 38.857142857142854},  {9, 60.42857142857143},
                 {128, 903}, {137, 978.1428571428571}, {N_LONG, 7144.285714285714}};
    double list[N_LONG];
    for (int i = 0; i < N_LONG; i++)
        list[i] = i * 37 % 101 / 7.0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_equal(numpy_sum(list, cases[i].n), cases[i].sum);
}

static void numpy_deviation_divides_by_n(void **state) {
    double scratch[N_VALUES];
    struct value_stats stats = numpy_stats(values, N_VALUES, scratch);
    assert_equal(stats.sum, 4.3);
    assert_equal(stats.mean, 0.6142857142857142);
    assert_equal(stats.std, 1781741612749496.0);
    assert_equal(stats.median, 0.3);
    assert_equal(stats.min, -1e16 / 3);
    assert_equal(stats.max, 1e16 / 3);
}

static void pandas_sum_depends_on_the_order_of_groups(void **state) {
    double scratch[N_VALUES];
    struct value_stats sorted = pandas_stats(values, N_VALUES, GROUPS_SORTED, scratch);
    struct value_stats mixed = pandas_stats(values, N_VALUES, GROUPS_MIXED, scratch);
    assert_equal(sorted.sum, 4.3999999999999995);
    assert_equal(sorted.mean, 0.6285714285714284);
    assert_equal(mixed.sum, 4.3);
    assert_equal(mixed.mean, 0.6142857142857142);
    assert_equal(sorted.std, 1924500897298752.5);
    assert_equal(mixed.std, 1924500897298752.5);
}

static void pandas_skips_nan(void **state) {
    static const double some[] = {(double)NAN, 3, (double)NAN, 1}, none[] = {(double)NAN};
    double scratch[4];
    struct value_stats stats = pandas_stats(some, 4, GROUPS_MIXED, scratch);
    assert_int_equal(stats.n, 2);
    assert_equal(stats.median, 2);
    stats = pandas_stats(some + 1, 1, GROUPS_SORTED, scratch);
    assert_true(isnan(stats.std));
    stats = pandas_stats(none, 1, GROUPS_MIXED, scratch);
    assert_true(isnan(stats.mean) && isnan(stats.median) && isnan(stats.min) && stats.sum == 0);
}

static void sorted_groups_never_descend(void **state) {
    static const uint32_t rising[] = {0, 0, 1, 2}, back[] = {0, 1, 0}, rank[] = {1, 0};
    assert_int_equal(pandas_group_order(rising, 4, NULL), GROUPS_SORTED);
    assert_int_equal(pandas_group_order(back, 3, NULL), GROUPS_MIXED);
    assert_int_equal(pandas_group_order(rising, 3, rank), GROUPS_MIXED);
    assert_int_equal(pandas_group_order(rising, 0, NULL), GROUPS_SORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_sums_are_pairwise),
        cmocka_unit_test(numpy_deviation_divides_by_n),
        cmocka_unit_test(pandas_sum_depends_on_the_order_of_groups),
        cmocka_unit_test(pandas_skips_nan),
        cmocka_unit_test(sorted_groups_never_descend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
