/*
 * fault_memory_report.c - fails every allocation in turn while HTML reports are written.
 *
 * Each run must return SUTRA_SYSTEM, or write all files. Written files are complete; the directory contains no other
 * files.
 */
#include "fault_folder.h"
#include "hta_table.h"

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

/* The page, and a few charts. */
#define N_FILES_LEAST 4

struct run {
    bool overview; /* of the first trace, else HTA's of all */
    char in[N_RANKS][96];
    const char *list[N_RANKS];
};

static enum sutra_status report_hta(const struct run *run, struct sutra_context *context, const char *folder,
                                    struct sutra_error *error) {
    struct sutra_hta_ranks *ranks = NULL;
    enum sutra_status status = sutra_hta_ranks_run(context, run->list, N_RANKS, NULL, &ranks, error);
    if (!status)
        status = sutra_report_write_hta(context, ranks, folder, NULL, error);
    sutra_hta_ranks_free(ranks);
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

static enum sutra_status report_overview(const struct run *run, struct sutra_context *context, const char *folder,
                                         struct sutra_error *error) {
    struct sutra_overview *overview = NULL;
    const struct sutra_overview_options options = {
        .size = sizeof options, .tables = true, .companion = sutra_hta_companion()};
    enum sutra_status status = sutra_overview_run(context, run->list, 1, &options, &overview, error);
    if (!status)
        status = sutra_report_write_overview(context, overview, folder, NULL, error);
    sutra_overview_free(overview);
    return status;
}

/* Without a struct run: the report of analyze dlrm. */
static enum sutra_status run_once(const void *of, const char *folder, struct sutra_error *error) {
    const struct run *run = of;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = !run            ? report_dlrm(context, folder, error)
                 : run->overview ? report_overview(run, context, folder, error)
                                 : report_hta(run, context, folder, error);
    sutra_context_free(context);
    return status;
}

static void operator_report_is_written_atomically(void **state) {
    (void)state;
    assert_true(folder_refuse_each(&(struct fault_folder){.work = run_once}, 200) >= N_FILES_LEAST);
}

static void try_ranks(bool overview) {
    struct run run = {.overview = overview};
    char folder[] = P_tmpdir "/sutra_fault_XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < N_RANKS; i++) {
        snprintf(run.in[i], sizeof run.in[i], "%s/%d.json", folder, i);
        run.list[i] = run.in[i];
        FILE *file = fopen(run.in[i], "w");
        assert_non_null(file);
        fputs(texts[i], file);
        fclose(file);
    }
    assert_true(folder_refuse_each(&(struct fault_folder){.of = &run, .work = run_once}, 200) >= N_FILES_LEAST);
    for (int i = 0; i < N_RANKS; i++)
        unlink(run.in[i]);
    assert_int_equal(rmdir(folder), 0);
}

static void rank_report_is_written_atomically(void **state) {
    (void)state;
    try_ranks(false);
}

static void job_report_is_written_atomically(void **state) {
    (void)state;
    try_ranks(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(operator_report_is_written_atomically),
                                       cmocka_unit_test(rank_report_is_written_atomically),
                                       cmocka_unit_test(job_report_is_written_atomically)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
