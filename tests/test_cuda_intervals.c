/*
 * test_cuda_intervals.c - merged intervals, states and sums by the steps of the CUDA engine (on the CPU, host_gpu.cpp)
 * against the CPU engine: random intervals that nest, touch, repeat and end before they start, and values of any size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "cuda_compare.h"

static void expect_same_groups(const struct merged *got, const struct merged *expected) {
    assert_int_equal(got->n, expected->n);
    assert_int_equal(got->n_segments, expected->n_segments);
    for (row_t i = 0; i < got->n; i++) {
        assert_int_equal(got->start[i], expected->start[i]);
        assert_int_equal(got->end[i], expected->end[i]);
    }
    for (uint32_t s = 0; s <= got->n_segments; s++)
        assert_int_equal(got->first[s], expected->first[s]);
}

static void compare_states(const struct engines *engines, const struct merged *merged, uint32_t n_sets, int64_t unit) {
    struct interval_states states[2];
    struct sutra_error error;
    for (int e = 0; e < 2; e++)
        assert_int_equal(
            engines->engine[e].interval_states(engines->engine[e].state, merged, n_sets, unit, &states[e], &error),
            SUTRA_OK);
    for (int s = 1; s < N_STATES; s++) {
        assert_true(states[0].length[s] == states[1].length[s]);
        assert_true(states[0].exact[s] == states[1].exact[s]);
        assert_int_equal(states[0].seen[s], states[1].seen[s]);
    }
}

static void intervals_and_states_agree(void **state) {
    (void)state;
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
        row_t n = (row_t)(seed % 41 + (seed % 50 == 0 ? 700 : 0));
        uint32_t n_segments = 3 + (uint32_t)random_below(&random, 3);
        int64_t *start = room(n, 8), *end = room(n, 8), now = -50;
        uint32_t *segment = room(n, 4);
        for (row_t i = 0; i < n; i++) {
            now += random_below(&random, 5);
            start[i] = now;
            end[i] = now + random_below(&random, 12) - (seed % 3 == 0 ? 3 : 0);
            segment[i] = (uint32_t)random_below(&random, n_segments);
        }
        struct merged merged[2];
        struct sutra_error error;
        for (int e = 0; e < 2; e++)
            assert_int_equal(engines.engine[e].merge_intervals(engines.engine[e].state, start, end,
                                                               seed % 4 ? segment : NULL, n, n_segments, &merged[e],
                                                               &error),
                             SUTRA_OK);
        expect_same_groups(&merged[1], &merged[0]);
        compare_states(&engines, &merged[0], 2, 1);
        compare_states(&engines, &merged[0], 3, 1 + (int64_t)seed % 3);
        merged_free(&merged[0]);
        merged_free(&merged[1]);
        free(start), free(end), free(segment);
    }
    engines_close(&engines);
}

static void sums_of_values_agree(void **state) {
    (void)state;
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
        row_t n = (row_t)(seed % 150 + (seed % 50 == 0 ? 2000 : 0));
        uint32_t n_keys = 1 + (uint32_t)random_below(&random, 7), *keys = room(n, 4);
        int64_t *values = room(n, 8);
        for (row_t i = 0; i < n; i++) {
            keys[i] = (uint32_t)random_below(&random, n_keys);
            values[i] = (int64_t)(random_bits(&random) >> random_below(&random, 64)) * (seed % 2 ? 1 : -1);
        }
        struct moments *moments[2];
        struct sutra_error error;
        for (int e = 0; e < 2; e++) {
            moments[e] = room(n_keys, sizeof **moments);
            assert_int_equal(
                engines.engine[e].sums_by_key(engines.engine[e].state, keys, values, n, n_keys, moments[e], &error),
                SUTRA_OK);
        }
        for (uint32_t k = 0; k < n_keys; k++) {
            const struct moments *got = &moments[1][k], *expected = &moments[0][k];
            if (got->n != expected->n || got->min != expected->min || got->max != expected->max ||
                got->sum != expected->sum || got->squares != expected->squares || got->overflow != expected->overflow)
                fail_msg("seed %" PRIu64 ": the sums of key %" PRIu32 " differ", seed, k);
        }
        free(keys), free(values), free(moments[0]), free(moments[1]);
    }
    engines_close(&engines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_and_states_agree),
        cmocka_unit_test(sums_of_values_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
