/*
 * fault_memory_overview.c - fails every allocation in turn while an overview and its findings are computed.
 *
 * Each run must return SUTRA_SYSTEM and no result, or all findings. The sanitizers detect leaks.
 */
#include "analyze/overview/verdict.h"
#include "made_steps.h"
#include "overview_trace.h"
#include "refuse.h"

#define SHAPES "\"Input Dims\":[[4,1024,64],[4,64,1024]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]"

/* Data are loaded, attention is in pieces, communication is not hidden, a copy waits. */
static char *make_text(void) {
    struct made_trace made = {.head = H100};
    for (int step = 0; step < 2; step++) {
        step_begin(&made);
        host(&made, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 300);
        launch_by(&made, "aten::bmm", SHAPES, 10, "bmm", 200);
        launch_by(&made, "aten::_softmax", "", 10, "softmax", 300);
        call(&made, "cudaLaunchKernel", CALL_US);
        queue(&made, "kernel", "ncclDevKernel_AllReduce", 300);
        call(&made, "cudaMemcpyAsync", CALL_US);
        queue(&made, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 200);
        wait_for_device(&made, "cudaStreamSynchronize");
        host(&made, "python", 200);
        step_end(&made);
    }
    return made_text(&made);
}

struct fault_run {
    char *text;
    unsigned n_findings;
};

static enum sutra_status find_all(struct sutra_context *context, const struct sutra_device_trace *trace,
                                  struct fault_run *run, struct sutra_error *error) {
    struct arena arena = {0}, scratch = {0};
    struct launch_model reading;
    struct overview overview;
    struct overview_steps steps;
    struct rank_verdict verdict = {.n_findings = 0};
    struct rank_collectives ranks[2] = {{.rank = 0}, {.rank = 1}}, *list[] = {&ranks[0], &ranks[1]};
    struct job_findings found;
    enum sutra_status status = launch_model_build(context, trace, 0, &arena, &scratch, &reading, error);
    if (!status)
        status = overview_make(context, &reading, &arena, &scratch, &overview, error);
    for (int i = 0; i < 2 && !status; i++)
        status = rank_collectives_read(context, &overview, i, &ranks[i], error);
    if (!status)
        status = overview_steps_make(&overview, NULL, &arena, &scratch, &steps, error);
    if (!status)
        status = find_findings(context, &reading, &overview, &steps, &ranks[0].calls, true, &arena, &scratch, &verdict,
                               error);
    if (!status)
        status = find_job_straggler(list, 2, &scratch, &found, NULL, error);
    run->n_findings = verdict.n_findings;
    rank_verdict_free(&verdict);
    for (int i = 0; i < 2; i++)
        collective_calls_free(&ranks[i].calls);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

static enum sutra_status run_once(void *arg, struct sutra_error *error) {
    struct fault_run *run = arg;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *trace = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_device_trace_parse(context, "trace", run->text, strlen(run->text), &trace, error);
    if (!status)
        status = find_all(context, trace, run, error);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return status;
}

static void check(void *arg, long n, enum sutra_status status) {
    const struct fault_run *run = arg;
    if (status == SUTRA_OK && run->n_findings != 5)
        fail_msg("allocation %ld: %u findings", n, run->n_findings);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    struct fault_run run = {.text = make_text()};
    const struct refusable refusable = {&run, run_once, check};
    struct sutra_error error;
    assert_int_equal(run_once(&run, &error), SUTRA_OK);
    assert_int_equal(run.n_findings, 5);
    assert_true(refuse_each(&refusable, false) > 50);
    free(run.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
