/*
 * test_exclusive.c - tests exclusive durations: corner cases of the rule, and both algorithms (walk and sweep) against
 * a direct implementation of the rule on random operators of many shapes.
 */
#include <inttypes.h>
#include <math.h>

#include "base/threads.h"
#include "match/rules.h"
#include "match/steps.h"
#include "match_table.h"
#include "unit.h"

struct result {
    struct exclusive_anomalies anomalies;
    uint64_t bits[TABLE_OPS];
    uint8_t kind[TABLE_OPS];
};

static void run(struct pool *pool, const struct table *table, uint32_t budget, struct result *result) {
    struct exclusive_durations_step step = {&table->ops, {result->bits, result->kind}, &result->anomalies};
    struct sutra_error error;
    assert_int_equal(cpu_exclusive_within(pool, &step, budget, &error), SUTRA_OK);
}

/* ---- The rule, plainly ---- */

static bool comes_before(const struct cpu_ops *ops, row_t a, row_t b) {
    int by_start = number_compare(number_at(ops->ts, a), number_at(ops->ts, b));
    int by_dur = number_compare(number_at(ops->dur, a), number_at(ops->dur, b));
    return by_start ? by_start < 0 : by_dur ? by_dur < 0 : a < b;
}

static struct number end_of(const struct cpu_ops *ops, row_t row) {
    return number_add(number_at(ops->ts, row), number_at(ops->dur, row));
}

static bool counts(const struct cpu_ops *ops, row_t row) {
    double end = number_as_double(end_of(ops, row));
    return number_as_double(number_at(ops->dur, row)) >= 0 && end == end;
}

static row_t thread_in_order(const struct cpu_ops *ops, uint32_t thread, row_t *rows) {
    row_t n = 0;
    for (row_t row = 0; row < ops->n; row++) {
        if (ops->thread[row] != thread)
            continue;
        row_t at = n++;
        for (; at && comes_before(ops, row, rows[at - 1]); at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
    return n;
}

static void expect_op(const struct cpu_ops *ops, const row_t *rows, row_t n, row_t i, struct result *expected) {
    struct number starts[TABLE_OPS], ends[TABLE_OPS];
    row_t n_merged = 0, row = rows[i];
    struct number x = number_at(ops->dur, row), end = end_of(ops, row);
    for (row_t j = i + 1; counts(ops, row) && j < n; j++) {
        if (!counts(ops, rows[j]))
            continue;
        struct number later_start = number_at(ops->ts, rows[j]), later_end = end_of(ops, rows[j]);
        if (number_compare(later_end, end) <= 0) {
            if (n_merged && number_compare(later_start, ends[n_merged - 1]) <= 0) {
                if (number_compare(later_end, ends[n_merged - 1]) > 0)
                    ends[n_merged - 1] = later_end;
            } else {
                starts[n_merged] = later_start;
                ends[n_merged++] = later_end;
            }
        }
        if (number_compare(end, later_start) < 0)
            break;
    }
    for (row_t k = 0; k < n_merged; k++)
        x = number_subtract(x, number_subtract(ends[k], starts[k]));
    if (number_as_double(x) < 0) {
        bool rounded = -number_as_double(x) <= 1e-6 * n_merged;
        struct number dur = number_at(ops->dur, row);
        if (rounded)
            expected->anomalies.n_rounded++;
        else
            expected->anomalies.n_replaced++;
        if (!rounded && row < expected->anomalies.first_replaced)
            expected->anomalies.first_replaced = row;
        bool keep = !rounded && number_as_double(dur) >= 0;
        x = keep ? dur : number_is_double(x) ? real(0) : integer(0);
    }
    expected->bits[row] = x.bits;
    expected->kind[row] = x.kind;
}

static void expect(const struct table *table, struct result *expected) {
    row_t rows[TABLE_OPS];
    expected->anomalies = (struct exclusive_anomalies){.first_replaced = ROW_NONE};
    for (uint32_t t = 0; t < table->ops.n_threads; t++) {
        row_t n = thread_in_order(&table->ops, t, rows);
        for (row_t i = 0; i < n; i++)
            expect_op(&table->ops, rows, n, i, expected);
    }
}

/* ---- Corner cases ---- */

struct op_case {
    struct number ts, dur, exclusive;
};

#define I(value)                                                                                                       \
    { (uint64_t)(int64_t)(value), NUMBER_INTEGER }

/* Runs one thread's operators and compares with the expected durations; budget 0 selects the sweep for overlaps. */
static void check(const struct op_case *cases, row_t n, struct exclusive_anomalies anomalies) {
    struct table table;
    struct result result;
    struct pool *pool = pool_create(1);
    table_clear(&table);
    for (row_t i = 0; i < n; i++)
        table_add(&table, 0, cases[i].ts, cases[i].dur);
    for (uint32_t budget = 0; budget <= EXCLUSIVE_BUDGET; budget += EXCLUSIVE_BUDGET) {
        run(pool, &table, budget, &result);
        for (row_t i = 0; i < n; i++) {
            assert_int_equal(result.kind[i], cases[i].exclusive.kind);
            assert_int_equal(result.bits[i], cases[i].exclusive.bits);
        }
        assert_int_equal(result.anomalies.n_rounded, anomalies.n_rounded);
        assert_int_equal(result.anomalies.n_replaced, anomalies.n_replaced);
        assert_int_equal(result.anomalies.first_replaced, anomalies.first_replaced);
    }
    pool_free(pool);
}

static const struct exclusive_anomalies none = {.first_replaced = ROW_NONE};

static void nested_operators_lose_their_direct_children(void **state) {
    const struct op_case cases[] = {
        {I(0), I(100), I(50)}, {I(10), I(30), I(20)}, {I(15), I(10), I(10)}, {I(60), I(20), I(20)}};
    check(cases, 4, none);
}

static void touching_and_overlapping_children_merge(void **state) {
    const struct op_case cases[] = {{I(0), I(100), I(60)},
                                    {I(10), I(10), I(10)},
                                    {I(20), I(10), I(10)},
                                    {I(25), I(25), I(25)},
                                    {I(50), I(0), I(0)}};
    check(cases, 5, none);
}

static void partly_overlapping_operators_are_no_children_of_each_other(void **state) {
    /* 5..25 is within neither of the first two alone; 12..18 is within all three. */
    const struct op_case cases[] = {
        {I(0), I(20), I(14)}, {I(5), I(20), I(14)}, {I(10), I(20), I(14)}, {I(12), I(6), I(6)}};
    check(cases, 4, none);
}

static void the_longer_of_one_start_does_not_see_the_shorter(void **state) {
    const struct op_case cases[] = {{I(0), I(100), I(90)}, {I(0), I(50), I(40)}, {I(10), I(10), I(10)}};
    check(cases, 3, none);
}

static void equal_operators_nest_in_the_order_of_the_file(void **state) {
    const struct op_case cases[] = {{I(0), I(10), I(0)}, {I(0), I(10), I(0)}, {I(0), I(10), I(10)}};
    check(cases, 3, none);
}

static void a_child_may_end_with_its_parent_and_begin_at_its_end(void **state) {
    const struct op_case cases[] = {{I(0), I(10), I(5)}, {I(5), I(5), I(5)}, {I(10), I(0), I(0)}, {I(10), I(1), I(1)}};
    check(cases, 4, none);
}

static void types_of_exclusive_durations_follow_python(void **state) {
    const struct op_case with_child[] = {{I(0), {1, NUMBER_BOOLEAN}, I(0)}, {I(0), I(1), I(1)}};
    const struct op_case alone[] = {{I(0), {1, NUMBER_BOOLEAN}, {1, NUMBER_BOOLEAN}}, {I(5), I(1), I(1)}};
    struct op_case doubles[] = {{real(0), integer(10), real(8)}, {real(1), integer(2), integer(2)}};
    struct op_case mixed[] = {{integer(0), integer(10), real(7.5)}, {integer(1), real(2.5), real(2.5)}};
    struct op_case empty[] = {{integer(0), integer(10), real(10)}, {integer(1), real(0), real(0)}};
    struct op_case covered[] = {
        {integer(0), integer(10), integer(5)}, {integer(1), integer(5), real(4)}, {integer(2), real(1), real(1)}};
    check(with_child, 2, none);
    check(alone, 2, none);
    check(doubles, 2, none);
    check(mixed, 2, none);
    check(empty, 2, none);
    check(covered, 3, none);
}

static void integers_beyond_doubles_stay_exact(void **state) {
    int64_t start = ((int64_t)1 << 61) + 1;
    const struct op_case cases[] = {{I(start), I(start - 2), I(start - 5)}, {I(start + 1), I(3), I(3)}};
    check(cases, 2, none);
}

static void end_before_its_start_is_searched_up_to_the_next_start(void **state) {
    /* Doubles near 2^55 are 8 apart: the last one ends at 2^55, as the first does, but the third has begun by then. */
    int64_t start = (int64_t)1 << 55;
    struct op_case cases[] = {{real(0x1p55), integer(0), integer(0)},
                              {real(0x1p55), real(96), real(88)},
                              {integer(start + 1), real(8), real(8)},
                              {integer(start + 2), real(0), real(0)}};
    check(cases, 4, none);
}

static void negative_exclusive_duration_is_repaired_and_counted(void **state) {
    /* Near 4.39e12 ends are rounded to 1/2048: both end at +0.10009765625, so the child is longer than 0.1. */
    double start = 4390000000000.0;
    struct op_case replaced[] = {{real(start), real(0.1), real(0.1)}, {real(start), real(0.1), real(0.1)}};
    check(replaced, 2, (struct exclusive_anomalies){0, 1, 0, 0});
    /* At 1000 an end is rounded by less than 1e-13. */
    struct op_case rounded[] = {{real(1000), real(0.1), real(0)}, {real(1000), real(0.1), real(0.1)}};
    check(rounded, 2, (struct exclusive_anomalies){1, 0, ROW_NONE, 0});
}

static void negative_duration_neither_has_children_nor_is_one(void **state) {
    const struct op_case cases[] = {
        {I(0), I(10), I(8)}, {I(1), I(-1), I(0)}, {I(2), I(2), I(2)}, {I(20), I(-30), I(0)}};
    check(cases, 4, (struct exclusive_anomalies){0, 2, 1, 0});
}

static void digits_of_a_double_equal_its_sum_of_powers(void **state) {
    static const struct {
        double value;
        struct binary_digits digits;
    } cases[] = {
        {1, {0, 1}},
        {-6, {1, 3}},
        {0.75, {-2, 0}},
        {0x1.fffffffffffffp52, {0, 53}},
        {0x1p60, {60, 61}},
        {0x1p-1022, {-1022, -1021}},
        {0x1p-1074, {-1074, -1021}},
        {0x3p-1070, {-1070, -1021}},
        {0x1.8p1023, {1022, 1024}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct binary_digits digits = binary_digits_of(cases[i].value);
        if (digits.lowest != cases[i].digits.lowest || digits.above != cases[i].digits.above)
            fail_msg("%a: from %d to %d", cases[i].value, digits.lowest, digits.above);
    }
}

static void empty_table_has_no_durations(void **state) {
    check(NULL, 0, none);
}

/* ---- Random shapes ---- */

struct shape {
    const char *name;
    struct number (*ts)(uint64_t *random), (*dur)(uint64_t *random);
    row_t most;
};

static struct number small_integer(uint64_t *random) {
    return integer(xorshift_below(random, 40));
}

static struct number tiny_integer(uint64_t *random) {
    return integer(xorshift_below(random, 8));
}

static struct number one_moment(uint64_t *random) {
    return integer(7 + (xorshift_below(random, 8) == 0));
}

static struct number kineto_ts(uint64_t *random) {
    return real((double)(4390000000000000 + xorshift_below(random, 20000)) / 1000.0);
}

/* Where the last digit of doubles changes. */
static struct number kineto_ts_at_power(uint64_t *random) {
    return real((double)(4398046511104000 - 10000 + xorshift_below(random, 20000)) / 1000.0);
}

static struct number kineto_dur(uint64_t *random) {
    int64_t most = xorshift_below(random, 3) ? 3000 : 20000;
    return real((double)xorshift_below(random, most) / 1000.0);
}

static struct number tiny_ts(uint64_t *random) {
    return real((double)xorshift_below(random, 1000) / 1e6);
}

static struct number large_dur(uint64_t *random) {
    return real((double)xorshift_below(random, 1000) * (xorshift_below(random, 2) ? 1e9 : 1e-7) + 0.123);
}

/* On one grid, but with more digits between them than a double has. */
static struct number fine_ts(uint64_t *random) {
    return real((double)xorshift_below(random, 1000) / 512);
}

static struct number far_dur(uint64_t *random) {
    double part = (double)xorshift_below(random, 1000);
    return xorshift_below(random, 3) ? real(part / 512)
                                     : real((double)((int64_t)1 << xorshift_below(random, 51)) + part / 8);
}

/* Ends are rounded by about as much as is forgiven. */
static struct number forgiven_ts(uint64_t *random) {
    return real((double)(17179869184000 + xorshift_below(random, 5000)) / 1000.0);
}

static struct number any_kind(uint64_t *random) {
    int64_t value = xorshift_below(random, 30);
    switch (xorshift_below(random, 4)) {
    case 0:
        return real((double)value / 2);
    case 1:
        return real((double)value);
    case 2:
        return boolean(value & 1);
    default:
        return integer(value);
    }
}

static struct number large_integer(uint64_t *random) {
    return integer(((int64_t)1 << 60) + xorshift_below(random, 600));
}

static struct number any_dur(uint64_t *random) {
    int64_t value = xorshift_below(random, 600);
    return xorshift_below(random, 2) ? real((double)value) : integer(value);
}

static struct number maybe_negative(uint64_t *random) {
    return integer(xorshift_below(random, 20) - 4);
}

static struct number whole_or_part(uint64_t *random) {
    return xorshift_below(random, 2) ? integer(xorshift_below(random, 20))
                                     : real((double)xorshift_below(random, 80) / 4);
}

static struct number part(uint64_t *random) {
    return real((double)xorshift_below(random, 160) / 8);
}

static struct number around_2_53(uint64_t *random) {
    return integer(((int64_t)1 << 53) - 20 + xorshift_below(random, 24));
}

static struct number whole_real(uint64_t *random) {
    return real((double)xorshift_below(random, 40));
}

static struct number extreme(uint64_t *random) {
    static const double values[] = {0, -0.0, 1, 0x1p-1074, 1e300, 1e308, INFINITY, 0.5, 3};
    return real(values[xorshift_below(random, 9)]);
}

static struct number extreme_ts(uint64_t *random) {
    return xorshift_below(random, 12) ? extreme(random) : real(-INFINITY);
}

static const struct shape shapes[] = {
    {"overlapping integers", small_integer, small_integer, 60},
    {"short integers", small_integer, tiny_integer, 60},
    {"one moment", one_moment, tiny_integer, 60},
    {"many in one moment", one_moment, small_integer, 200},
    {"doubles of three decimals", kineto_ts, kineto_dur, 60},
    {"doubles of three decimals, many", kineto_ts, kineto_dur, 200},
    {"doubles around a power of two", kineto_ts_at_power, kineto_dur, 100},
    {"tiny starts, large durations", tiny_ts, large_dur, 60},
    {"fine starts, far ends", fine_ts, far_dur, 40},
    {"rounding that is forgiven", forgiven_ts, kineto_dur, 100},
    {"every kind", any_kind, any_kind, 40},
    {"integers beyond 2^53 and doubles", large_integer, any_dur, 40},
    {"negative durations", small_integer, maybe_negative, 40},
    {"double starts, any durations", whole_real, whole_or_part, 60},
    {"integer starts, double durations", small_integer, part, 60},
    {"integer starts around 2^53, double durations", around_2_53, part, 30},
    {"extremes", extreme_ts, extreme, 20},
};

static void make(const struct shape *shape, uint64_t *random, struct table *table) {
    struct number starts[TABLE_OPS];
    row_t n = (row_t)xorshift_below(random, shape->most + 1);
    int64_t n_threads = 1 + xorshift_below(random, 3);
    for (row_t i = 0; i < n; i++)
        starts[i] = shape->ts(random);
    sort_plainly(starts, n);
    table_clear(table);
    for (row_t i = 0; i < n; i++)
        table_add(table, (uint32_t)xorshift_below(random, n_threads), starts[i], shape->dur(random));
}

/* Half of the tables become nested: an operator that reaches over the end of the last open one is cut short. */
static void nest(struct table *table) {
    for (row_t i = 0; i < table->ops.n; i++)
        for (row_t j = i; j-- > 0;) {
            struct number start = number_at(table->ops.ts, i), outer = end_of(&table->ops, j);
            if (table->thread[j] != table->thread[i] || number_compare(outer, start) < 0 ||
                number_compare(outer, end_of(&table->ops, i)) >= 0)
                continue;
            number_set(table->ops.dur, i, number_subtract(outer, start));
        }
}

static void compare(const char *shape, uint64_t seed, const struct table *table, const struct result *expected,
                    const struct result *result) {
    bool same = expected->anomalies.n_rounded == result->anomalies.n_rounded &&
                expected->anomalies.n_replaced == result->anomalies.n_replaced &&
                expected->anomalies.first_replaced == result->anomalies.first_replaced;
    row_t at = 0;
    while (same && at < table->ops.n && expected->kind[at] == result->kind[at] &&
           (expected->bits[at] == result->bits[at]))
        at++;
    if (same && at == table->ops.n)
        return;
    fail_msg("%s, seed %" PRIu64 ": row %" PRIu32 " of %" PRIu32, shape, seed, at, table->ops.n);
}

static void both_algorithms_follow_the_rule_with_any_number_of_threads(void **state) {
    static const unsigned n_threads[] = {1, 2, 7};
    static const uint32_t budgets[] = {0, 1, 2, EXCLUSIVE_BUDGET};
    static struct table table;
    static struct result expected, result;
    struct pool *pools[3];
    for (size_t p = 0; p < 3; p++)
        assert_non_null(pools[p] = pool_create(n_threads[p]));
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint64_t seed = 1; seed <= 400; seed++) {
            uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
            make(&shapes[s], &random, &table);
            if (seed % 2)
                nest(&table);
            expect(&table, &expected);
            for (size_t b = 0; b < 4; b++) {
                run(pools[(seed + b) % 3], &table, budgets[b], &result);
                compare(shapes[s].name, seed, &table, &expected, &result);
            }
        }
    for (size_t p = 0; p < 3; p++)
        pool_free(pools[p]);
}

/* Partly overlapping operators at decimals of which the first are near 0: their digits lie far below those of the last.
 * Only those that begin before their own duration has passed are done one by one. */
static void decimals_near_zero_need_few_single_steps(void **state) {
    static struct table table;
    static struct result expected, result;
    table_clear(&table);
    for (row_t i = 0; i < TABLE_OPS; i++)
        table_add(&table, 0, real(0.1 + 10.3 * i), real(i % 2 ? 3.7 : 90.1 + 0.3 * i));
    expect(&table, &expected);
    struct pool *pool = pool_create(1);
    assert_non_null(pool);
    run(pool, &table, 1, &result);
    pool_free(pool);
    compare("decimals from near 0", 0, &table, &expected, &result);
    assert_in_range(result.anomalies.n_inspected, 1, TABLE_OPS);
}

/* Operators that all overlap partly, so that what lies in one is merged to few intervals: those are searched for where
 * Python's rounding makes their order matter. */
static void merged_intervals_are_not_scanned_individually(void **state) {
    static struct table table;
    static struct result expected, result;
    struct pool *pool = pool_create(1);
    assert_non_null(pool);
    uint64_t random = 1;
    for (int kind = 0; kind < 3; kind++) {
        table_clear(&table);
        for (row_t i = 0; i < TABLE_OPS; i++) {
            int64_t length = 4 * TABLE_OPS + xorshift_below(&random, 30 * TABLE_OPS);
            bool whole = kind > 0 && xorshift_below(&random, 2);
            struct number start = kind == 0   ? real(0.1 * i + 0.01)
                                  : kind == 1 ? integer(10 * (int64_t)i)
                                              : integer(((int64_t)1 << 54) + 8 * (int64_t)i);
            table_add(&table, 0, start, whole ? integer(length) : real((double)length / 3));
        }
        expect(&table, &expected);
        run(pool, &table, 1, &result);
        compare("partly overlapping", (uint64_t)kind, &table, &expected, &result);
        assert_in_range(result.anomalies.n_inspected, 1, 16 * TABLE_OPS);
    }
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_operators_lose_their_direct_children),
        cmocka_unit_test(touching_and_overlapping_children_merge),
        cmocka_unit_test(partly_overlapping_operators_are_no_children_of_each_other),
        cmocka_unit_test(the_longer_of_one_start_does_not_see_the_shorter),
        cmocka_unit_test(equal_operators_nest_in_the_order_of_the_file),
        cmocka_unit_test(a_child_may_end_with_its_parent_and_begin_at_its_end),
        cmocka_unit_test(types_of_exclusive_durations_follow_python),
        cmocka_unit_test(integers_beyond_doubles_stay_exact),
        cmocka_unit_test(end_before_its_start_is_searched_up_to_the_next_start),
        cmocka_unit_test(negative_exclusive_duration_is_repaired_and_counted),
        cmocka_unit_test(negative_duration_neither_has_children_nor_is_one),
        cmocka_unit_test(digits_of_a_double_equal_its_sum_of_powers),
        cmocka_unit_test(empty_table_has_no_durations),
        cmocka_unit_test(decimals_near_zero_need_few_single_steps),
        cmocka_unit_test(merged_intervals_are_not_scanned_individually),
        cmocka_unit_test(both_algorithms_follow_the_rule_with_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
