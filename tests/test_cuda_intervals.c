/*
 * test_cuda_intervals.c - tests merged intervals, states and sums of the CUDA engine (run on the CPU by host_gpu.cpp)
 * against the CPU engine.
 *
 * Input: random intervals that nest, touch, repeat and end before they start, and values of any size.
 */
#include "cuda_compare.h"

static void intervals_and_states_agree(void **state) {
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 400; seed++)
        compare_intervals(engines.engine, seed, (row_t)(seed % 41 + (seed % 50 == 0 ? 700 : 0)));
    engines_close(&engines);
}

static void sums_of_values_agree(void **state) {
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 200; seed++)
        compare_sums(engines.engine, seed, (row_t)(seed % 150 + (seed % 50 == 0 ? 2000 : 0)));
    engines_close(&engines);
}

static void intervals_fall_back_to_the_cpu_if_a_kernel_fails(void **state) {
    unsigned n_failed = 0;
    for (row_t kernel = 0; kernel < 60; kernel++) {
        struct engines engines;
        engines_open_on(&engines, 2, true, UNLIMITED, kernel);
        compare_intervals(engines.engine, 7, 90);
        compare_sums(engines.engine, 7, 90);
        assert_in_range(engines.said.warnings, 0, 1);
        n_failed += engines.said.warnings;
        engines_close(&engines);
    }
    assert_in_range(n_failed, 15, 59);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_and_states_agree),
        cmocka_unit_test(sums_of_values_agree),
        cmocka_unit_test(intervals_fall_back_to_the_cpu_if_a_kernel_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
