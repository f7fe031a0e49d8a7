/*
 * test_code.c - tests the code of findings (code.c): by instants of the launching thread, by launches, by forward
 * operators; lines, and functions that are listed.
 */
#include "facts/code_names.h"
#include "made_verdict.h"

/* "FUNCTION:LINE VIA PERCENT, ... of N" for the finding of a rule. */
static const char *code_of(const struct rank_verdict *verdict, const struct finding_rule *rule, char text[1024]) {
    static const char *const vias[] = {"direct", "forward", "capture"};
    const struct overview_finding *finding = finding_of(verdict, rule);
    size_t n = 0;
    if (!finding)
        fail_msg("no finding %s", rule->name);
    for (uint64_t i = 0; i < verdict->n_codes; i++) {
        const struct finding_code *code = &verdict->codes[i];
        struct code_name parts;
        if (code->rule != finding_rule_number(rule))
            continue;
        assert_true(code_name_parse(code->name, &parts));
        n += (size_t)snprintf(text + n, 1024 - n, "%s%s:%u %s %.0f", n ? ", " : "", parts.function, code->line,
                              vias[code->via], code->percent);
    }
    snprintf(text + n, 1024 - n, " of %u", finding ? finding->where.n_code : 0);
    return text;
}

static void check_code(struct made_trace *made, const char *state, const struct finding_rule *rule,
                       const char *expected) {
    char text[1024];
    struct rank_verdict verdict = verdict_on_made(made);
    if (strcmp(code_of(&verdict, rule, text), expected) != 0)
        fail_msg("%s: %s, expected %s", state, text, expected);
    rank_verdict_free(&verdict);
}

static void on_thread(struct made_trace *made, const char *category, const char *name, int thread, long begin, long us,
                      const char *args) {
    event(made, "\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%ld,\"dur\":%ld,\"args\":{%s}", category,
          name, thread, begin, us, args);
}

/* A launch on a thread; its kernel, on a stream, from `begin` on. */
static void launch_on(struct made_trace *made, int thread, long at, const char *kernel, int stream, long begin,
                      long us) {
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", ++made->n_calls);
    on_thread(made, "cuda_runtime", "cudaLaunchKernel", thread, at, 5, args);
    work(made, "kernel", kernel, stream, begin, us);
}

/* ---- Instants ---- */

#define PERIOD_US 300

/* Functions in each of 20 periods. The kernel, of 30 us, is launched 280 us after the start of its period. */
struct instant_case {
    const char *state;
    struct made_frame {
        const char *name;
        long begin, us;   /* after the start of the period */
        const char *call; /* "CallFrom"; NULL */
    } frames[5];
    const char *code;
};

static const struct instant_case instant_cases[] = {
    {"the innermost function",
     {{"train.py(30): step", 0, 299, NULL}, {"model/router.py(12): route", 20, 216, NULL}},
     "route:12 direct 80, step:30 direct 20 of 2"},
    {"a function of torch within",
     {{"train.py(30): step", 0, 299, NULL}, {"torch/nn/modules/module.py(5): f", 20, 216, NULL}},
     "step:30 direct 100 of 1"},
    {"the line of the call",
     {{"train.py(30): step", 0, 299, NULL},
      {"torch/nn/modules/module.py(5): f", 20, 216, "train.py:33"},
      {"threading.py(9): g", 25, 150, "torch/nn/modules/module.py:77"}},
     "step:33 direct 100 of 1"}, /* of most time; not of the inner call */
    {"a call of another form",
     {{"train.py(30): step", 0, 299, NULL}, {"math.py(5): f", 20, 216, "train.py"}},
     "step:30 direct 100 of 1"},
    {"a library without a user",
     {{"vllm/loop.py(30): step", 0, 299, NULL}, {"torch/_ops.py(5): f", 20, 216, "vllm/loop.py:31"}},
     "step:31 direct 100 of 1"},
    {"a library within the user's function",
     {{"train.py(30): step", 0, 299, NULL}, {"vllm/loop.py(5): f", 20, 216, NULL}},
     "step:30 direct 100 of 1"},
    {"the user's function within a library",
     {{"vllm/loop.py(5): f", 0, 299, NULL}, {"plugin.py(30): hook", 20, 216, NULL}},
     "hook:30 direct 80, f:5 direct 20 of 2"},
    {"the innermost library",
     {{"vllm/loop.py(5): f", 0, 299, NULL}, {"numpy/core.py(6): g", 20, 216, NULL}},
     "g:6 direct 80, f:5 direct 20 of 2"},
    {"no function",
     {{"torch/nn/modules/module.py(5): f", 0, 299, NULL}, {"<built-in method x>", 20, 216, NULL}},
     " of 0"},
    {"part of the time without code", {{"model/router.py(12): route", 20, 108, NULL}}, "route:12 direct 40 of 1"},
    {"a small part", {{"model/router.py(12): route", 20, 25, NULL}}, " of 1"},
    {"at most three functions",
     {{"a.py(1): a", 0, 90, NULL},
      {"b.py(2): b", 90, 80, NULL},
      {"d.py(4): d", 170, 70, NULL},
      {"e.py(5): e", 240, 35, NULL}},
     "b:2 direct 30, a:1 direct 26, d:4 direct 26 of 4"},
};

static void idle_time_has_the_code_of_its_instants(void **state) {
    for (size_t i = 0; i < sizeof instant_cases / sizeof *instant_cases; i++) {
        struct made_trace made = {0};
        for (long t = 0; t < 20 * PERIOD_US; t += PERIOD_US) {
            for (const struct made_frame *frame = instant_cases[i].frames; frame->name; frame++) {
                char args[96] = "";
                if (frame->call)
                    snprintf(args, sizeof args, "\"CallFrom\":\"%s\"", frame->call);
                on_thread(&made, "python_function", frame->name, 1, t + frame->begin, frame->us, args);
            }
            launch_on(&made, 1, t + 280, "gemm", 7, t + 290, 30);
        }
        check_code(&made, instant_cases[i].state, &rule_host_bound, instant_cases[i].code);
    }
}

/* Only the thread that launches the activity after the gap counts. */
static void other_threads_have_no_code(void **state) {
    struct made_trace made = {0};
    for (long t = 0; t < 20 * PERIOD_US; t += PERIOD_US) {
        on_thread(&made, "python_function", "log.py(3): write", 2, t, 299, "");
        on_thread(&made, "python_function", "train.py(30): step", 1, t, 299, "");
        launch_on(&made, 1, t + 280, "gemm", 7, t + 290, 30);
    }
    check_code(&made, "a second thread", &rule_host_bound, "step:30 direct 100 of 1");
}

static void many_functions_are_counted(void **state) {
    struct made_trace made = {0};
    for (int i = 0; i < 24; i++) {
        char name[48];
        snprintf(name, sizeof name, "train.py(%d): f%d", 10 + i % 12, i % 12);
        on_thread(&made, "python_function", name, 1, (long)i * PERIOD_US, 299, "");
        launch_on(&made, 1, (long)i * PERIOD_US + 280, "gemm", 7, (long)i * PERIOD_US + 290, 30);
    }
    check_code(&made, "12 functions", &rule_host_bound, " of 12");
}

/* ---- Launches ---- */

/* Operators of the backward pass run on a thread of their own, or below a function of the user. */
static void backward_has_the_code_of_forward(void **state) {
    static const struct {
        const char *state;
        int thread; /* of the backward pass */
        const char *sequence, *forward_sequence, *code;
    } cases[] = {
        {"a thread of autograd", 2, "7", "7", "forward:41 forward 100 of 1"},
        {"below Python functions", 1, "7", "7", "forward:41 forward 100 of 1"},
        {"another number", 2, "7", "8", "forward:41 direct 25 of 1"},
        {"another number, below Python functions", 1, "7", "8", "step:33 direct 75, forward:41 direct 25 of 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_trace made = {0};
        char args[48];
        on_thread(&made, "python_function", "train.py(30): step", 1, 0, 900, "");
        on_thread(&made, "python_function", "model/mlp.py(40): forward", 1, 10, 90, "\"CallFrom\":\"train.py:31\"");
        on_thread(&made, "python_function", "nn.Module: Linear_0", 1, 20, 60, "\"CallFrom\":\"model/mlp.py:41\"");
        snprintf(args, sizeof args, "\"Sequence number\":%s", cases[i].forward_sequence);
        on_thread(&made, "cpu_op", "aten::linear", 1, 30, 40, args);
        launch_on(&made, 1, 40, "gemm", 7, 50, 1000);
        on_thread(&made, "python_function", "<built-in method run_backward>", 1, 100, 700,
                  "\"CallFrom\":\"train.py:33\"");
        snprintf(args, sizeof args, "\"Sequence number\":%s", cases[i].sequence);
        on_thread(&made, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", cases[i].thread, 200, 300,
                  args);
        on_thread(&made, "cpu_op", "aten::mm", cases[i].thread, 210, 40, "");
        launch_on(&made, cases[i].thread, 220, "gemm", 7, 1050, 3000);
        check_code(&made, cases[i].state, &rule_gemm_bound, cases[i].code);
    }
}

/* Communication counts as far as it is exposed. */
static void communication_weighs_exposed_time(void **state) {
    struct made_trace made = {0};
    for (long t = 0; t < 4000; t += 1000) {
        on_thread(&made, "python_function", "a.py(1): overlapped", 1, t, 100, "");
        launch_on(&made, 1, t + 10, "gemm", 7, t + 20, 500);
        launch_on(&made, 1, t + 20, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, t + 30, 450);
        on_thread(&made, "python_function", "b.py(2): exposed", 1, t + 110, 100, "");
        launch_on(&made, 1, t + 120, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, t + 520, 480);
    }
    check_code(&made, "two callers", &rule_exposed_comm, "exposed:2 direct 100 of 1");
}

/* A finding about kernels counts its kernels only. */
static void kernels_have_the_code_of_their_launches(void **state) {
    struct made_trace made = {0};
    for (long t = 0; t < 4000; t += 1000) {
        on_thread(&made, "python_function", "a.py(1): act", 1, t, 100, "");
        launch_on(&made, 1, t + 10, "vectorized_elementwise_kernel", 7, t + 20, 600);
        on_thread(&made, "python_function", "b.py(2): linear", 1, t + 110, 100, "");
        launch_on(&made, 1, t + 120, "gemm", 7, t + 620, 390);
        on_thread(&made, "cuda_runtime", "cudaDeviceSynchronize", 1, t + 220, 770, "\"correlation\":0");
    }
    check_code(&made, "elementwise kernels", &rule_elementwise_fusion, "act:1 direct 100 of 1");
}

/* The CPU waits for each kernel, below functions of torch. */
static void synchronization_without_user_functions_has_no_code(void **state) {
    struct made_trace made = {0};
    for (long t = 0; t < 20 * PERIOD_US; t += PERIOD_US) {
        on_thread(&made, "python_function", "torch/_tensor.py(5): item", 1, t, 299, "");
        on_thread(&made, "cpu_op", "aten::item", 1, t, 299, "");
        launch_on(&made, 1, t + 2, "gemm", 7, t + 10, 30);
        on_thread(&made, "cuda_runtime", "cudaStreamSynchronize", 1, t + 10, 270, "\"correlation\":0");
    }
    check_code(&made, "torch only", &rule_sync, " of 0");
}

/* Without Python functions a finding has no code, and a name longer than the field keeps its end. */
static void long_names_keep_the_file(void **state) {
    struct made_trace made = {0};
    char name[500], text[1024];
    memset(name, 'x', sizeof name);
    for (size_t i = 40; i < 440; i += 40)
        name[i] = '/';
    snprintf(name + 440, sizeof name - 440, "/train.py(30): step");
    for (long t = 0; t < 20 * PERIOD_US; t += PERIOD_US) {
        on_thread(&made, "python_function", name, 1, t, 299, "");
        launch_on(&made, 1, t + 280, "gemm", 7, t + 290, 30);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    assert_string_equal(code_of(&verdict, &rule_host_bound, text), "step:30 direct 100 of 1");
    assert_int_equal(verdict.codes[0].name[0], 'x');
    rank_verdict_free(&verdict);
}

static void traces_without_functions_have_no_code(void **state) {
    struct made_trace made = {0};
    char text[1024];
    for (long t = 0; t < 20 * PERIOD_US; t += PERIOD_US)
        launch_on(&made, 1, t + 280, "gemm", 7, t + 290, 30);
    struct rank_verdict verdict = verdict_on_made(&made);
    assert_string_equal(code_of(&verdict, &rule_host_bound, text), " of 0");
    rank_verdict_free(&verdict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_time_has_the_code_of_its_instants),
        cmocka_unit_test(other_threads_have_no_code),
        cmocka_unit_test(many_functions_are_counted),
        cmocka_unit_test(backward_has_the_code_of_forward),
        cmocka_unit_test(communication_weighs_exposed_time),
        cmocka_unit_test(kernels_have_the_code_of_their_launches),
        cmocka_unit_test(synchronization_without_user_functions_has_no_code),
        cmocka_unit_test(long_names_keep_the_file),
        cmocka_unit_test(traces_without_functions_have_no_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
