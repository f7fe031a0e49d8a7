/*
 * test_range_cover.c - tests the total length of merged ranges: corner cases, and random ranges against counting each
 * time unit.
 */
#include <inttypes.h>

#include "generate/random.h"
#include "match/intervals.h"
#include "unit.h"

#define INTERVALS 300
#define RANGES    200
#define MOMENTS   600

struct cover_case {
    row_t n, n_ranges;
    int64_t start[INTERVALS], end[INTERVALS], length[RANGES];
    row_t first[RANGES], last[RANGES];
};

static void run(struct cover_case *c) {
    struct arena scratch = {0};
    struct sutra_error error;
    assert_int_equal(range_cover(c->start, c->end, c->n, c->first, c->last, c->n_ranges, &scratch, c->length, &error),
                     SUTRA_OK);
    arena_free(&scratch);
}

static void ranges_count_covered_time_once(void **state) {
    struct cover_case c = {.n = 3,
                           .n_ranges = 5,
                           .start = {1, 3, 20},
                           .end = {5, 8, 22},
                           .first = {0, 1, 0, 2, 1},
                           .last = {2, 3, 3, 2, 2}};
    run(&c);
    assert_int_equal(c.length[0], 7);
    assert_int_equal(c.length[1], 7);
    assert_int_equal(c.length[2], 9);
    assert_int_equal(c.length[3], 0);
    assert_int_equal(c.length[4], 5);
}

static void empty_sets_cover_nothing(void **state) {
    struct cover_case c = {.n = 0, .n_ranges = 1};
    run(&c);
    assert_int_equal(c.length[0], 0);
    c = (struct cover_case){.n = 2, .n_ranges = 1, .start = {7, 7}, .end = {7, 7}, .last = {2}};
    run(&c);
    assert_int_equal(c.length[0], 0);
}

static void times_may_be_2_to_62_apart(void **state) {
    int64_t far = INT64_C(1) << 61;
    struct cover_case c = {
        .n = 2, .n_ranges = 2, .start = {-far, -5}, .end = {far, 5}, .first = {0, 1}, .last = {2, 2}};
    run(&c);
    assert_int_equal(c.length[0], 2 * far);
    assert_int_equal(c.length[1], 10);
}

static int64_t plain(const struct cover_case *c, row_t range) {
    char covered[MOMENTS] = {0};
    int64_t length = 0;
    for (row_t i = c->first[range]; i < c->last[range]; i++)
        memset(covered + c->start[i], 1, (size_t)(c->end[i] - c->start[i]));
    for (int i = 0; i < MOMENTS; i++)
        length += covered[i];
    return length;
}

static void random_ranges_are_as_counted(void **state) {
    static struct cover_case c;
    struct random random = {20260301};
    print_message("seed %" PRIu64 "\n", random.state);
    for (int round = 0; round < 60; round++) {
        uint32_t longest = 1 + random_below(&random, 60);
        c.n = random_below(&random, INTERVALS);
        c.n_ranges = RANGES;
        for (row_t i = 0; i < c.n; i++) {
            c.start[i] = random_below(&random, MOMENTS / 2);
            c.end[i] = c.start[i] + random_below(&random, longest);
        }
        for (row_t i = 0; i < RANGES; i++) {
            row_t a = random_below(&random, c.n + 1), b = random_below(&random, c.n + 1);
            if (round % 2) /* short ones, each of which is measured alone */
                b = a + random_below(&random, 4 < c.n - a ? 5 : c.n - a + 1);
            c.first[i] = a < b ? a : b;
            c.last[i] = a < b ? b : a;
        }
        run(&c);
        for (row_t i = 0; i < RANGES; i++)
            assert_int_equal(c.length[i], plain(&c, i));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_count_covered_time_once),
        cmocka_unit_test(empty_sets_cover_nothing),
        cmocka_unit_test(times_may_be_2_to_62_apart),
        cmocka_unit_test(random_ranges_are_as_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
