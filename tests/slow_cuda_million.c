/*
 * slow_cuda_million.c - tests the steps of the CUDA engine on a million operators against the CPU engine.
 */
#include "cuda_compare.h"

static void both_engines_agree_on_a_million_operators(void **state) {
    static const struct table_shape many[] = {
        {"nested doubles", 4, 1 << 28, 5000, NESTED, DOUBLES},
        {"overlapping doubles", 4, 1 << 28, 2000, OVERLAPPING, DOUBLES},
        {"integers with equal starts", 2, 1 << 17, 20, NESTED, INTEGERS},
    };
    for (size_t s = 0; s < sizeof many / sizeof *many; s++)
        compare(&many[s], 1, 1000000, 2, UNLIMITED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_engines_agree_on_a_million_operators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
