/*
 * test_host_rules.c - tests the limits of the rules about the host (rules_host.c), of first calls, and of the verdict on
 * traces without GPU activity.
 */
#include <math.h>

#include "made_verdict.h"

#define MADE_STEPS 4

/* ---- Stalls ---- */

/* A trace with a long call of an operator in each step. */
struct stall_case {
    const char *state;
    const char *name;     /* of the operator */
    const char *category; /* "": cpu_op */
    long usual_us, long_us;
    bool launches;      /* each call launches a kernel */
    bool without_steps; /* no profiler steps are recorded */
    bool stalls;
};

static const struct stall_case stall_cases[] = {
    {"an operator that usually takes 2 us", "aten::view", "", 2, 2000, false, false, true},
    {"a call", "cudaFuncSetAttribute", "cuda_runtime", 2, 2000, false, false, true},
    {"an annotation", "nccl:all_reduce", "user_annotation", 2, 2000, false, false, true},
    {"less than 1 ms", "aten::view", "", 2, 990, false, false, false},
    {"less than 20 medians", "aten::view", "", 150, 2500, false, false, false},
    {"more than 20 medians", "aten::view", "", 100, 2500, false, false, true},
    {"operators that usually take long", "aten::randn", "", 1200, 30000, false, false, false},
    {"a Python function", "model.py(3): f", "python_function", 2, 2000, false, false, false},
    {"memory copied on the CPU", "aten::copy_", "", 2, 2000, false, false, false},
    {"a value that is read", "aten::_local_scalar_dense", "", 2, 2000, false, false, false},
    {"memory", "cudaHostAlloc", "cuda_runtime", 2, 2000, false, false, false},
    {"synchronization", "my_synchronize", "", 2, 2000, false, false, false},
    {"a matrix multiplication on the CPU", "aten::addmm", "", 2, 2000, false, false, false},
    {"a matrix multiplication on the GPU", "aten::addmm", "", 8, 2000, true, false, true},
    {"without steps", "aten::view", "", 2, 2000, false, true, true},
};

static void run_case(struct made_trace *made, const struct stall_case *of, long us) {
    if (of->launches)
        launch_by(made, of->name, "", us, "gemm", 20);
    else if (*of->category) {
        made->now += us;
        around(made, of->category, of->name, made->now - us, "");
    } else
        host(made, of->name, us);
}

static struct rank_verdict stall_verdict(const struct stall_case *of) {
    struct made_trace made = {0};
    for (int step = 0; step < MADE_STEPS; step++) {
        step_begin(&made);
        for (int i = 0; i < 20; i++) {
            run_case(&made, of, i == 10 ? of->long_us : of->usual_us);
            launch_by(&made, "aten::mm", "", 20, "gemm", 100);
        }
        if (!of->without_steps)
            step_end(&made);
    }
    return verdict_on_made(&made);
}

static void stalls_are_long_against_their_name(void **state) {
    for (size_t i = 0; i < sizeof stall_cases / sizeof *stall_cases; i++) {
        struct rank_verdict verdict = stall_verdict(&stall_cases[i]);
        if ((finding_of(&verdict, &rule_host_stall) != NULL) != stall_cases[i].stalls)
            fail_msg("%s: %s", stall_cases[i].state, stall_cases[i].stalls ? "no stall" : "a stall");
        rank_verdict_free(&verdict);
    }
}

/* The first launch of a kernel loads its code, in a trace without steps. */
static void first_launch_of_a_kernel_is_no_stall(void **state) {
    for (int is_first = 0; is_first < 2; is_first++) {
        struct made_trace made = {0};
        for (int i = 0; i < 40; i++) {
            char kernel[16] = "k";
            const bool is_long = i % 10 == 5;
            if (is_long && is_first)
                sprintf(kernel, "k%d", i);
            call(&made, "cudaLaunchKernel", is_long ? 900 + 1000 : CALL_US);
            queue(&made, "kernel", kernel, 100);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        const bool has_stall = finding_of(&verdict, &rule_host_stall) != NULL;
        assert_true(has_stall == !is_first || verdict.kind == SUTRA_VERDICT_STARTUP);
        rank_verdict_free(&verdict);
    }
}

/* Stalls of the thread with second most launches count, too. */
static void second_launching_thread_stalls(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < MADE_STEPS; step++) {
        step_begin(&made);
        for (int i = 0; i < 20; i++) {
            launch_by(&made, "aten::mm", "", 20, "gemm", 100);
            for (int k = 0; k < 2; k++) {
                const long us = i == 10 && k ? 2000 : 2;
                made.now += us;
                event(&made, "\"cat\":\"cpu_op\",\"name\":\"aten::view\",\"pid\":1,\"tid\":2,\"ts\":%ld,\"dur\":%ld",
                      made.now - us, us);
            }
            made.now += CALL_US;
            event(&made,
                  "\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":2,\"ts\":%ld,\"dur\":%d,"
                  "\"args\":{\"correlation\":%d}",
                  made.now - CALL_US, CALL_US, ++made.n_calls);
            queue(&made, "kernel", "gemm", 20);
        }
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = finding_of(&verdict, &rule_host_stall);
    assert_non_null(finding);
    assert_non_null(strstr(finding->seen, ", 4 times."));
    rank_verdict_free(&verdict);
}

/* Idle time in stalls belongs to no other rule about the host; the launching thread is off its core as long. */
static void stalls_belong_to_one_rule(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < MADE_STEPS; step++) {
        step_begin(&made);
        for (int i = 0; i < 60; i++) {
            host(&made, "aten::view", i % 20 == 10 ? 2000 : 2);
            launch_by(&made, "aten::mm", "", 60, "gemm", 20);
        }
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *stall = finding_of(&verdict, &rule_host_stall),
                                  *bound = finding_of(&verdict, &rule_host_bound);
    int64_t parts[SUTRA_N_PARTS];
    assert_true(stall && bound);
    verdict_parts(&verdict, parts);
    const double host_percent = (double)parts[SUTRA_PART_HOST] / (double)verdict.window * 100;
    assert_true(stall->saving_percent + bound->saving_percent < host_percent + 0.1);
    assert_true(stall->saving_percent + bound->saving_percent > host_percent - 2);
    assert_true(stall->saving_percent > 50);
    assert_true(fabs(verdict.off_core - MADE_STEPS * 3 * 2000e3 / (double)verdict.window) < 0.01);
    rank_verdict_free(&verdict);
}

/* Python's garbage collector is suspected if stalls come at equal distances. */
static void stalls_at_equal_distances_name_the_garbage_collector(void **state) {
    static const char *const steps[] = {"s.s.s.", "ss..s.", "sSs..."}; /* S: two stalls */
    static const char *const situations[] = {"garbage_collection", "cores", "cores"};
    for (int i = 0; i < 3; i++) {
        struct made_trace made = {0};
        for (const char *step = steps[i]; *step; step++) {
            step_begin(&made);
            for (int k = 0; k < 20; k++) {
                const bool is_long = (*step != '.' && k == 10) || (*step == 'S' && k == 15);
                host(&made, "aten::view", is_long ? 2000 : 2);
                launch_by(&made, "aten::mm", "", 20, "gemm", 50);
            }
            step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        const struct overview_finding *finding = finding_of(&verdict, &rule_host_stall);
        assert_non_null(finding);
        assert_string_equal(finding_remedy(finding)->situation, situations[i]);
        rank_verdict_free(&verdict);
    }
}

/* ---- Gaps without a known cause ---- */

/* They remain unexplained, and the step without them is the last of the chain. */
static void gaps_without_a_cause_remain_unexplained(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        for (int part = 0; part < 3; part++) {
            long since = made.now = part ? made.free_at : made.now;
            made.now += 4;
            host(&made, "aten::index", 200);
            around(&made, "python_function", "torch/nn/functional.py(9): index", since + 2, "");
            made.now += 2;
            around(&made, "python_function", "train.py(7): collate", since, "");
            for (int i = 0; i < 10; i++)
                launch_by(&made, "aten::mm", "", 20, "gemm", 100);
        }
        wait_for_device(&made, "cudaStreamSynchronize");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = finding_of(&verdict, &rule_host_gaps);
    int64_t parts[SUTRA_N_PARTS];
    assert_non_null(finding);
    assert_string_equal(finding->where.frame, "train.py(7): collate"); /* not a function of a library */
    if (!strstr(finding->seen, "in aten::index (7 gaps)"))
        fail_msg("%s", finding->seen);
    verdict_unexplained(&verdict, finding_rule_bit(&rule_host_gaps), parts);
    assert_true((double)parts[SUTRA_PART_HOST] > 0.9 * finding->saving_percent / 100 * (double)verdict.window);
    rank_verdict_free(&verdict);
}

/* ---- Gaps of a function ---- */

/* Gaps without a function have nothing in common. */
static void gaps_of_unknown_functions_are_no_sum(void **state) {
    for (int is_known = 0; is_known < 2; is_known++) {
        struct made_trace made = {0};
        for (int step = 0; step < 6; step++) {
            step_begin(&made);
            made.now = made.free_at > made.now ? made.free_at : made.now;
            if (is_known)
                host(&made, "aten::randn", 2000);
            else
                made.now += 2000;
            for (int i = 0; i < 80; i++)
                launch_by(&made, "aten::mm", "", 20, "gemm", 100);
            step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        assert_int_equal(finding_of(&verdict, &rule_cpu_preprocessing) != NULL, is_known);
        rank_verdict_free(&verdict);
    }
}

/* ---- First calls ---- */

static void launch_ten(struct made_trace *made) {
    for (int i = 0; i < 10; i++)
        launch_by(made, "aten::mm", "", 20, "k", 10);
}

/* With several steps, or a function before the first GPU activity, the time has another cause. */
static void first_calls_are_in_traces_without_several_steps(void **state) {
    for (int n_steps = 0; n_steps < 4; n_steps++) {
        struct made_trace made = {0};
        for (int step = 0; step < (n_steps ? n_steps : 1); step++) {
            step_begin(&made);
            launch_ten(&made);
            if (step == 0) {
                made.now = made.free_at + 100000;
                launch(&made, "triton_mm", 100);
            }
            launch_ten(&made);
            if (n_steps)
                step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        assert_int_equal(finding_of(&verdict, &rule_startup) != NULL, n_steps < 2);
        assert_int_equal(verdict.kind, SUTRA_VERDICT_STEPS);
        rank_verdict_free(&verdict);
    }
}

static void named_work_before_the_first_activity_is_no_first_call(void **state) {
    for (int is_named = 0; is_named < 2; is_named++) {
        struct made_trace made = {0};
        if (is_named)
            host(&made, "preprocess", 300000);
        else
            call(&made, "cudaGetDevice", 5);
        made.now = 300000;
        launch_ten(&made);
        made.now = made.free_at + 100000;
        launch(&made, "triton_mm", 100);
        launch_ten(&made);
        struct rank_verdict verdict = verdict_on_made(&made);
        const struct overview_finding *finding = finding_of(&verdict, &rule_startup);
        assert_non_null(finding);
        assert_non_null(strstr(finding->seen, is_named ? "First calls take 100 ms" : "First calls take 400 ms"));
        assert_int_equal(finding_of(&verdict, &rule_cpu_preprocessing) != NULL, is_named);
        rank_verdict_free(&verdict);
    }
}

/* ---- A kernel that takes much of the window ---- */

static void main_kernel_is_named_with_its_launcher(void **state) {
    static const char *const by[] = {"by aten::mm", "outside of operators", "outside of operators in train.py(7): step",
                                     "by a graph"};
    for (int i = 0; i < 4; i++) {
        struct made_trace made = {0};
        for (int step = 0; step < 3; step++) {
            step_begin(&made);
            long since = made.now;
            made.now += 2;
            if (i == 0)
                launch_by(&made, "aten::mm", "", 20, "main_kernel", 500);
            else
                call(&made, i == 3 ? "cudaGraphLaunch" : "cudaLaunchKernel", 5);
            if (i > 0)
                queue(&made, "kernel", "main_kernel", 500);
            if (i == 2)
                around(&made, "python_function", "train.py(7): step", since, "");
            launch(&made, "k", 100);
            made.now = made.free_at;
            step_end(&made);
        }
        char expected[200];
        struct rank_verdict verdict = verdict_on_made(&made);
        sprintf(expected, "of the time, launched %s.", by[i]);
        assert_non_null(strstr(verdict.main_kernel, "Kernel main_kernel takes 8"));
        if (!strstr(verdict.main_kernel, expected))
            fail_msg("'%s' is not in '%s'", expected, verdict.main_kernel);
        rank_verdict_free(&verdict);
    }
}

/* ---- Without GPU activity ---- */

static void cpu_model_lists_its_operators(void **state) {
    struct made_trace made = {0};
    for (int i = 0; i < 3; i++) {
        long since = made.now;
        made.now += 10;
        long inner = made.now;
        made.now += 600;
        around(&made, "cpu_op", "aten::mkldnn_convolution", inner,
               i < 2 ? "\"Input Dims\":[[8,3,64,64]],\"Input type\":[\"float\"]"
                     : "\"Input Dims\":[[1,3,8,8]],\"Input type\":[\"float\"]");
        around(&made, "cpu_op", "aten::conv2d", since, "");
        host(&made, "aten::relu", 100);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    assert_int_equal(verdict.kind, SUTRA_VERDICT_CPU_MODEL);
    assert_int_equal(verdict.n_cpu_operators, 3);
    assert_string_equal(verdict.cpu_operators[0].name, "aten::mkldnn_convolution");
    assert_string_equal(verdict.cpu_operators[0].shapes, "((8, 3, 64, 64),)");
    assert_int_equal(verdict.cpu_operators[0].self, 1800000);
    assert_int_equal(verdict.cpu_operators[0].n_calls, 3);
    assert_int_equal(verdict.cpu_operators[0].n_threads, 1);
    assert_true(fabs(verdict.cpu_operators[0].percent - 1800 / 2130. * 100) < 0.01);
    assert_string_equal(verdict.cpu_operators[2].name, "aten::conv2d");
    assert_int_equal(verdict.cpu_operators[2].self, 30000);
    assert_string_equal(finding_remedy(&verdict.findings[0])->situation, "cpu_model");
    rank_verdict_free(&verdict);
}

/* The device is worth recording only if the trace uses one. */
static void device_is_advised_if_the_trace_uses_it(void **state) {
    static const char *const situations[] = {"cpu_only", "host_only", "host_only"};
    for (int i = 0; i < 3; i++) {
        struct made_trace made = {0};
        host(&made, "aten::mm", 100);
        if (i == 1)
            call(&made, "cudaGetDevice", 5);
        if (i == 2) {
            made.now += 10;
            around(&made, "cpu_op", "aten::to", made.now - 10,
                   "\"Concrete Inputs\":[\"\",\"cuda:0\"],\"Input Dims\":[[],[]]");
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        assert_int_equal(verdict.kind, SUTRA_VERDICT_CPU_ONLY);
        assert_string_equal(finding_remedy(&verdict.findings[0])->situation, situations[i]);
        rank_verdict_free(&verdict);
    }
}

/* ---- Batch norm in training mode ---- */

/* An addition before each batch norm updates its counter, unless it is the sum of a residual connection. */
static void counter_of_batch_norm_is_an_integer(void **state) {
    static const struct {
        const char *types, *kernel;
        bool trains, has_backward;
    } cases[] = {
        {"\"Input type\":[\"long int\",\"Scalar\"],\"Input Dims\":[[],[]]", "bn", true, false},
        {"\"Input type\":[\"float\",\"float\"],\"Input Dims\":[[8],[8]]", "bn_fw_tr_1C11", false, false},
        {"", "bn_fw_tr_1C11", true, false},
        {"", "bn_fw_inf_1C11", false, false},
        {"\"Input type\":[\"long int\",\"Scalar\"],\"Input Dims\":[[],[]]", "bn_fw_tr_1C11", false, true},
        {"\"Input type\":[\"long int\",\"Scalar\"],\"Input Dims\":[[],[]]", NULL, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_trace made = {0};
        for (int layer = 0; layer < 6; layer++) {
            made.now += 10;
            around(&made, "cpu_op", "aten::add_", made.now - 10, cases[i].types);
            if (cases[i].kernel)
                launch_by(&made, "aten::batch_norm", "", 20, cases[i].kernel, 100);
            else
                host(&made, "aten::batch_norm", 20);
            host(&made, "aten::relu", 5);
        }
        if (cases[i].has_backward)
            host(&made, "ReluBackward0", 5);
        struct rank_verdict verdict = verdict_on_made(&made);
        if ((finding_of(&verdict, &rule_eval_mode_missing) != NULL) != cases[i].trains)
            fail_msg("case %zu", i);
        rank_verdict_free(&verdict);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stalls_are_long_against_their_name),
        cmocka_unit_test(first_launch_of_a_kernel_is_no_stall),
        cmocka_unit_test(second_launching_thread_stalls),
        cmocka_unit_test(stalls_belong_to_one_rule),
        cmocka_unit_test(stalls_at_equal_distances_name_the_garbage_collector),
        cmocka_unit_test(gaps_without_a_cause_remain_unexplained),
        cmocka_unit_test(gaps_of_unknown_functions_are_no_sum),
        cmocka_unit_test(first_calls_are_in_traces_without_several_steps),
        cmocka_unit_test(named_work_before_the_first_activity_is_no_first_call),
        cmocka_unit_test(main_kernel_is_named_with_its_launcher),
        cmocka_unit_test(cpu_model_lists_its_operators),
        cmocka_unit_test(device_is_advised_if_the_trace_uses_it),
        cmocka_unit_test(counter_of_batch_norm_is_an_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
