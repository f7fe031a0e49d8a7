/*
 * calls.c - cuda/runtime.cu where calls of CUDA fail: each of them in turn, while an engine is opened, runs all steps,
 * and is closed. The CPU takes over, and nothing is left behind.
 */
#include "cuda_compare.h"
#include "late_cuda/late_cuda.h"

#define ROWS 100

struct run {
    struct pool *pool;
    struct match_table big;
    struct results expected;
};

static void expect_results(const struct run *run, struct engine *cuda, uint64_t call) {
    struct results got;
    struct sutra_error error;
    enum sutra_status status = run_all(cuda, &run->big, &got, &error);
    if (!status)
        expect_equal("a call fails", call, ROWS, &got, &run->expected);
    else if (!strstr(error.message, "while its results were copied"))
        fail_msg("call %" PRIu64 ": %s", call, error.message);
    results_free(&got);
}

static unsigned n_failed_frees;

static void on_fallback(void *arg, const char *message) {
    on_warning(arg, message);
    n_failed_frees += strstr(message, "cudaFree: ") != NULL;
}

/* Whether the device was left for the CPU, or not opened at all. */
static bool fails(const struct run *run, uint64_t call) {
    struct said said = {0, 0};
    struct sutra_error error = {0};
    struct engine cuda;
    struct cuda_engine_options options = options_for(true, &said);
    options.warn = on_fallback;
    late_cuda_fail(call);
    enum sutra_status status = cuda_engine_open(run->pool, &options, &cuda, &error);
    if (status) {
        assert_int_equal(status, SUTRA_UNAVAILABLE);
        assert_non_null(strstr(error.message, "CUDA device 0: "));
        assert_true(late_cuda_is_empty());
        return true;
    }
    cuda_engine_time(&cuda);
    expect_results(run, &cuda, call);
    cuda_engine_close(&cuda);
    assert_true(late_cuda_is_empty());
    assert_in_range(said.warnings, 0, 1);
    return said.warnings > 0;
}

static void after_any_failed_cuda_call_the_cpu_is_used_without_leaks(void **state) {
    struct run run = {.pool = pool_create(2)};
    struct sutra_error error;
    struct engine cpu = engine_cpu(run.pool);
    uint64_t n_failed = 0;
    make(&shapes[0], 1, ROWS, &run.big);
    assert_int_equal(run_all(&cpu, &run.big, &run.expected, &error), SUTRA_OK);
    assert_false(fails(&run, 0));
    uint64_t n_calls = late_cuda_fail(0);
    for (uint64_t call = 1; call <= n_calls; call++)
        n_failed += fails(&run, call);
    print_message("%" PRIu64 " of %" PRIu64 " calls are missed\n", n_failed, n_calls);
    assert_in_range(n_failed, n_calls * 9 / 10, n_calls);
    assert_in_range(n_failed_frees, 1, n_calls);
    results_free(&run.expected);
    match_table_free(&run.big);
    pool_free(run.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_any_failed_cuda_call_the_cpu_is_used_without_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
