/*
 * test_communication.c - tests the rules on collectives of one rank: the phase and the streams of exposed communication,
 * bandwidths, remedies by framework, and waiting by equal sizes.
 */
#include <math.h>

#include "made_verdict.h"

/* Ten operators that keep the GPU busy. */
static void compute(struct made_trace *made) {
    for (int i = 0; i < 10; i++)
        launch_by(made, "aten::mm", "", 20, "gemm", 100);
}

/* A collective kernel with these args at the end of the queue. */
static void collective(struct made_trace *made, const char *kernel, long us, const char *args) {
    call(made, "cudaLaunchKernel", CALL_US);
    made->free_at = made->free_at > made->now + DELAY_US ? made->free_at : made->now + DELAY_US;
    event(
        made,
        "\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%ld,\"dur\":%ld,\"args\":{\"correlation\":%d%s}",
        kernel, made->free_at, us, made->n_calls, args);
    made->free_at += us;
}

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f16_RING_LL"

/* The args of a recorded collective. */
static const char *recorded(const char *name, int n_elements) {
    static char args[256];
    snprintf(args, sizeof args,
             ",\"Collective name\":\"%s\",\"In msg nelems\":%d,\"Out msg nelems\":%d,\"dtype\":\"BFloat16\","
             "\"Group size\":8",
             name, n_elements, n_elements);
    return args;
}

/* ---- Phase ---- */

/* The ancestors of a collective's call decide about its phase. */
static void ancestors_decide_the_phase_of_collectives(void **state) {
    static const struct {
        const char *ancestor, *situation;
    } cases[] = {{"MmBackward0", "ddp"}, {"autograd::engine::evaluate_function", "ddp"}, {"aten::linear", "tp"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_trace made = {0};
        for (int step = 0; step < 3; step++) {
            step_begin(&made);
            compute(&made);
            const long since = made.now;
            collective(&made, ALL_REDUCE, 900, recorded("allreduce", 1000));
            made.now++;
            around(&made, "cpu_op", "c10d::allreduce_", since, "");
            made.now++;
            around(&made, "cpu_op", cases[i].ancestor, since, "");
            host(&made, "AddBackward0", 5); /* the step has a backward pass */
            wait_for_device(&made, "cudaDeviceSynchronize");
            step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        const struct overview_finding *finding = finding_of(&verdict, &rule_exposed_comm);
        assert_non_null(finding);
        assert_string_equal(finding_remedy(finding)->situation, cases[i].situation);
        rank_verdict_free(&verdict);
    }
}

/* ---- Bandwidth ---- */

static struct rank_verdict with_collectives(const char *name, long us, int n_elements) {
    struct made_trace made = {.head = H100};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        compute(&made);
        collective(&made, "ncclDevKernel", us, recorded(name, n_elements));
        wait_for_device(&made, "cudaDeviceSynchronize");
        step_end(&made);
    }
    return verdict_on_made(&made);
}

/* A ring's bandwidth is defined for collectives that run in rings. */
static void only_rings_underuse_links(void **state) {
    static const struct {
        const char *name;
        bool is_ring;
    } cases[] = {{"allreduce", true},
                 {"_allgather_base", true},
                 {"_reduce_scatter_base", true},
                 {"broadcast", false},
                 {"all_to_all", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_verdict verdict = with_collectives(cases[i].name, 9000, 25000000);
        assert_non_null(finding_of(&verdict, &rule_exposed_comm));
        assert_int_equal(finding_of(&verdict, &rule_slow_collective) != NULL, cases[i].is_ring);
        rank_verdict_free(&verdict);
    }
}

static void bandwidth_of_the_largest_collectives_is_judged(void **state) {
    static const struct {
        long us;
        int n_elements;
        const char *words; /* NULL: no bandwidth */
    } cases[] = {
        {300, 25000000, "The largest collectives (50.0 MB) reach 291.7 of 450 GB/s (65%): the network is fine."},
        {600, 25000000, "The largest collectives (50.0 MB) reach 145.8 of 450 GB/s (32%)."},
        {300, 1000, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_verdict verdict = with_collectives("allreduce", cases[i].us, cases[i].n_elements);
        const struct overview_finding *finding = finding_of(&verdict, &rule_exposed_comm);
        assert_non_null(finding);
        if (!cases[i].words)
            assert_null(strstr(finding->seen, "GB/s"));
        else if (!strstr(finding->seen, cases[i].words))
            fail_msg("%s", finding->seen);
        rank_verdict_free(&verdict);
    }
}

/* ---- Streams ---- */

static void kernel_on(struct made_trace *made, const char *name, int stream, long us, int priority) {
    call(made, "cudaLaunchKernel", CALL_US);
    long begin = made->free_at > made->now + DELAY_US ? made->free_at : made->now + DELAY_US;
    event(made,
          "\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%ld,\"dur\":%ld,\"args\":{\"stream\":%d,"
          "\"correlation\":%d,\"priority\":%d}",
          name, stream, begin, us, stream, made->n_calls, priority);
    made->free_at = begin + us;
}

/* The priorities are those of the longest kernels, not of the last ones. */
static void longest_kernels_decide_the_priorities(void **state) {
    static const struct {
        int communication[2], computation[2]; /* of the long kernel, and of the short one that follows */
        const char *words;                    /* NULL: communication has the higher priority */
    } cases[] = {
        {{0, -5}, {-1, 3}, "Its stream has priority 0, no higher than that of computation (-1)"},
        {{-5, 0}, {0, -6}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_trace made = {0};
        for (int step = 0; step < 3; step++) {
            step_begin(&made);
            kernel_on(&made, "gemm", 7, 1000, cases[i].computation[0]);
            kernel_on(&made, ALL_REDUCE, 20, 800, cases[i].communication[0]);
            kernel_on(&made, "gemm", 8, 100, cases[i].computation[1]);
            kernel_on(&made, ALL_REDUCE, 21, 100, cases[i].communication[1]);
            wait_for_device(&made, "cudaDeviceSynchronize");
            step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        const struct overview_finding *finding = finding_of(&verdict, &rule_exposed_comm);
        assert_non_null(finding);
        if (cases[i].words)
            assert_non_null(strstr(finding->seen, cases[i].words));
        else
            assert_null(strstr(finding->seen, "priority"));
        rank_verdict_free(&verdict);
    }
}

/* ---- Frameworks ---- */

static void remedies_name_the_framework_of_the_trace(void **state) {
    static const struct {
        const char *op;
        int n_elements; /* of 2 bytes; 0: not recorded */
        const char *situation, *words, *absent;
    } cases[] = {
        {"vllm::unified_attention", 1000, "vllm", "--tensor-parallel-size", "--tp)"},
        {"vllm::unified_attention", 1000, "vllm", "vLLM's custom all-reduce", "--tp)"},
        {"vllm::unified_attention", 4194304, "vllm", "--tensor-parallel-size", "custom all-reduce"},
        {"sglang::attention", 1000, "sglang", "(--tp)", "tensor-parallel-size"},
        {"sglang::attention", 0, "sglang", "(--tp)", "custom all-reduce"},
        {"LinearWithGradAccumulationAndAsyncCommunication", 1000, "megatron", "--tp-comm-overlap", "custom"},
        {"aten::linear", 1000, "inference", "custom all-reduce", "--t"},
        {"aten::linear", 4194304, "inference", "smaller tensor-parallel group", "custom all-reduce"},
        {"aten::linear", 4194303, "inference", "custom all-reduce", "--t"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_trace made = {0};
        for (int step = 0; step < 3; step++) {
            step_begin(&made);
            host(&made, cases[i].op, 5);
            compute(&made);
            collective(&made, ALL_REDUCE, 900, cases[i].n_elements ? recorded("allreduce", cases[i].n_elements) : "");
            wait_for_device(&made, "cudaDeviceSynchronize");
            step_end(&made);
        }
        struct rank_verdict verdict = verdict_on_made(&made);
        const struct overview_finding *finding = finding_of(&verdict, &rule_exposed_comm);
        char text[2000];
        assert_non_null(finding);
        finding_text(finding, text, sizeof text);
        if (strcmp(finding_remedy(finding)->situation, cases[i].situation) != 0 || !strstr(text, cases[i].words) ||
            strstr(text, cases[i].absent))
            fail_msg("case %zu: %s: %s", i, finding_remedy(finding)->situation, text);
        rank_verdict_free(&verdict);
    }
}

/* ---- Waiting ---- */

/* `n` kernels without recorded arguments, launched below an operator with these args; every second one is longer. */
static struct rank_verdict with_unrecorded(const char *op, const char *op_args, const char *kernel_args, int n,
                                           long shortest_us, long longest_us) {
    struct made_trace made = {0};
    step_begin(&made);
    for (int i = 0; i < n; i++) {
        compute(&made);
        const long since = made.now;
        collective(&made, ALL_REDUCE, i % 2 ? longest_us : shortest_us, kernel_args);
        made.now++;
        around(&made, "cpu_op", "nccl:all_reduce", since, ""); /* the launcher, without shapes */
        made.now++;
        around(&made, "cpu_op", op, since, op_args);
        wait_for_device(&made, "cudaDeviceSynchronize");
    }
    step_end(&made);
    return verdict_on_made(&made);
}

#define DIMS(dims) "\"Input Dims\":[[" dims "],[]],\"Input type\":[\"c10::Half\",\"\"]"

static void record_param_comms_has_the_size(void **state) {
    static const struct {
        const char *op, *args;
        long longest_us;
        bool fires;
    } cases[] = {
        {"record_param_comms", DIMS("64"), 3000, true},
        {"record_param_comms", DIMS("64"), 2000, false}, /* not more than twice */
        {"record_param_comms", DIMS("64"), 2001, true},
        {"record_param_comms", "", 3000, false},    /* no size */
        {"aten::wrapper", DIMS("64"), 3000, false}, /* sizes of another operator */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_verdict verdict = with_unrecorded(cases[i].op, cases[i].args, "", 4, 1000, cases[i].longest_us);
        const struct overview_finding *finding = finding_of(&verdict, &rule_straggler);
        assert_non_null(finding_of(&verdict, &rule_exposed_comm));
        assert_int_equal(finding != NULL, cases[i].fires);
        if (finding)
            assert_true(number_of(finding, "wait_us") == 2 * (double)(cases[i].longest_us - 1000));
        rank_verdict_free(&verdict);
    }
}

#define GRID ",\"grid\":[24,1,1]"

/* Equal kernels of one operator have probably equal sizes: the text reports waiting, but no saving depends on it. */
static void equal_kernels_of_unknown_size_wait_probably(void **state) {
    static const struct {
        const char *kernel_args;
        int n;
        long longest_us;
        bool waits;
    } cases[] = {
        {GRID, 8, 5000, true},
        {GRID, 6, 5000, false}, /* too few */
        {GRID, 8, 2900, false}, /* less than half of the exposed time */
        {"", 8, 5000, false},   /* no grid */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_verdict verdict =
            with_unrecorded("record_param_comms", "", cases[i].kernel_args, cases[i].n, 1000, cases[i].longest_us);
        const struct overview_finding *finding = finding_of(&verdict, &rule_exposed_comm);
        assert_non_null(finding);
        assert_null(finding_of(&verdict, &rule_straggler));
        assert_int_equal(strstr(finding->seen, "66.7% of the exposed time is waiting for other ranks, if equal kernels "
                                               "send equal sizes: run `sutra analyze DIR`") != NULL,
                         cases[i].waits);
        assert_true(!cases[i].waits || number_of(finding, "wait_us") == 16000);
        rank_verdict_free(&verdict);
    }
}

/* Sizes differ: few of the kernels take about as long as the shortest. */
static void kernels_of_different_duration_have_different_sizes(void **state) {
    struct made_trace made = {0};
    step_begin(&made);
    for (int i = 0; i < 20; i++) {
        const long since = made.now;
        collective(&made, ALL_REDUCE, 100 * (i + 1), GRID);
        made.now++;
        around(&made, "cpu_op", "c10d::allreduce_", since, "");
        wait_for_device(&made, "cudaDeviceSynchronize");
    }
    step_end(&made);
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = finding_of(&verdict, &rule_exposed_comm);
    assert_non_null(finding);
    assert_null(strstr(finding->seen, "waiting"));
    rank_verdict_free(&verdict);
}

/* Two collectives on different streams wait from 0 to 600 us and from 300 to 900 us: each moment counts once, and the
 * second wait, of 600 us, ends with its collective.
 *
 *     |== waits ==|------|
 *           |=====|== waits ==|---|
 */
static void overlapping_waits_count_once(void **state) {
    struct made_trace made = {0};
    step_begin(&made);
    for (int i = 0; i < 3; i++) {
        compute(&made);
        const long begin = made.free_at > made.now + 100 ? made.free_at : made.now + 100;
        for (int stream = 0; stream < 2; stream++) {
            call(&made, "cudaLaunchKernel", CALL_US);
            event(&made,
                  "\"cat\":\"kernel\",\"name\":\"" ALL_REDUCE "\",\"pid\":0,\"tid\":%d,\"ts\":%ld,\"dur\":%d,"
                  "\"args\":{\"stream\":%d,\"correlation\":%d%s}",
                  20 + stream, begin + stream * (i == 1 ? 300 : 0), i == 1 ? 900 : 300, 20 + stream, made.n_calls,
                  recorded("allreduce", 1000));
        }
        made.free_at = begin + 1200;
        wait_for_device(&made, "cudaDeviceSynchronize");
    }
    step_end(&made);
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = finding_of(&verdict, &rule_straggler);
    assert_non_null(finding);
    assert_true(number_of(finding, "collectives") == 2);
    assert_true(number_of(finding, "wait_us") == 1200);
    rank_verdict_free(&verdict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ancestors_decide_the_phase_of_collectives),
        cmocka_unit_test(only_rings_underuse_links),
        cmocka_unit_test(bandwidth_of_the_largest_collectives_is_judged),
        cmocka_unit_test(longest_kernels_decide_the_priorities),
        cmocka_unit_test(remedies_name_the_framework_of_the_trace),
        cmocka_unit_test(record_param_comms_has_the_size),
        cmocka_unit_test(equal_kernels_of_unknown_size_wait_probably),
        cmocka_unit_test(kernels_of_different_duration_have_different_sizes),
        cmocka_unit_test(overlapping_waits_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
