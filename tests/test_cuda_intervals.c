/*
 * test_cuda_intervals.c - merged intervals, states and sums by the steps of the CUDA engine (on the CPU, host_gpu.cpp)
 * against the CPU engine: random intervals that nest, touch, repeat and end before they start, and values of any size.
 */
#include "cuda_compare.h"

static void intervals_and_states_agree(void **state) {
    (void)state;
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 400; seed++)
        compare_intervals(engines.engine, seed, (row_t)(seed % 41 + (seed % 50 == 0 ? 700 : 0)));
    engines_close(&engines);
}

static void sums_of_values_agree(void **state) {
    (void)state;
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 200; seed++)
        compare_sums(engines.engine, seed, (row_t)(seed % 150 + (seed % 50 == 0 ? 2000 : 0)));
    engines_close(&engines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_and_states_agree),
        cmocka_unit_test(sums_of_values_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
