/*
 * test_sort.c - tests sorting by keys and by numbers: stable, exact for integers compared with doubles, and the same
 * with any number of threads.
 */
#include <inttypes.h>
#include <math.h>

#include "base/threads.h"
#include "match/steps.h"
#include "match_table.h"
#include "unit.h"

#define LARGE 300000 /* enough for several threads */

static const unsigned thread_counts[] = {1, 2, 7};

/* Each order must rise by value, and by row where values are equal; this has one solution only. */
static void assert_order(struct number_column numbers, row_t n, const row_t *order, const char *name, uint64_t seed) {
    for (row_t i = 1; i < n; i++) {
        int compared = number_compare(number_at(numbers, order[i - 1]), number_at(numbers, order[i]));
        if (compared > 0 || (compared == 0 && order[i - 1] >= order[i]))
            fail_msg("%s, seed %" PRIu64 ": place %" PRIu32, name, seed, i);
    }
    for (row_t i = 0; i < n; i++)
        assert_true(order[i] < n);
}

static void sort_and_check(struct pool *pool, struct number_column numbers, row_t n, const char *name, uint64_t seed) {
    struct engine engine = engine_cpu(pool);
    struct sutra_error error;
    row_t *order = malloc((n + 1) * sizeof *order);
    assert_non_null(order);
    assert_int_equal(engine.sort_numbers(engine.state, &(struct sort_numbers_step){numbers, n, order}, &error),
                     SUTRA_OK);
    assert_order(numbers, n, order, name, seed);
    free(order);
}

static void integers_and_doubles_compare_exactly(void **state) {
    const int64_t two53 = (int64_t)1 << 53;
    const struct number values[] = {
        real(0x1p53),
        integer(two53 + 1),
        integer(two53),
        real(0x1p53 + 2),
        integer(two53 + 3),
        real(-0.0),
        integer(0),
        real(0),
        boolean(true),
        real(1),
        integer(-two53 - 1),
        real(-0x1p53),
        real(-0x1p53 - 2),
        real(0x1p62),
        integer(INT64_MAX),
        real(0x1p63),
        integer(INT64_MIN),
        real(-0x1p63),
        real(INFINITY),
        real(-INFINITY),
        integer(INT64_MAX - 1023),
        real(0.5),
        real(0x1p63 - 1024),
        real(0x1p-1074),
        boolean(false),
    };
    const row_t expected[] = {19, 16, 17, 12, 10, 11, 5, 6, 7, 24, 23, 21, 8, 9, 0, 2, 1, 3, 4, 13, 20, 22, 14, 15, 18};
    row_t n = sizeof values / sizeof *values, order[sizeof values / sizeof *values];
    uint64_t bits[sizeof values / sizeof *values];
    uint8_t kind[sizeof values / sizeof *values];
    struct number_column column = {bits, kind};
    for (row_t i = 0; i < n; i++)
        number_set(column, i, values[i]);
    struct pool *pool = pool_create(1);
    struct engine engine = engine_cpu(pool);
    struct sutra_error error;
    assert_int_equal(engine.sort_numbers(engine.state, &(struct sort_numbers_step){column, n, order}, &error),
                     SUTRA_OK);
    pool_free(pool);
    assert_memory_equal(order, expected, sizeof expected);
}

static struct number rising(uint64_t *random, row_t i) {
    (void)random;
    return integer(i / 3);
}

static struct number falling(uint64_t *random, row_t i) {
    (void)random;
    return real(-(double)i);
}

static struct number few_integers(uint64_t *random, row_t i) {
    (void)i;
    return integer(xorshift_below(random, 5) - 2);
}

static struct number any_integer(uint64_t *random, row_t i) {
    (void)i;
    return integer((int64_t)xorshift_next(random));
}

static struct number kineto(uint64_t *random, row_t i) {
    return real((double)(4390000000000000 + 100 * (int64_t)i + xorshift_below(random, 5000)) / 1000.0);
}

/* Some elements are after their sorted positions, near or far, or next to equal elements. */
static struct number mostly_rising(uint64_t *random, row_t i) {
    return integer(xorshift_below(random, 5) ? (int64_t)i / 2 : (int64_t)xorshift_below(random, i + 1) / 2);
}

/* Blocks, each of which rises. */
static struct number twice_rising(uint64_t *random, row_t i) {
    return integer((int64_t)(i % 50) / 2 + xorshift_below(random, 2));
}

static struct number mixed_small(uint64_t *random, row_t i) {
    (void)i;
    int64_t value = xorshift_below(random, 1000) - 500;
    return xorshift_below(random, 2) ? integer(value) : real((double)value / 4);
}

static struct number mixed_large(uint64_t *random, row_t i) {
    (void)i;
    int64_t value = ((int64_t)1 << 55) + xorshift_below(random, 64) - 32;
    value = xorshift_below(random, 2) ? value : -value;
    return xorshift_below(random, 2) ? integer(value) : real((double)value);
}

static const struct {
    const char *name;
    struct number (*make)(uint64_t *random, row_t i);
} shapes[] = {{"rising", rising},
              {"falling", falling},
              {"few integers", few_integers},
              {"any", any_integer},
              {"kineto", kineto},
              {"mostly rising", mostly_rising},
              {"twice rising", twice_rising},
              {"mixed small", mixed_small},
              {"mixed large", mixed_large}};

static void numbers_of_every_shape_are_sorted_stably(void **state) {
    struct number_column column = {malloc(LARGE * sizeof *column.bits), malloc(LARGE)};
    assert_true(column.bits && column.kind);
    for (size_t t = 0; t < 3; t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (uint64_t seed = 1; seed <= 21; seed++) {
                uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
                row_t n = seed == 21 ? LARGE : (row_t)xorshift_below(&random, 100);
                for (row_t i = 0; i < n; i++)
                    number_set(column, i, shapes[s].make(&random, i));
                sort_and_check(pool, column, n, shapes[s].name, seed);
            }
        pool_free(pool);
    }
    free(column.kind);
    free(column.bits);
}

static void sort_keys_on(unsigned n_threads, const uint64_t *keys, uint64_t *sorted, row_t *rows) {
    struct pool *pool = pool_create(n_threads);
    struct engine engine = engine_cpu(pool);
    struct sutra_error error;
    memcpy(sorted, keys, LARGE * sizeof *keys);
    for (row_t i = 0; i < LARGE; i++)
        rows[i] = LARGE - i; /* whatever the caller numbers them */
    assert_int_equal(engine.sort_keys(engine.state, &(struct sort_keys_step){sorted, rows, LARGE}, &error), SUTRA_OK);
    pool_free(pool);
}

static void keys_keep_their_rows_and_the_order_of_equals(void **state) {
    static const uint64_t masks[] = {UINT64_MAX, 0xff, UINT64_C(0x8000000000000000), UINT64_C(0xf00000000f0), 0};
    uint64_t *keys = malloc(2 * LARGE * sizeof *keys), *sorted = keys + LARGE, random = 99;
    row_t *rows = malloc(LARGE * sizeof *rows);
    assert_true(keys && rows);
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (row_t i = 0; i < LARGE; i++)
            keys[i] = xorshift_next(&random) & masks[m];
        for (size_t t = 0; t < 3; t++) {
            sort_keys_on(thread_counts[t], keys, sorted, rows);
            for (row_t i = 0; i < LARGE; i++) {
                assert_true(rows[i] >= 1 && rows[i] <= LARGE && sorted[i] == keys[LARGE - rows[i]]);
                if (i)
                    assert_true(sorted[i - 1] < sorted[i] || (sorted[i - 1] == sorted[i] && rows[i - 1] > rows[i]));
            }
        }
    }
    free(rows);
    free(keys);
}

static void empty_column_is_sorted(void **state) {
    struct pool *pool = pool_create(2);
    sort_and_check(pool, (struct number_column){NULL, NULL}, 0, "nothing", 0);
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_and_doubles_compare_exactly),
        cmocka_unit_test(numbers_of_every_shape_are_sorted_stably),
        cmocka_unit_test(keys_keep_their_rows_and_the_order_of_equals),
        cmocka_unit_test(empty_column_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
