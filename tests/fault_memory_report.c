/*
 * fault_memory_report.c - runs out of memory at every allocation, one after the other, while reports are written.
 *
 * Each such run must end with SUTRA_SYSTEM, or with all files; files that are there are whole, and nothing else is
 * there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hta_table.h"
#include "refuse.h"

#define LABEL                                                                                                          \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"## Forward ##\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":90}"
#define OPERATOR(name, ts, dur, id) EVENT("cpu_op", name, 1, 1, ts, dur, "\"External id\":" #id)

static const char trace[] =
    TRACE(LABEL "," OPERATOR("aten::a", 1, 60, 9) "," LAUNCH(5, 2, 1) "," LAUNCH(8, 2, 2) "," CALL(
        "cudaMemcpyAsync", 9, 1,
        3) "," KERNEL("k<b>", 7, 10, 20,
                      1) "," KERNEL("l", 8, 12, 30, 2) "," COPY("Memcpy HtoD", 7, 40, 5, 3,
                                                                2.5) "," KERNEL("ncclKernel", 9, 20, 30,
                                                                                2) "," OPERATOR("aten::b", 200, 1, 8));
static const char *const texts[] = {trace, TRACE("")};

enum { N_RANKS = sizeof texts / sizeof *texts };

struct run {
    char in[N_RANKS][96];
    const char *list[N_RANKS];
};

static enum sutra_status report_hta(const struct run *run, struct sutra_context *context, const char *folder,
                                    struct sutra_error *error) {
    struct sutra_report *report = NULL;
    struct sutra_hta_ranks *ranks = NULL;
    enum sutra_status status = sutra_report_create(&report, error);
    struct sutra_hta_ranks_options options = {.size = sizeof options, .visit = sutra_report_visit, .arg = report};
    if (!status)
        status = sutra_hta_ranks_make(context, run->list, N_RANKS, &options, &ranks, error);
    if (!status)
        status = sutra_report_write_hta(context, report, ranks, folder, NULL, error);
    sutra_hta_ranks_free(ranks);
    sutra_report_free(report);
    return status;
}

static enum sutra_status report_dlrm(struct sutra_context *context, const char *folder, struct sutra_error *error) {
    struct sutra_device_trace *device = NULL;
    struct sutra_dlrm *dlrm = NULL;
    enum sutra_status status = sutra_device_trace_parse(context, "trace", trace, strlen(trace), &device, error);
    if (!status)
        status = sutra_dlrm_analyze(context, device, NULL, &dlrm, error);
    if (!status)
        status = sutra_report_write_dlrm(context, dlrm, "trace", folder, NULL, error);
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(device);
    return status;
}

/* `run` NULL: the report of analyze dlrm. */
static enum sutra_status run_once(const struct run *run, const char *folder, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run ? report_hta(run, context, folder, error) : report_dlrm(context, folder, error);
    sutra_context_free(context);
    return status;
}

static bool same_files(const char *one, const char *two) {
    FILE *a = fopen(one, "r"), *b = fopen(two, "r");
    assert_true(a && b);
    int from_a, from_b;
    do {
        from_a = getc(a);
        from_b = getc(b);
    } while (from_a == from_b && from_a != EOF);
    fclose(a);
    fclose(b);
    return from_a == from_b;
}

/* Removes the files of a folder, which must be those of `whole`. Returns how many there were. */
static int sweep_folder(const char *folder, const char *whole) {
    int n = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[600], of_whole[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(of_whole, sizeof of_whole, "%s/%s", whole, entry->d_name);
        if (entry->d_type == DT_DIR)
            continue;
        if (!same_files(path, of_whole))
            fail_msg("%s is not %s", path, of_whole);
        assert_int_equal(unlink(path), 0);
        n++;
    }
    if (entries)
        closedir(entries);
    return n;
}

static int sweep(const char *folder, const char *whole) {
    char charts[600], charts_of_whole[600];
    snprintf(charts, sizeof charts, "%s/charts", folder);
    snprintf(charts_of_whole, sizeof charts_of_whole, "%s/charts", whole);
    int n = sweep_folder(charts, charts_of_whole);
    rmdir(charts);
    return n + sweep_folder(folder, whole);
}

/* Refuses each allocation in turn until a run needs no more; returns how many there were. */
static long refuse_each(const struct run *run, const char *folder, const char *whole, int n_files,
                        bool lasting_refusal) {
    for (long n = 1;; n++) {
        struct sutra_error error = {0};
        refuse_from(n, lasting_refusal);
        enum sutra_status status = run_once(run, folder, &error);
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

static void check_report(const struct run *run, int n_files) {
    char folder[] = P_tmpdir "/sutra_fault_XXXXXX", whole[] = P_tmpdir "/sutra_whole_XXXXXX";
    struct sutra_error error;
    assert_true(mkdtemp(folder) && mkdtemp(whole));
    assert_int_equal(run_once(run, whole, &error), SUTRA_OK);
    assert_int_equal(run_once(run, folder, &error), SUTRA_OK);
    assert_int_equal(sweep(folder, whole), n_files);
    assert_true(refuse_each(run, folder, whole, n_files, false) > 200);
    assert_true(refuse_each(run, folder, whole, n_files, true) > 200);
    sweep(whole, whole);
    assert_int_equal(rmdir(folder), 0); /* nothing is left behind */
    assert_int_equal(rmdir(whole), 0);
}

static void a_report_of_operators_is_whole_or_not_there(void **state) {
    (void)state;
    check_report(NULL, 5);
}

static void a_report_of_ranks_is_whole_or_not_there(void **state) {
    struct run run = {0};
    char folder[] = P_tmpdir "/sutra_fault_XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < N_RANKS; i++) {
        snprintf(run.in[i], sizeof run.in[i], "%s/%d.json", folder, i);
        run.list[i] = run.in[i];
        FILE *file = fopen(run.in[i], "w");
        assert_non_null(file);
        fputs(texts[i], file);
        fclose(file);
    }
    check_report(&run, 7);
    for (int i = 0; i < N_RANKS; i++)
        unlink(run.in[i]);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_report_of_operators_is_whole_or_not_there),
                                       cmocka_unit_test(a_report_of_ranks_is_whole_or_not_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
