/*
 * fault_memory_nsys.c - runs out of memory at every allocation of sutra, one after the other, while a report of
 * Nsight Systems, one of rocprofv3 and one of rocmProfileData are read, summarized and converted, and while tasks share a report.
 *
 * Each such run must end with SUTRA_SYSTEM and leave no file, or with the expected files; the sanitizers detect leaks.
 */
#include "base/error.h"
#include "columns/traces.h"
#include "context/context.h"
#include "fault_files.h"
#include "read/device_trace.h"
#include "read/nsys.h"

#define CORPUS "tests/fuzz/corpus/nsys/"

enum { N_REPORTS = 3 };

struct reports {
    char *bytes[N_REPORTS];
    size_t size[N_REPORTS];
};

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    const struct reports *reports = files->of;
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    for (int i = 0; i < N_REPORTS && !status; i++) {
        struct sutra_nsys *nsys = NULL;
        status = sutra_nsys_parse(context, "report", reports->bytes[i], reports->size[i], NULL, &nsys, error);
        if (!status)
            status =
                sutra_table_write(context, sutra_result_table(SUTRA_RESULT(nsys), SUTRA_NSYS_NVTX_PROJECTION, NULL),
                                  SUTRA_TABLE_CSV, files->path[2 * i], NULL, error);
        if (!status)
            status = sutra_nsys_write_trace(context, nsys, 0, files->path[2 * i + 1], NULL, error);
        sutra_nsys_free(nsys);
    }
    sutra_context_free(context);
    return status;
}

static void read_file(const char *path, struct reports *reports, int i) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    reports->bytes[i] = malloc(1 << 16);
    assert_non_null(reports->bytes[i]);
    reports->size[i] = fread(reports->bytes[i], 1, 1 << 16, file);
    fclose(file);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
#ifndef SUTRA_SQLITE
    skip();
#endif
    struct reports reports;
    read_file(CORPUS "full.sqlite", &reports, 0);
    read_file(CORPUS "rocpd.sqlite", &reports, 1);
    read_file(CORPUS "rpd_3.sqlite", &reports, 2);
    struct fault_files files = {.n = 2 * N_REPORTS, .of = &reports, .work = run_once};
    files_expect(&files);
    assert_non_null(strstr(files.expected[0], "iteration_4"));
    assert_non_null(strstr(files.expected[1], "aten::mm"));
    assert_non_null(strstr(files.expected[3], "hipLaunchKernel"));
    assert_non_null(strstr(files.expected[5], "aten::relu"));
    files_refuse_each(&files, 50);
    for (int i = 0; i < N_REPORTS; i++)
        free(reports.bytes[i]);
}

/* Reads both ranks of a report, which is read once. */
static enum sutra_status read_shared(void *arg, struct sutra_error *error) {
    static const char *const paths[2] = {CORPUS "full.sqlite/rank0", CORPUS "full.sqlite/rank1"};
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    struct nsys_shared *shared = nsys_shared_new(2);
    enum sutra_status status = shared ? sutra_context_create(&options, &context, error) : error_memory(error);
    for (int i = 0; i < 2 && !status; i++) {
        struct sutra_device_trace *trace = NULL;
        context->report = shared;
        status = sutra_device_trace_read(context, paths[i], &trace, error);
        if (!status)
            *(row_t *)arg = trace->events.n;
        sutra_device_trace_free(trace);
    }
    sutra_context_free(context);
    nsys_shared_free(shared);
    return status;
}

static void check_nothing(void *arg, long n, enum sutra_status status) {
    (void)arg, (void)n, (void)status;
}

static void any_allocation_of_a_shared_report_may_fail(void **state) {
    (void)state;
#ifndef SUTRA_SQLITE
    skip();
#endif
    row_t n_events = 0;
    const struct refusable refusable = {.arg = &n_events, .work = read_shared, .check = check_nothing};
    assert_true(refuse_each(&refusable, false) > 50);
    assert_true(n_events > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail),
                                       cmocka_unit_test(any_allocation_of_a_shared_report_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
