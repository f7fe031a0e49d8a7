/*
 * test_free_ids.c - tests the search for the smallest free id that is not below a given id.
 */
#include <inttypes.h>

#include "generate/random.h"
#include "legacy/legacy.h"
#include "unit.h"

#define SPAN 3000

static int64_t take(struct free_ids *ids, int64_t wanted) {
    int64_t given = INT64_MIN;
    assert_int_equal(free_ids_take(ids, wanted, &given), FREE_ID_GIVEN);
    return given;
}

static void used_ids_are_skipped(void **state) {
    static const struct {
        int64_t wanted, given;
    } rows[] = {{3, 3}, {3, 4},   {3, 5},   {7, 7}, {3, 6}, {3, 8}, {5, 9},
                {0, 0}, {-4, -4}, {-4, -3}, {1, 1}, {1, 2}, {1, 10}};
    struct free_ids ids = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(take(&ids, rows[i].wanted), rows[i].given);
    free_ids_free(&ids);
}

static void no_id_is_free_beyond_64_bits(void **state) {
    struct free_ids ids = {0};
    int64_t given;
    assert_int_equal(take(&ids, INT64_MAX - 1), INT64_MAX - 1);
    assert_int_equal(free_ids_take(&ids, INT64_MAX - 1, &given), FREE_ID_NONE);
    free_ids_free(&ids);
}

static void free_ids_equal_a_linear_search_on_random_requests(void **state) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct random random = {seed};
        struct free_ids ids = {0};
        uint8_t taken[2 * SPAN];
        memset(taken, 0, sizeof taken);
        for (unsigned i = 0; i < SPAN - 1; i++) {
            int64_t wanted = random_below(&random, 1 + random_below(&random, SPAN)), expected = wanted;
            while (taken[expected])
                expected++;
            taken[expected] = 1;
            if (take(&ids, wanted) != expected)
                fail_msg("seed %" PRIu64 ", wish %u", seed, i);
        }
        free_ids_free(&ids);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_ids_are_skipped),
        cmocka_unit_test(no_id_is_free_beyond_64_bits),
        cmocka_unit_test(free_ids_equal_a_linear_search_on_random_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
