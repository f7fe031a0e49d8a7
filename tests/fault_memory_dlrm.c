/*
 * fault_memory_dlrm.c - fails every allocation in turn while `analyze dlrm` analyzes one trace and writes a directory
 * of results, and while two ranks are analyzed: the files of the first rank and of all ranks go to one directory.
 *
 * Each run must return SUTRA_SYSTEM, or write all files. Written files are complete; the directory contains no other
 * files.
 */
#include "dlrm_table.h"
#include "fault_folder.h"
#include "trace_folder.h"

#define EVENTS                                                                                                         \
    LABEL("## Forward ##", 0, 90)                                                                                      \
    "," OP_OF("aten::a", 10, 30, 1, "[[2,3],[]]") "," LAUNCH(11, 1, 70) "," LAUNCH(13, 1, 71) "," KERNEL(              \
        "void at::reduce_kernel<1>", 7, 12, 4,                                                                         \
        70) "," KERNEL("l", 8, 14, 5, 71) "," OP("aten::b#c", 50, 9,                                                   \
                                                 2) "," LAUNCH(51, 1, 72) "," KERNEL("k", 7, 53, 6,                    \
                                                                                     72) "," OP_ON(2, "x", 20, 5, 3)

static const struct run {
    const char *text;
    struct sutra_dlrm_options options;
} runs[] = {
    {TRACE(EVENTS "," END), {.trim = SUTRA_TRIM_NONE}},
    {TRACE(EVENTS "," LABEL("## Forward ##", 200, 9)), {.iters = 1, .compat = true, .module_marker = "## "}},
    {TRACE(EVENTS "," EVENT("cuda_runtime", "cudaFree", 1, 60, 1, "\"external id\":\"a\"") "," END),
     {.trim = SUTRA_TRIM_TIME, .from = 0, .to = 100000, .compat = true}},
};

static enum sutra_status run_once(const void *of, const char *folder, struct sutra_error *error) {
    const struct run *run = of;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *trace = NULL;
    struct sutra_dlrm *dlrm = NULL;
    struct sutra_dlrm_options how = run->options;
    how.size = sizeof how;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_device_trace_parse(context, "trace", run->text, strlen(run->text), &trace, error);
    if (!status)
        status = sutra_dlrm_analyze(context, trace, &how, &dlrm, error);
    if (!status)
        status = sutra_dlrm_write(context, dlrm, folder, "m", NULL, error);
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return status;
}

/* ---- Ranks ---- */

static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                 const struct sutra_dlrm_rank *rank, struct sutra_error *error) {
    return rank->rank == 0 ? sutra_dlrm_write(context, dlrm, arg, "m", NULL, error) : SUTRA_OK;
}

static enum sutra_status run_ranks(const void *of, const char *folder, struct sutra_error *error) {
    const struct folder *traces = of;
    char path[64];
    snprintf(path, sizeof path, "%s", folder);
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_dlrm_options of_each = runs[0].options;
    of_each.size = sizeof of_each;
    struct sutra_dlrm_ranks_options how = {.size = sizeof how, .dlrm = &of_each, .visit = on_rank, .arg = path};
    struct sutra_context *context = NULL;
    struct sutra_dlrm_ranks *ranks = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_dlrm_ranks_run(context, traces->list, traces->n, &how, &ranks, error);
    if (!status)
        status = sutra_dlrm_ranks_write(context, ranks, folder, NULL, NULL, error);
    sutra_dlrm_ranks_free(ranks);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail_with_several_ranks(void **state) {
    (void)state;
    struct folder traces = make_folder();
    add_file(&traces, "rank0.json", runs[0].text);
    add_file(&traces, "rank1.json", runs[1].text);
    list_files(&traces);
    assert_true(folder_refuse_each(&(struct fault_folder){.of = &traces, .work = run_ranks}, 400) >= 17);
    remove_folder(&traces);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        assert_true(folder_refuse_each(&(struct fault_folder){.of = &runs[i], .work = run_once}, 200) >= 14);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail),
                                       cmocka_unit_test(any_allocation_may_fail_with_several_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
