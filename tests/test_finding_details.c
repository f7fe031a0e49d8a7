/*
 * test_finding_details.c - tests numbers and names of findings that the tables of test_findings.c do not compare: the
 * longest kernel, counts of waits, times, and gaps that are no finding.
 */
#include <math.h>

#include "made_verdict.h"

static const struct overview_finding *expect_finding(const struct rank_verdict *verdict,
                                                     const struct finding_rule *rule) {
    const struct overview_finding *finding = finding_of(verdict, rule);
    if (!finding)
        fail_msg("no finding %s", rule->name);
    return finding;
}

static void launch_many(struct made_trace *made, int n, const char *kernel, long us) {
    for (int i = 0; i < n; i++)
        launch_by(made, "aten::mm", "", 10, kernel, us);
}

/* The longest kernel is neither the first nor the last. */
static void compute_bound_names_the_longest_kernel(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch_many(&made, 1, "first_kernel", 100);
        launch_many(&made, 10, "longest_kernel", 200);
        launch_many(&made, 1, "last_kernel", 100);
        wait_for_device(&made, "cudaDeviceSynchronize");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = expect_finding(&verdict, &rule_gemm_bound);
    assert_non_null(strstr(finding->seen, "longest_kernel"));
    assert_string_equal(finding->where.units[0].name, "longest_kernel");
    rank_verdict_free(&verdict);
}

/* A launch call blocks while the queue is full: the CPU waits for the GPU without a synchronizing call, so that faster
 * kernels save time, and the CPU needs less than the window. */
static void launch_call_of_a_full_queue_is_a_wait(void **state) {
    struct made_trace made = {.head = H100};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch_many(&made, 60, "ampere_sgemm_128x64_nn", 100);
        call(&made, "cudaLaunchKernel", 5000);
        queue(&made, "kernel", "ampere_sgemm_128x64_nn", 100);
        made.now = made.free_at - 100;
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = expect_finding(&verdict, &rule_fp32);
    assert_true(finding->saving_percent > 30);
    assert_true(number_of(finding, "host_waits_us") > 4900 && number_of(finding, "host_waits_us") < 5100);
    assert_true((double)verdict.host_needed < 0.5 * (double)verdict.window);
    rank_verdict_free(&verdict);
}

/* In each step the GPU runs out of work in four calls. It is idle before twelve other calls, so that no idle time is
 * attributed to the time after them. */
static void sync_counts_the_waits_that_are_followed_by_idle_time(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        for (int i = 0; i < 16; i++) {
            launch_by(&made, "aten::mm", "", 30, "gemm", i < 4 ? 200 : 20);
            if (i >= 4)
                made.now = made.free_at + 5;
            long since = made.now++;
            wait_for_device(&made, "cudaStreamSynchronize");
            made.now++;
            around(&made, "cpu_op", "aten::item", since, "");
            host(&made, "python", i < 4 ? 150 : 2);
        }
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = expect_finding(&verdict, &rule_sync);
    assert_string_equal(finding->subject, "aten::item");
    assert_non_null(strstr(finding->seen, ", 4 per step"));
    assert_string_equal(finding->now, "4");
    assert_true(fabs(number_of(finding, "waits") - 4) < 1e-9);
    rank_verdict_free(&verdict);
}

/* Two synchronizing calls of 900 us in which the GPU runs nothing; a third one is after the last kernel. */
static void time_of_unexplained_waits_is_reported(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch_many(&made, 10, "gemm", 100);
        made.now = made.free_at;
        call(&made, "cudaDeviceSynchronize", 900);
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const double us = number_of(expect_finding(&verdict, &rule_device_side), "unexplained_us");
    assert_true(us > 1750 && us < 1850);
    rank_verdict_free(&verdict);
}

/* In each gap the CPU loads data for 7.5 ms and runs eight operators of 0.3 ms, which are too short for a finding. */
static void gap_that_the_cpu_explains_in_part_is_no_preprocessing(void **state) {
    static const char *const names[] = {"crop", "flip", "resize", "pad", "stack", "decode", "shuffle", "normalize"};
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch_many(&made, 10, "gemm", 100);
        made.now = made.free_at - 10;
        host(&made, "prepare", 20);
        long since = made.now;
        made.now += 7500;
        around(&made, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", since, "");
        for (int i = 0; i < 8; i++)
            host(&made, names[i], 300);
        launch_many(&made, 10, "gemm", 100);
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    expect_finding(&verdict, &rule_data_loading);
    assert_null(finding_of(&verdict, &rule_cpu_preprocessing));
    rank_verdict_free(&verdict);
}

static void run_optimizer(struct made_trace *made, const char *range, int n) {
    long since = made->now;
    for (int i = 0; i < n; i++)
        launch_by(made, "aten::add_", "", 20, "add", 2);
    around(made, "user_annotation", range, since, "");
    made->now++;
}

/* The longer range is first. */
static void optimizer_finding_names_the_longest_range(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch_many(&made, 40, "gemm", 400);
        made.now = made.free_at;
        run_optimizer(&made, "Optimizer.step#Adam.step", 300);
        run_optimizer(&made, "Optimizer.step#SGD.step", 20);
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = expect_finding(&verdict, &rule_small_kernels_optimizer);
    assert_string_equal(finding->where.frame, "Optimizer.step#Adam");
    assert_string_equal(finding->subject, "Adam");
    rank_verdict_free(&verdict);
}

/* The gap before the first kernel has 5 of 6.5 ms of set-up. Without this gap, set-up is below the limit of start-up,
 * but a gap with less than 90 % of the set-up is not cropped. */
static void startup_in_several_gaps_is_not_cropped(void **state) {
    struct made_trace made = {0};
    step_begin(&made);
    call(&made, "cudaMalloc", 5000);
    launch_many(&made, 60, "gemm", 100);
    made.now = made.free_at;
    call(&made, "cudaMalloc", 1500);
    launch_many(&made, 30, "gemm", 100);
    step_end(&made);
    step_begin(&made);
    launch_many(&made, 30, "gemm", 100);
    wait_for_device(&made, "cudaDeviceSynchronize");
    step_end(&made);
    struct rank_verdict verdict = verdict_on_made(&made);
    const double us = number_of(expect_finding(&verdict, &rule_startup), "set_up_us");
    assert_true(us > 6450 && us < 6550);
    rank_verdict_free(&verdict);
}

/* The first kernel starts 3 ms after the start of the window, after GPU work from before the trace. */
static void excluded_start_of_the_trace_is_reported(void **state) {
    struct made_trace made = {0};
    call(&made, "cudaLaunchKernel", CALL_US);
    made.free_at = 3000;
    queue(&made, "kernel", "k", 100);
    for (int i = 0; i < 100; i++)
        launch(&made, "k", 100);
    wait_for_device(&made, "cudaDeviceSynchronize");
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = expect_finding(&verdict, &rule_trace_edge);
    assert_string_equal(finding->now, "3.00 ms");
    assert_true(fabs(number_of(finding, "cropped_us") - 3000) < 1);
    rank_verdict_free(&verdict);
}

/* Names of matrix multiplications and convolutions of cuBLAS, cuDNN and CUTLASS: in FP32, in TF32, in 16 bits. */
static void kernels_in_fp32_are_recognized_by_name(void **state) {
    static const struct {
        const char *name;
        bool is_fp32;
    } kernels[] = {
        {"volta_sgemm_128x64_tn", true},
        {"ampere_sgemm_32x32_sliced1x4_tn", true},
        {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>", true},
        {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_execute", true},
        {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_ffma", true},
        {"volta_scudnn_128x64_relu_interior_nn_v1", true},
        {"implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1>", true},
        {"sm86_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_tensor16x8x8_kernel", false},
        {"sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n_tilesize128x128x16", false},
        {"cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4", false},
        {"ampere_s1688gemm_128x128_ldg8_stages_32x3_tn", false},
        {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_tn", false},
        {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", false},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct made_trace made = {.head = H100};
        for (int step = 0; step < 3; step++) {
            step_begin(&made);
            launch_many(&made, 20, kernels[i].name, 500);
            wait_for_device(&made, "cudaDeviceSynchronize");
            step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        if ((finding_of(&verdict, &rule_fp32) != NULL) != kernels[i].is_fp32)
            fail_msg("%s: %s FP32", kernels[i].name, kernels[i].is_fp32 ? "is" : "is not");
        rank_verdict_free(&verdict);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_in_fp32_are_recognized_by_name),
        cmocka_unit_test(compute_bound_names_the_longest_kernel),
        cmocka_unit_test(launch_call_of_a_full_queue_is_a_wait),
        cmocka_unit_test(sync_counts_the_waits_that_are_followed_by_idle_time),
        cmocka_unit_test(time_of_unexplained_waits_is_reported),
        cmocka_unit_test(gap_that_the_cpu_explains_in_part_is_no_preprocessing),
        cmocka_unit_test(optimizer_finding_names_the_longest_range),
        cmocka_unit_test(startup_in_several_gaps_is_not_cropped),
        cmocka_unit_test(excluded_start_of_the_trace_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
