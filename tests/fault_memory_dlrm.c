/*
 * fault_memory_dlrm.c - runs out of memory at every allocation, one after the other, while traces are analyzed and the
 * results are written to a folder.
 *
 * Each such run must end with SUTRA_SYSTEM, or with all files; files that are there are whole, and nothing else is
 * there.
 */
#include <dirent.h>
#include <unistd.h>

#include "dlrm_table.h"
#include "refuse.h"

#define EVENTS                                                                                                         \
    LABEL("## Forward ##", 0, 90)                                                                                      \
    "," OP_OF("aten::a", 10, 30, 1, "[[2,3],[]]") "," LAUNCH(11, 1, 70) "," LAUNCH(13, 1, 71) "," KERNEL(              \
        "void at::reduce_kernel<1>", 7, 12, 4,                                                                         \
        70) "," KERNEL("l", 8, 14, 5, 71) "," OP("aten::b#c", 50, 9,                                                   \
                                                 2) "," LAUNCH(51, 1, 72) "," KERNEL("k", 7, 53, 6,                    \
                                                                                     72) "," OP_ON(2, "x", 20, 5, 3)

static const struct {
    const char *text;
    struct sutra_dlrm_options options;
} runs[] = {
    {TRACE(EVENTS "," END), {.trim = SUTRA_TRIM_NONE}},
    {TRACE(EVENTS "," LABEL("## Forward ##", 200, 9)), {.iters = 1, .compat = true, .module_marker = "## "}},
    {TRACE(EVENTS "," EVENT("cuda_runtime", "cudaFree", 1, 60, 1, "\"external id\":\"a\"") "," END),
     {.trim = SUTRA_TRIM_TIME, .from = 0, .to = 100000, .compat = true}},
};

static enum sutra_status run_once(size_t i, const char *folder, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *trace = NULL;
    struct sutra_dlrm *dlrm = NULL;
    struct sutra_dlrm_options how = runs[i].options;
    how.size = sizeof how;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_device_trace_parse(context, "trace", runs[i].text, strlen(runs[i].text), &trace, error);
    if (!status)
        status = sutra_dlrm_analyze(context, trace, &how, &dlrm, error);
    if (!status)
        status = sutra_dlrm_write(context, dlrm, folder, "m", NULL, error);
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return status;
}

static long file_size(const char *folder, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long n = ftell(file);
    fclose(file);
    return n;
}

/* Removes what a run left: files of their whole size only. Returns how many there were. */
static int sweep(const char *folder, const char *whole) {
    char path[600], of_whole[600];
    int n = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' && strspn(entry->d_name, ".") == strlen(entry->d_name))
            continue;
        assert_int_equal(file_size(folder, entry->d_name, path, sizeof path),
                         file_size(whole, entry->d_name, of_whole, sizeof of_whole));
        assert_int_equal(unlink(path), 0);
        n++;
    }
    closedir(entries);
    return n;
}

/* Refuses each allocation in turn until a run needs no more; returns how many there were. */
static long refuse_each(size_t i, const char *folder, const char *whole, int n_files, bool lasting_refusal) {
    for (long n = 1;; n++) {
        struct sutra_error error = {0};
        refuse_from(n, lasting_refusal);
        enum sutra_status status = run_once(i, folder, &error);
        bool was_refused = atomic_load(&refused);
        refuse_from(0, false);
        if (status != SUTRA_OK && status != SUTRA_SYSTEM)
            fail_msg("allocation %ld: status %d, %s", n, status, error.message);
        int n_left = sweep(folder, whole);
        if (status == SUTRA_OK)
            assert_int_equal(n_left, n_files);
        if (!was_refused)
            return n - 1;
    }
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char folder[] = P_tmpdir "/sutra_fault_XXXXXX", whole[] = P_tmpdir "/sutra_whole_XXXXXX";
        struct sutra_error error;
        assert_non_null(mkdtemp(folder));
        assert_non_null(mkdtemp(whole));
        assert_int_equal(run_once(i, whole, &error), SUTRA_OK);
        assert_int_equal(run_once(i, folder, &error), SUTRA_OK);
        int n_files = sweep(folder, whole);
        assert_true(n_files >= 14);
        assert_true(refuse_each(i, folder, whole, n_files, false) > 300);
        assert_true(refuse_each(i, folder, whole, n_files, true) > 300);
        sweep(whole, whole);
        assert_int_equal(rmdir(folder), 0);
        assert_int_equal(rmdir(whole), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
