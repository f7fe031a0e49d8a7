/*
 * test_cuda_steps.c - tests the steps of the CUDA engine (run on the CPU by host_gpu.cpp) against the CPU engine, array
 * by array: tables of many shapes and sizes, devices with too little memory, and devices that fail.
 */
#include "cuda_compare.h"

static void both_engines_agree_at_the_edges_of_warps_and_blocks(void **state) {
    static const row_t sizes[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000};
    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare(&shapes[s], i + 1, sizes[i], 1 + (unsigned)i % 3, UNLIMITED);
}

static void both_engines_agree_on_random_tables(void **state) {
    for (size_t s = 0; s < N_SHAPES; s++)
        for (uint64_t seed = 1; seed <= 40; seed += 2)
            compare(&shapes[s], seed + 1000, (row_t)(seed * 7), 2, UNLIMITED);
}

static void a_device_that_is_too_small_works_in_pieces(void **state) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        compare(&shapes[11], seed, 3000, 2, 240000);
        compare(&shapes[11], seed, 5000, 2, 400000);
    }
}

/* One operator more than fits on the device, on a single thread. */
static void work_too_large_for_the_gpu_runs_on_the_cpu_or_fails(void **state) {
    struct match_table big;
    struct results got, expected;
    struct sutra_error error;
    struct engines engines;
    make(&shapes[3], 1, 1000, &big);

    engines_open_on(&engines, 1, true, 30000, NEVER);
    assert_int_equal(run_all(&engines.engine[0], &big, &expected, &error), SUTRA_OK);
    assert_int_equal(run_all(&engines.engine[1], &big, &got, &error), SUTRA_OK);
    expect_equal("too small", 1, 1000, &got, &expected);
    assert_in_range(engines.said.warnings, 1, 10);
    results_free(&got);
    engines_close(&engines);

    engines_open_on(&engines, 1, false, 30000, NEVER);
    const struct engine *cuda = &engines.engine[1];
    struct exclusive_durations_step step = {&big.ops, expected.exclusive, &expected.anomalies};
    assert_int_equal(cuda->exclusive_durations(cuda->state, &step, &error), SUTRA_SYSTEM);
    assert_non_null(strstr(error.message, "MB are needed on the GPU"));
    assert_non_null(strstr(error.message, "--device auto"));
    engines_close(&engines);
    results_free(&expected);
    match_table_free(&big);
}

static void failed_kernels_fall_back_to_the_cpu_or_are_errors(void **state) {
    struct match_table big;
    struct results got, expected;
    struct sutra_error error;
    struct engines engines;
    make(&shapes[0], 1, 300, &big);
    engines_open(&engines);
    assert_int_equal(run_all(&engines.engine[0], &big, &expected, &error), SUTRA_OK);
    engines_close(&engines);
    for (row_t kernel = 0; kernel < 60; kernel++) {
        engines_open_on(&engines, 2, true, UNLIMITED, kernel);
        assert_int_equal(run_all(&engines.engine[1], &big, &got, &error), SUTRA_OK);
        expect_equal("failing", kernel, 300, &got, &expected);
        assert_in_range(engines.said.warnings, 0, 1);
        bool failed = engines.said.warnings > 0;
        results_free(&got);
        engines_close(&engines);

        engines_open_on(&engines, 2, false, UNLIMITED, kernel);
        assert_int_equal(run_all(&engines.engine[1], &big, &got, &error), failed ? SUTRA_SYSTEM : SUTRA_OK);
        assert_true(!failed || strstr(error.message, "the device was taken away"));
        assert_true(failed || kernel > 35);
        results_free(&got);
        engines_close(&engines);
    }
    results_free(&expected);
    match_table_free(&big);
}

static void distant_overlaps_run_on_the_cpu_with_a_note(void **state) {
    static const struct table_shape shape = {"far overlaps", 2, 1 << 12, 1 << 14, OVERLAPPING, DOUBLES};
    struct engines engines;
    engines_open(&engines);
    compare_table(engines.engine, &shape, 1, 5000);
    assert_int_equal(engines.said.notes, 1);
    engines_close(&engines);
}

static void a_table_that_was_not_loaded_may_change_between_steps(void **state) {
    struct match_table big;
    struct exclusive_anomalies anomalies;
    struct engines engines;
    engines_open(&engines);
    const struct engine *cuda = &engines.engine[1];
    make(&shapes[3], 1, 1, &big);
    struct number_column exclusive = numbers(1);
    struct exclusive_durations_step step = {&big.ops, exclusive, &anomalies};
    for (int64_t dur = 5; dur < 7; dur++) {
        number_set(big.dur, 0, integer(dur));
        assert_int_equal(cuda->exclusive_durations(cuda->state, &step, NULL), SUTRA_OK);
        assert_int_equal(exclusive.bits[0], dur);
    }
    free(exclusive.bits), free(exclusive.kind);
    engines_close(&engines);
    match_table_free(&big);
}

static enum sutra_status exclusive_alone(const struct engine *engine, const struct cpu_ops *ops) {
    struct exclusive_anomalies anomalies;
    struct sutra_error error;
    struct number_column exclusive = numbers(ops->n);
    struct exclusive_durations_step step = {ops, exclusive, &anomalies};
    enum sutra_status status = engine->exclusive_durations(engine->state, &step, &error);
    free(exclusive.bits), free(exclusive.kind);
    return status;
}

/* Memory that a step used on one side must be available to the next step on the other side. */
static void steps_that_fit_an_empty_device_fit_after_other_steps(void **state) {
    struct match_table large, small;
    struct engines engines;
    const struct engine *cuda = &engines.engine[1];
    unsigned n_fitting = 0;
    make(&shapes[3], 1, 5000, &large);
    for (row_t n = 1000; n < 5000; n += 100) {
        make(&shapes[3], 1, n, &small);
        engines_open_on(&engines, 1, false, 330000, NEVER);
        enum sutra_status alone = exclusive_alone(cuda, &small.ops);
        assert_int_equal(exclusive_alone(cuda, &large.ops), SUTRA_SYSTEM);
        assert_int_equal(exclusive_alone(cuda, &small.ops), alone);
        n_fitting += alone == SUTRA_OK;
        engines_close(&engines);
        match_table_free(&small);
    }
    assert_in_range(n_fitting, 10, 39);
    match_table_free(&large);
}

static void keys_are_sorted_by_the_bits_of_their_range(void **state) {
    enum { N = 1000 };
    static const struct {
        uint64_t first;
        uint64_t range;
        unsigned bits;
    } cases[] = {
        {0, 1000, 10},
        {((uint64_t)1 << 40) - 500, 1000, 10},
        {((uint64_t)1 << 63) - 1, 2, 1}, /* sort keys of the ids -1 and 0 */
        {UINT64_MAX - 999, 1000, 10},
        {77, 1, 0},
        {0, UINT64_MAX, 64},
    };
    struct engines engines;
    engines_open(&engines);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t keys[2][N], random = i + 1;
        row_t rows[2][N];
        for (row_t row = 0; row < N; row++) {
            keys[0][row] = keys[1][row] = cases[i].first + xorshift_next(&random) % cases[i].range;
            rows[0][row] = rows[1][row] = row;
        }
        keys[0][3] = keys[1][3] = cases[i].first;
        keys[0][5] = keys[1][5] = cases[i].first + cases[i].range - 1;
        for (int e = 0; e < 2; e++) {
            struct sort_keys_step step = {keys[e], rows[e], N};
            assert_int_equal(engines.engine[e].sort_keys(engines.engine[e].state, &step, NULL), SUTRA_OK);
        }
        assert_memory_equal(keys[1], keys[0], sizeof *keys);
        assert_memory_equal(rows[1], rows[0], sizeof *rows);
        assert_int_equal(host_cub_sorted_bits(), cases[i].bits);
    }
    engines_close(&engines);
}

static void most_lanes_may_be_empty(void **state) {
    enum { N = 5, N_LANES = 100000 };
    static const uint32_t lane[N] = {0, 70000, 5, 70000, N_LANES - 1};
    static const uint64_t time[N] = {1, 2, 3, 4, 5};
    const struct lane_items items = {N, N_LANES, lane, time};
    static const uint32_t wanted_lane[] = {0, 1, 5, 69999, 70000, 70000, 70001, N_LANES - 1};
    static const uint64_t wanted_time[] = {1, 9, 2, 9, 3, 4, 9, 9};
    enum { N_WANTED = sizeof wanted_time / sizeof *wanted_time };
    row_t before[2][N_WANTED], after[2][N_WANTED];
    struct engines engines;
    engines_open(&engines);
    for (int e = 0; e < 2; e++) {
        struct lane_neighbours_step step = {&items, wanted_lane, wanted_time, N_WANTED, before[e], after[e]};
        assert_int_equal(engines.engine[e].lane_neighbours(engines.engine[e].state, &step, NULL), SUTRA_OK);
    }
    assert_memory_equal(before[1], before[0], sizeof *before);
    assert_memory_equal(after[1], after[0], sizeof *after);
    engines_close(&engines);
}

static void steps_and_copied_bytes_are_counted(void **state) {
    enum { N = 1000 };
    static const uint32_t lane[N];
    static const uint8_t up[N];
    uint32_t length[N];
    struct queue_lengths_step step = {lane, up, N, 1, length};
    struct cuda_engine_counts counts;
    struct engines engines;
    for (unsigned n_steps = 0; n_steps < 3; n_steps++) {
        engines_open(&engines);
        const struct engine *cuda = &engines.engine[1];
        for (unsigned i = 0; i < n_steps; i++)
            assert_int_equal(cuda->queue_lengths(cuda->state, &step, NULL), SUTRA_OK);
        cuda_engine_counts(cuda, &counts);
        assert_int_equal(counts.n_steps, n_steps);
        assert_int_equal(counts.bytes_up, n_steps * (sizeof lane + sizeof up));
        assert_int_equal(counts.bytes_down, n_steps * sizeof length);
        engines_close(&engines);
    }
    engines_open_on(&engines, 1, true, UNLIMITED, 0);
    assert_int_equal(engines.engine[1].queue_lengths(engines.engine[1].state, &step, NULL), SUTRA_OK);
    cuda_engine_counts(&engines.engine[1], &counts);
    assert_int_equal(counts.n_steps, 0); /* the kernels failed, so the CPU did the step */
    engines_close(&engines);
}

/* Active lanes of one label to 32 labels. */
static void lanes_of_a_warp_sum_the_values_of_their_label(void **state) {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t random = seed, sums[LANES][2], expected[LANES][2] = {0};
        uint32_t label[LANES], n_labels = 1u << seed % 6, found = 0;
        uint32_t active = seed % 3 ? (uint32_t)xorshift_next(&random) | 1 : UINT32_MAX;
        bool is_first[LANES];
        for (uint32_t i = 0; i < LANES; i++) {
            label[i] = (uint32_t)xorshift_below(&random, n_labels);
            sums[i][0] = xorshift_next(&random);
            sums[i][1] = i;
            for (int k = 0; k < 2 && active >> i & 1; k++)
                expected[label[i]][k] += sums[i][k];
        }
        assert_true(warp_sum(active, label, sums, is_first));
        for (uint32_t i = 0; i < LANES; i++) {
            if (!is_first[i])
                continue;
            assert_false(found >> label[i] & 1);
            found |= 1u << label[i];
            assert_memory_equal(sums[i], expected[label[i]], sizeof sums[i]);
        }
        for (uint32_t i = 0; i < LANES; i++)
            assert_int_equal(found >> i & 1, expected[i][0] != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_of_a_warp_sum_the_values_of_their_label),
        cmocka_unit_test(both_engines_agree_at_the_edges_of_warps_and_blocks),
        cmocka_unit_test(both_engines_agree_on_random_tables),
        cmocka_unit_test(a_device_that_is_too_small_works_in_pieces),
        cmocka_unit_test(work_too_large_for_the_gpu_runs_on_the_cpu_or_fails),
        cmocka_unit_test(failed_kernels_fall_back_to_the_cpu_or_are_errors),
        cmocka_unit_test(distant_overlaps_run_on_the_cpu_with_a_note),
        cmocka_unit_test(a_table_that_was_not_loaded_may_change_between_steps),
        cmocka_unit_test(steps_that_fit_an_empty_device_fit_after_other_steps),
        cmocka_unit_test(keys_are_sorted_by_the_bits_of_their_range),
        cmocka_unit_test(most_lanes_may_be_empty),
        cmocka_unit_test(steps_and_copied_bytes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
