/*
 * test_bisect.c - tests binary search for the first index whose predicate is false, against a linear search.
 */
#include "base/shared.h"
#include "unit.h"

#define PLACES_MAX 40

static uint32_t find(uint32_t low, uint32_t high, uint32_t holds_below, uint32_t *n_looks) {
    struct bisection at = {low, high};
    for (*n_looks = 0; at.low < at.high; (*n_looks)++) {
        assert_in_range(bisect_middle(at), low, high - 1);
        bisect(&at, bisect_middle(at) < holds_below);
    }
    return at.low;
}

static void every_index_is_found_in_every_range(void **state) {
    uint32_t n_looks;
    for (uint32_t low = 0; low <= PLACES_MAX; low++)
        for (uint32_t high = low; high <= PLACES_MAX; high++)
            for (uint32_t first = low; first <= high; first++)
                assert_int_equal(find(low, high, first, &n_looks), first);
}

static void search_takes_log2_n_comparisons(void **state) {
    uint32_t n_looks, most = 0;
    for (uint32_t first = 0; first <= 1000; first++) {
        find(0, 1000, first, &n_looks);
        most = n_looks > most ? n_looks : most;
    }
    assert_int_equal(most, 10);
}

static void empty_range_takes_no_comparison(void **state) {
    uint32_t n_looks;
    assert_int_equal(find(7, 7, 9, &n_looks), 7);
    assert_int_equal(n_looks, 0);
}

static void search_works_up_to_the_largest_index(void **state) {
    uint32_t n_looks;
    assert_int_equal(find(0, UINT32_MAX, UINT32_MAX, &n_looks), UINT32_MAX);
    assert_int_equal(find(UINT32_MAX - 2, UINT32_MAX, UINT32_MAX - 1, &n_looks), UINT32_MAX - 1);
}

/* Ids with gaps here and there: each that is there is found at its place, and no other one. */
static void ascending_ids_are_found_at_their_index(void **state) {
    uint64_t ids[300];
    for (uint64_t gap = 1; gap < 50; gap++) {
        uint32_t n = 0;
        for (uint64_t id = 7; n < 300; id += id % gap == 0 ? gap : 1)
            ids[n++] = id;
        uint32_t place = 0;
        for (uint64_t id = 0; id <= ids[n - 1] + 3; id++) {
            bool found = place < n && ids[place] == id;
            assert_int_equal(find_ascending_id(ids, n, id), found ? place : n);
            place += found;
        }
    }
    assert_int_equal(find_ascending_id(ids, 0, 7), 0);
    assert_int_equal(find_ascending_id(ids, 300, UINT64_MAX), 300);
    ids[299] = UINT64_MAX;
    assert_int_equal(find_ascending_id(ids, 300, UINT64_MAX), 299);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ascending_ids_are_found_at_their_index), cmocka_unit_test(every_index_is_found_in_every_range),
        cmocka_unit_test(search_takes_log2_n_comparisons),        cmocka_unit_test(empty_range_takes_no_comparison),
        cmocka_unit_test(search_works_up_to_the_largest_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
