/*
 * test_intervals.c - tests merged intervals, states of several sets, sums and distributions against direct
 * implementations: an array with one cell per time unit, and sums in long double.
 */
#include <float.h>
#include <math.h>
#include <time.h>

#include "analyze/statistics.h"
#include "base/threads.h"
#include "match/steps.h"
#include "unit.h"

enum { N_MOST = 40, N_CELLS = 200, N_ROUNDS = 3000 };

static uint64_t state;

static uint64_t below(uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

/* Prints the seed, so that a failure can be repeated. */
static void seed(void) {
    const char *given = getenv("SEED");
    state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%llu\n", (unsigned long long)state);
}

struct rows {
    row_t n;
    int64_t start[N_MOST], end[N_MOST];
    uint32_t segment[N_MOST];
};

static struct rows random_rows(void) {
    struct rows rows = {.n = (row_t)below(N_MOST)};
    int64_t at = 0;
    for (row_t i = 0; i < rows.n; i++) {
        at += (int64_t)below(5);
        rows.start[i] = at;
        rows.end[i] = at + (int64_t)below(15);
        rows.segment[i] = (uint32_t)below(3);
    }
    return rows;
}

/* cells[c] has the bits of the segments that cover the time from c to c + 1. */
static void colour(const struct rows *rows, uint8_t *cells) {
    memset(cells, 0, N_CELLS);
    for (row_t i = 0; i < rows->n; i++)
        for (int64_t c = rows->start[i]; c < rows->end[i] && c < N_CELLS; c++)
            cells[c] |= (uint8_t)(1 << rows->segment[i]);
}

static void merge(struct merge_intervals_step *step) {
    assert_int_equal(cpu_merge_intervals(NULL, step, NULL), SUTRA_OK);
}

static void find_states(struct interval_states_step *step) {
    assert_int_equal(cpu_interval_states(NULL, step, NULL), SUTRA_OK);
}

static void merged_length_equals_the_cell_count(void **unused) {
    (void)unused;
    seed();
    for (int round = 0; round < N_ROUNDS; round++) {
        struct rows rows = random_rows();
        struct merged merged;
        uint8_t cells[N_CELLS];
        colour(&rows, cells);
        merge(&(struct merge_intervals_step){rows.start, rows.end, rows.segment, rows.n, 3, &merged});
        for (uint32_t s = 0; s < 3; s++) {
            int64_t length = 0;
            for (int c = 0; c < N_CELLS; c++)
                length += cells[c] >> s & 1;
            assert_int_equal((int64_t)cpu_merged_length(&merged, s), length);
            for (row_t i = merged.first[s] + 1; i < merged.first[s + 1]; i++)
                assert_true(merged.start[i] > merged.end[i - 1]);
        }
        merged_free(&merged);
    }
}

static void states_last_as_long_as_their_cells(void **unused) {
    (void)unused;
    seed();
    for (int round = 0; round < N_ROUNDS; round++) {
        struct rows rows = random_rows();
        struct merged merged;
        struct interval_states states;
        int64_t expected[N_STATES] = {0};
        uint8_t cells[N_CELLS];
        colour(&rows, cells);
        for (int c = 0; c < N_CELLS; c++)
            expected[cells[c]]++;
        merge(&(struct merge_intervals_step){rows.start, rows.end, rows.segment, rows.n, 3, &merged});
        find_states(&(struct interval_states_step){&merged, 3, 1, &states});
        for (int s = 1; s < N_STATES; s++) {
            assert_int_equal((int64_t)states.length[s], expected[s]);
            assert_true(states.seen[s] || expected[s] == 0);
        }
        merged_free(&merged);
    }
}

static void whole_units_are_counted_per_interval(void **unused) {
    (void)unused;
    static const int64_t start[] = {0, 1400}, end[] = {2900, 5000};
    static const uint32_t segment[] = {0, 1};
    struct merged merged;
    struct interval_states states;
    merge(&(struct merge_intervals_step){start, end, segment, 2, 2, &merged});
    find_states(&(struct interval_states_step){&merged, 2, 1000, &states});
    assert_int_equal((int64_t)states.length[1], 1000); /* 1,400 alone, */
    assert_int_equal((int64_t)states.length[3], 1000); /* 1,500 together, */
    assert_int_equal((int64_t)states.length[2], 2000); /* 2,100 alone */
    assert_int_equal((int64_t)states.exact[1], 1400);
    assert_int_equal((int64_t)states.exact[3], 1500);
    assert_int_equal((int64_t)states.exact[2], 2100);
    merged_free(&merged);
}

static void an_interval_that_ends_before_it_starts_counts_negatively(void **unused) {
    (void)unused;
    static const struct {
        int64_t start[3], end[3];
        int64_t length;
    } cases[] = {
        {{0, 20, 40}, {10, 15, 50}, 15}, /* alone: -5 */
        {{0, 5, 40}, {10, 2, 50}, 20},   /* inside another: swallowed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct merged merged;
        merge(&(struct merge_intervals_step){cases[i].start, cases[i].end, NULL, 3, 1, &merged});
        assert_int_equal((int64_t)cpu_merged_length(&merged, 0), cases[i].length);
        merged_free(&merged);
    }
}

static void empty_intervals_merge_to_none(void **unused) {
    (void)unused;
    struct merged merged;
    struct interval_states states;
    merge(&(struct merge_intervals_step){NULL, NULL, NULL, 0, 3, &merged});
    assert_int_equal(merged.n, 0);
    assert_int_equal((int64_t)cpu_merged_length(&merged, 2), 0);
    find_states(&(struct interval_states_step){&merged, 3, 1, &states});
    for (int s = 0; s < N_STATES; s++)
        assert_false(states.seen[s]);
    merged_free(&merged);
}

/* ---- Sums and distributions ---- */

/* `largest`: the magnitude of the values that it was computed from, whose last digit may be wrong. */
static void assert_close(double got, double expected, double largest) {
    if (isnan(expected)) {
        assert_true(isnan(got));
        return;
    }
    assert_true(fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected)) + 4 * DBL_EPSILON * largest);
}

static int compare_integers(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The quantile by its definition: between the two values around the place. */
static double plain_quantile(const int64_t *sorted, size_t n, double at) {
    double place = at * (double)(n - 1);
    size_t low = (size_t)place, high = low + 1 < n ? low + 1 : low;
    return (double)sorted[low] + (double)(sorted[high] - sorted[low]) * (place - (double)low);
}

static void check_group(const uint32_t *groups, const int64_t *values, row_t n, uint32_t group,
                        const struct description *description) {
    int64_t sorted[N_MOST];
    size_t count = 0;
    long double sum = 0, squares = 0;
    for (row_t i = 0; i < n; i++)
        if (groups[i] == group) {
            sorted[count++] = values[i];
            sum += values[i];
        }
    for (size_t i = 0; i < count; i++)
        squares += (sorted[i] - sum / count) * (sorted[i] - sum / count);
    qsort(sorted, count, sizeof *sorted, compare_integers);
    assert_true(description->count == (double)count);
    double largest = count ? fmax(-(double)sorted[0], (double)sorted[count - 1]) / 10 : 0;
    assert_close(description->mean, count ? (double)(sum / count) / 10 : NAN, largest);
    assert_close(description->std, count > 1 ? (double)sqrtl(squares / (count - 1)) / 10 : NAN, largest);
    if (count == 0)
        return;
    assert_close(description->min, (double)sorted[0] / 10, largest);
    assert_close(description->q25, plain_quantile(sorted, count, 0.25) / 10, largest);
    assert_close(description->q50, plain_quantile(sorted, count, 0.5) / 10, largest);
    assert_close(description->q75, plain_quantile(sorted, count, 0.75) / 10, largest);
    assert_close(description->max, (double)sorted[count - 1] / 10, largest);
}

static void distributions_equal_their_definition(void **unused) {
    (void)unused;
    seed();
    struct pool *pool = pool_create(2);
    struct engine engine = engine_cpu(pool);
    struct arena arena = {0};
    for (int round = 0; round < N_ROUNDS; round++) {
        uint32_t groups[N_MOST];
        int64_t values[N_MOST];
        double reals[N_MOST];
        struct description integers[4], of_reals[4];
        row_t n = (row_t)below(N_MOST);
        for (row_t i = 0; i < n; i++) {
            groups[i] = (uint32_t)below(4);
            values[i] = (int64_t)below(1 << below(30)) - 1000;
            reals[i] = (double)values[i] / 10;
        }
        assert_int_equal(describe_integers(&engine, &arena, groups, values, n, 4, 10, integers, NULL), SUTRA_OK);
        assert_int_equal(describe_reals(&engine, &arena, groups, reals, n, 4, of_reals, NULL), SUTRA_OK);
        for (uint32_t g = 0; g < 4; g++) {
            check_group(groups, values, n, g, &integers[g]);
            check_group(groups, values, n, g, &of_reals[g]);
        }
    }
    arena_free(&arena);
    pool_free(pool);
}

static void deviations_of_large_numbers_are_exact(void **unused) {
    (void)unused;
    struct moments moments = {0};
    int64_t large = (int64_t)1 << 60;
    for (int64_t i = -1; i <= 1; i++)
        moments_add(&moments, large + i);
    assert_true(moments_deviation(&moments, 1) == 1);
    assert_int_equal(moments.min, large - 1);
    assert_int_equal(moments.max, large + 1);
}

static void squares_beyond_128_bits_give_no_deviation(void **unused) {
    (void)unused;
    struct moments moments = {0};
    for (int i = 0; i < 5; i++)
        moments_add(&moments, INT64_MIN);
    assert_true(moments.overflow);
    assert_true(isnan(moments_deviation(&moments, 1)));
    assert_true((double)moments.sum == 5 * (double)INT64_MIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_length_equals_the_cell_count),
        cmocka_unit_test(states_last_as_long_as_their_cells),
        cmocka_unit_test(whole_units_are_counted_per_interval),
        cmocka_unit_test(an_interval_that_ends_before_it_starts_counts_negatively),
        cmocka_unit_test(empty_intervals_merge_to_none),
        cmocka_unit_test(distributions_equal_their_definition),
        cmocka_unit_test(deviations_of_large_numbers_are_exact),
        cmocka_unit_test(squares_beyond_128_bits_give_no_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
