/*
 * test_cuda_tree.c - tests parents of events and ids of tensors of the CUDA engine (run on the CPU by host_gpu.cpp)
 * against the CPU engine.
 *
 * Input: random events that nest, overlap, never end and continue on other threads.
 */
#include "cuda_compare.h"

static void parents_of_events_agree(void **state) {
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 600; seed++) {
        row_t n = (row_t)(seed % 67 + (seed % 20 == 0 ? 900 : 0));
        unsigned n_left = engines.said.notes;
        compare_events(engines.engine, seed, n);
        assert_true(engines.said.notes == n_left || n > 900);
    }
    assert_in_range(engines.said.notes, 1, 20); /* overlaps upon overlaps */
    engines_close(&engines);
}

static void descending_starts_run_on_the_cpu(void **state) {
    struct engines engines;
    struct events events;
    engines_open(&engines);
    make_events(&events, 3, 200, 30, 30);
    events.table.forward = events.forward;
    for (row_t i = 1; i < 200; i += 5)
        events.start[i] = events.start[i - 1] - 1;
    compare_parents(engines.engine, &events, 3);
    assert_int_equal(engines.said.notes, 1);
    events_free(&events);
    engines_close(&engines);
}

static void ids_of_tensors_agree(void **state) {
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 300; seed++)
        compare_tensors(engines.engine, seed, (row_t)(seed % 50 + (seed % 20 == 0 ? 800 : 0)));
    engines_close(&engines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_of_events_agree),
        cmocka_unit_test(descending_starts_run_on_the_cpu),
        cmocka_unit_test(ids_of_tensors_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
