/*
 * fault_memory_path.c - runs out of memory at every allocation, one after the other, while critical paths are found and
 * written, and while a pair is linked with its synchronisation dependencies.
 *
 * Each such run must end with SUTRA_SYSTEM and leave no file, or with the right files; the sanitizers watch for leaks.
 */
#include <sys/stat.h>

#include "link_case.h"
#include "refuse.h"

#define ROW(cat, name, pid, tid, ts, dur, args)                                                                        \
    "{'ph':'X','cat':'" cat "','name':'" name "','pid':" pid ",'tid':" tid ",'ts':" ts ",'dur':" dur ",'args':{" args  \
    "}}"
#define ON(cat, name, device, stream, ts, dur, correlation, more)                                                      \
    ROW(cat, name, device, "20", ts, dur, "'stream':" stream ",'correlation':" correlation ",'External id':5" more)
#define CALLED(name, ts, dur, correlation)                                                                             \
    ROW("cuda_runtime", name, "1", "1", ts, dur, "'correlation':" correlation ",'External id':6")

/* Two steps, a launch, a record, waits of all kinds. */
#define ROWS(step, stream)                                                                                                                                                                                                                                            \
    DEVICE_OF(                                                                                                                                                                                                                                                        \
        ROW("user_annotation", step "#1", "1", "1", "0", "100", "'External id':4") "," ROW("user_annotation", step "#2", "1", "1", "200", "100", "'External id':4") "," ROW("cpu_op", "a", "1", "1", "5", "10", "'External id':1,'Record function id':1") "," CALLED( \
            "cudaLaunchKernel", "6", "2",                                                                                                                                                                                                                             \
            "7") "," ON("kernel", "k", "0", stream, "9", "30", "7",                                                                                                                                                                                                   \
                        "") "," CALLED("cudaEventRecord", "10", "1",                                                                                                                                                                                                  \
                                       "30") "," CALLED("cudaStreamWaitEvent", "12", "1",                                                                                                                                                                             \
                                                        "31") "," ON("cuda_sync", "Stream Wait Event", "0", "21",                                                                                                                                                     \
                                                                     "13", "1", "31",                                                                                                                                                                                 \
                                                                     ",'wait_on_stream':20,'wait_on_cuda_event_"                                                                                                                                                      \
                                                                     "record_"                                                                                                                                                                                        \
                                                                     "corr_id':30") "," CALLED("cudaLaunchKernel",                                                                                                                                                    \
                                                                                               "14", "1",                                                                                                                                                             \
                                                                                               "8") "," ON("kernel",                                                                                                                                                  \
                                                                                                           "k", "0",                                                                                                                                                  \
                                                                                                           "21", "39",                                                                                                                                                \
                                                                                                           "30", "8",                                                                                                                                                 \
                                                                                                           "") "," CALLED("cudaDeviceSynchronize",                                                                                                                    \
                                                                                                                          "16",                                                                                                                                       \
                                                                                                                          "60",                                                                                                                                       \
                                                                                                                          "9") "," ON("cuda_sync",                                                                                                                    \
                                                                                                                                      "Context Sync",                                                                                                                 \
                                                                                                                                      "0",                                                                                                                            \
                                                                                                                                      "-1",                                                                                                                           \
                                                                                                                                      "17",                                                                                                                           \
                                                                                                                                      "55",                                                                                                                           \
                                                                                                                                      "9",                                                                                                                            \
                                                                                                                                      "") "," ROW("cpu_op",                                                                                                           \
                                                                                                                                                  "b",                                                                                                                \
                                                                                                                                                  "1",                                                                                                                \
                                                                                                                                                  "1",                                                                                                                \
                                                                                                                                                  "90",                                                                                                               \
                                                                                                                                                  "10",                                                                                                               \
                                                                                                                                                  "'External id':2,'Record function id':2"))

static const char *const traces[] = {ROWS("ProfilerStep", "20"), ROWS("Step", "'main'"), ROWS("ProfilerStep", "0")};
static const char host_source[] = HOST_OF(ROOT "," NODE("2", "a", "1") "," NODE("3", "b", "2"));

enum { N_FILES = 4 }; /* a path in each format, and ET+ */

struct run {
    char *host, *device;
    char folder[64], path[N_FILES][96];
    char *expected[N_FILES];
};

static enum sutra_status write_paths(struct sutra_context *context, const struct sutra_device_trace *device,
                                     const struct run *run, struct sutra_error *error) {
    struct sutra_critical_path *path = NULL;
    enum sutra_status status = sutra_critical_path_find(context, device, NULL, &path, error);
    for (int format = SUTRA_PATH_TEXT; format <= SUTRA_PATH_CHROME && !status; format++)
        status = sutra_critical_path_write(context, path, (enum sutra_path_format)format, run->path[format], error);
    sutra_critical_path_free(path);
    return status;
}

static enum sutra_status run_with(struct sutra_context *context, const struct run *run, struct sutra_error *error) {
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_linked *linked = NULL;
    enum sutra_status status = sutra_host_trace_parse(context, "host", run->host, strlen(run->host), &host, error);
    if (!status)
        status = sutra_device_trace_parse(context, "device", run->device, strlen(run->device), &device, error);
    if (!status)
        status = write_paths(context, device, run, error);
    if (!status)
        status = sutra_link(context, host, device, NULL, &linked, error);
    if (!status)
        status = sutra_linked_write(context, linked, run->path[N_FILES - 1], NULL, error);
    sutra_linked_free(linked);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

static enum sutra_status run_once(const struct run *run, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run_with(context, run, error);
    sutra_context_free(context);
    return status;
}

static struct run make_run(const char *device) {
    struct run run = {.host = quotes_doubled(host_source),
                      .device = quotes_doubled(device),
                      .folder = P_tmpdir "/sutra_fault_XXXXXX"};
    struct sutra_error error;
    assert_non_null(mkdtemp(run.folder));
    for (int i = 0; i < N_FILES; i++)
        snprintf(run.path[i], sizeof run.path[i], "%s/%d", run.folder, i);
    assert_int_equal(run_once(&run, &error), SUTRA_OK);
    for (int i = 0; i < N_FILES; i++)
        run.expected[i] = file_text(run.path[i]);
    return run;
}

/* Files that are there are whole, and nothing else is. */
static void check_files(const struct run *run, bool all) {
    for (int i = 0; i < N_FILES; i++) {
        bool there = access(run->path[i], F_OK) == 0;
        assert_true(there || !all);
        char *text = there ? file_text(run->path[i]) : NULL;
        if (there)
            assert_string_equal(text, run->expected[i]);
        free(text);
        unlink(run->path[i]);
    }
    assert_int_equal(rmdir(run->folder), 0);
    assert_int_equal(mkdir(run->folder, 0700), 0);
}

/* Refuses each allocation in turn until a run needs no more; returns how many there were. */
static long refuse_each(const struct run *run, bool lasting_refusal) {
    for (long n = 1;; n++) {
        struct sutra_error error = {0};
        refuse_from(n, lasting_refusal);
        enum sutra_status status = run_once(run, &error);
        bool was_refused = atomic_load(&refused);
        refuse_from(0, false);
        if (status != SUTRA_OK && status != SUTRA_SYSTEM)
            fail_msg("allocation %ld: status %d, %s", n, status, error.message);
        check_files(run, status == SUTRA_OK);
        if (!was_refused)
            return n - 1;
    }
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct run run = make_run(traces[i]);
        if (i == 0)
            assert_non_null(strstr(run.expected[N_FILES - 1], "sync_dep"));
        check_files(&run, true);
        assert_true(refuse_each(&run, false) > 200);
        assert_true(refuse_each(&run, true) > 200);
        rmdir(run.folder);
        free(run.host);
        free(run.device);
        for (int file = 0; file < N_FILES; file++)
            free(run.expected[file]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
