/*
 * fault_memory_diff.c - fails every allocation in turn while two traces are compared, also as HTA does.
 *
 * Each run must return SUTRA_SYSTEM and no result, or all tables. The sanitizers detect leaks.
 */
#include "hta_table.h"
#include "refuse.h"
#include "trace_folder.h"

/* An operator with arguments, a kernel without a launch, and operators that the other trace wraps and replaces. */
static const char a[] = TRACE(
    STEP(1, 0, 100) "," EVENT("cpu_op", "aten::mm", 1, 1, 1, 50, "\"Input Dims\":[[2,3]],\"Input type\":[\"float\"]") "," LAUNCH(
        10, 5, 1) "," KERNEL("gemm<a>", 7, 20, 10,
                             1) "," OP("gone", 60, 20) "," LAUNCH(65, 5, 2) "," KERNEL("rand", 7, 70, 10,
                                                                                       2) "," KERNEL("lost", 7, 80, 5,
                                                                                                     9));
static const char b[] = TRACE(STEP(1, 0, 100) "," OP("wrap", 1, 55) "," EVENT(
    "cpu_op", "aten::mm", 1, 1, 2, 50,
    "\"Input Dims\":[[2,4]],\"Input type\":[\"float\"]") "," LAUNCH(10, 5, 1) "," KERNEL("gemm<b>", 7, 20, 10,
                                                                                         1) "," STEP(2, 200, 50));

static const struct sutra_rename rename_gemm = {"gemm<a>", "gemm"};

static const struct sutra_diff_options diff_options = {
    .size = sizeof diff_options, .renames = &rename_gemm, .n_renames = 1};

struct run {
    bool as_hta;
    const struct folder *files; /* or NULL */
    unsigned n_tables;
};

static unsigned count_tables(const struct sutra_result *result) {
    unsigned n = 0;
    for (uint32_t id = 0; result && id < sutra_result_n_tables(result); id++)
        n += sutra_result_table(result, id, NULL) != NULL;
    return n;
}

static enum sutra_status run_once(void *arg, struct sutra_error *error) {
    static const char *const texts[2] = {a, b};
    struct run *run = arg;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *traces[2] = {NULL, NULL};
    struct sutra_diff *diff = NULL;
    struct sutra_hta_compare *hta = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    for (int side = 0; side < 2 && !status; side++)
        status = sutra_device_trace_parse(context, "trace", texts[side], strlen(texts[side]), &traces[side], error);
    if (!status)
        status = run->as_hta ? sutra_hta_compare_run_of(context, traces[0], traces[1], NULL, &hta, error)
                             : sutra_diff_run_of(context, traces[0], traces[1], &diff_options, &diff, error);
    run->n_tables = count_tables(run->as_hta ? SUTRA_RESULT(hta) : SUTRA_RESULT(diff));
    sutra_diff_free(diff);
    sutra_hta_compare_free(hta);
    for (int side = 0; side < 2; side++)
        sutra_device_trace_free(traces[side]);
    sutra_context_free(context);
    return status;
}

/* Both sides at once, each with a thread. */
static enum sutra_status run_files(void *arg, struct sutra_error *error) {
    struct run *run = arg;
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 2};
    const char *const *list = run->files->list;
    struct sutra_context *context = NULL;
    struct sutra_diff *diff = NULL;
    struct sutra_hta_compare *hta = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run->as_hta ? sutra_hta_compare_run(context, list, 1, list + 1, 1, NULL, &hta, error)
                             : sutra_diff_run(context, list, 1, list + 1, 1, &diff_options, &diff, error);
    run->n_tables = count_tables(run->as_hta ? SUTRA_RESULT(hta) : SUTRA_RESULT(diff));
    sutra_diff_free(diff);
    sutra_hta_compare_free(hta);
    sutra_context_free(context);
    return status;
}

static void check(void *arg, long n, enum sutra_status status) {
    const struct run *run = arg;
    if (status == SUTRA_OK && run->n_tables < 5)
        fail_msg("allocation %ld: %u tables", n, run->n_tables);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (int as_hta = 0; as_hta < 2; as_hta++) {
        struct run run = {.as_hta = as_hta};
        const struct refusable refusable = {&run, run_once, check};
        struct sutra_error error;
        assert_int_equal(run_once(&run, &error), SUTRA_OK);
        assert_true(refuse_each(&refusable, false) > 50);
        assert_true(refuse_each(&refusable, true) > 50);
    }
}

static void any_allocation_may_fail_on_either_thread(void **state) {
    struct folder folder = make_folder();
    struct run run = {.files = &folder};
    (void)state;
    add_file(&folder, "a.json", a);
    add_file(&folder, "b.json", b);
    list_files(&folder);
    for (int as_hta = 0; as_hta < 2; as_hta++) {
        run.as_hta = as_hta;
        assert_true(refuse_each(&(struct refusable){&run, run_files, check}, false) > 50);
    }
    remove_folder(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail),
                                       cmocka_unit_test(any_allocation_may_fail_on_either_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
