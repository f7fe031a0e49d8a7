/*
 * fault_memory_operators.c - fails every allocation in turn while operators and kernels of a trace are analyzed:
 * default rules, TraceLens' rules, a selection of events, and a capture trace of a graph.
 *
 * Each run must return SUTRA_SYSTEM and no result, or all tables. The sanitizers detect leaks.
 */
#include <unistd.h>

#include "hta_table.h"
#include "refuse.h"

#define NUMBERED(name, tid, ts, dur)                                                                                   \
    EVENT("cpu_op", name, 1, tid, ts, dur,                                                                             \
          "\"Sequence number\":7,\"Input Dims\":[[2,3],[]],\"Input type\":[\"float\",\"\"]")
#define ARROW(phase, pid, tid, ts)                                                                                     \
    "{\"ph\":\"" phase "\",\"id\":4,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts  \
    "}"

static const char text[] = TRACE(
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"python\"}}," STEP(1, 0, 100) "," EVENT("python_function", "nn.Module: Linear_0", 1, 1, 1, 90, "") "," NUMBERED(
        "aten::addmm", 1, 5,
        50) "," LAUNCH(10, 5,
                       1) "," CALL("cudaGraphLaunch", 70, 5,
                                   2) "," NUMBERED("autograd::engine::evaluate_function: AddmmBackward0", 2, 200,
                                                   50) "," EVENT("cuda_runtime", "cudaLaunchKernel", 1, 2, 210, 5,
                                                                 "\"correlation\":3") "," KERNEL("gemm<a>", 7, 20, 10,
                                                                                                 1) "," KERNEL("ncclDevKernel",
                                                                                                               8, 80,
                                                                                                               10,
                                                                                                               2) "," KERNEL("gemm<b>",
                                                                                                                             7,
                                                                                                                             220,
                                                                                                                             10,
                                                                                                                             3) "," COPY("Memcpy HtoD",
                                                                                                                                         7,
                                                                                                                                         240,
                                                                                                                                         5,
                                                                                                                                         9,
                                                                                                                                         2.5) "," ARROW("s",
                                                                                                                                                        1,
                                                                                                                                                        1,
                                                                                                                                                        10) "," ARROW("f",
                                                                                                                                                                      0,
                                                                                                                                                                      7,
                                                                                                                                                                      20));

#define OF(part, ...)                                                                                                  \
    { {.size = sizeof(struct sutra_operators_options), __VA_ARGS__}, part, false }

static const struct sutra_restriction a_part = {.size = sizeof a_part, .step = "1", .category = "GEMM"};

/* The capture of the graph: its kernel has the name of the communication kernel above, in an operator with inputs. */
static const char capture_text[] = TRACE(
    EVENT("user_annotation", "capture_8_decode", 1, 1, 1, 98, "") "," CALL("cudaStreamBeginCapture", 2, 2, 1) "," EVENT(
        "python_function", "nn.Module: Captured_0", 1, 1, 5, 80,
        "") "," NUMBERED("captured::op", 1, 10,
                         50) "," EVENT("cuda_runtime", "hipLaunchKernel", 1, 1, 20, 5,
                                       "\"kernel\":\"ncclDevKernel\",\"graph node id\":3") "," CALL("cudaStreamEndCapture",
                                                                                                    90, 2, 2));
static char capture_path[] = "/tmp/fault_memory_operators.XXXXXX";
static const char *const captures[] = {capture_path, capture_path};

static const struct variant {
    struct sutra_operators_options options;
    const struct sutra_restriction *part;
    bool tracelens;
} variants[] = {OF(NULL, .rank = 0),
                OF(NULL, .kernels = true),
                {.tracelens = true},
                OF(&a_part, .rank = 0),
                OF(NULL, .captures = captures, .n_captures = 2)};

struct run {
    const struct variant *variant;
    unsigned n_tables;
};

static enum sutra_status run_once(void *arg, struct sutra_error *error) {
    struct run *run = arg;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *trace = NULL;
    struct sutra_operators *operators = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_device_trace_parse(context, "trace", text, strlen(text), &trace, error);
    if (!status)
        status = sutra_device_trace_restrict(context, trace, run->variant->part, error);
    if (!status)
        status = run->variant->tracelens
                     ? sutra_tracelens_run(context, trace, 0, &operators, error)
                     : sutra_operators_run(context, trace, &run->variant->options, &operators, error);
    run->n_tables = 0;
    const int n = run->variant->tracelens ? SUTRA_TRACELENS_N_TABLES : SUTRA_OPERATORS_N_TABLES;
    for (int id = 0; id < n && !status; id++)
        run->n_tables += sutra_result_table(SUTRA_RESULT(operators), (uint32_t)id, NULL) != NULL;
    sutra_operators_free(operators);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return status;
}

static void check(void *arg, long n, enum sutra_status status) {
    const struct run *run = arg;
    if (status == SUTRA_OK && run->n_tables < 3)
        fail_msg("allocation %ld: %u tables", n, run->n_tables);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    int file = mkstemp(capture_path);
    assert_int_equal(write(file, capture_text, strlen(capture_text)), strlen(capture_text));
    close(file);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct run run = {.variant = &variants[i]};
        const struct refusable refusable = {&run, run_once, check};
        struct sutra_error error;
        assert_int_equal(run_once(&run, &error), SUTRA_OK);
        assert_true(refuse_each(&refusable, false) > 50);
        assert_true(refuse_each(&refusable, true) > 50);
    }
    unlink(capture_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
