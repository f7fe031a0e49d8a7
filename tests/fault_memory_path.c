/*
 * fault_memory_path.c - fails every allocation in turn while critical paths are computed and written, and while a pair
 * is linked with its synchronization dependencies.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected files. The sanitizers detect leaks.
 */
#include "fault_files.h"

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

enum { FILE_FULL = SUTRA_PATH_CHROME + 1, FILE_PLUS = FILE_FULL + 2, N_FILES }; /* a path in each format, ET+ */

struct texts {
    char *host, *device;
};

static enum sutra_status write_paths(struct sutra_context *context, const struct sutra_device_trace *device,
                                     const struct fault_files *files, struct sutra_error *error) {
    struct sutra_critical_path *path = NULL;
    enum sutra_status status = sutra_critical_path_find(context, device, NULL, &path, error);
    for (int format = SUTRA_PATH_TEXT; format <= SUTRA_PATH_CHROME && !status; format++)
        status = sutra_critical_path_write(context, path, (enum sutra_path_format)format, files->path[format], error);
    sutra_critical_path_free(path);
    return status;
}

static enum sutra_status write_full_path(struct sutra_context *context, const struct sutra_device_trace *device,
                                         const struct fault_files *files, struct sutra_error *error) {
    struct sutra_full_path *path = NULL;
    enum sutra_status status = sutra_full_path_find(context, device, NULL, &path, error);
    for (int format = SUTRA_PATH_TEXT; format <= SUTRA_PATH_JSON && !status; format++)
        status = sutra_full_path_write(context, path, (enum sutra_path_format)format, files->path[FILE_FULL + format],
                                       error);
    sutra_full_path_free(path);
    return status;
}

static enum sutra_status run_with(struct sutra_context *context, const struct fault_files *files,
                                  struct sutra_error *error) {
    const struct texts *texts = files->of;
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_linked *linked = NULL;
    enum sutra_status status = sutra_host_trace_parse(context, "host", texts->host, strlen(texts->host), &host, error);
    if (!status)
        status = sutra_device_trace_parse(context, "device", texts->device, strlen(texts->device), &device, error);
    if (!status)
        status = write_paths(context, device, files, error);
    if (!status)
        status = write_full_path(context, device, files, error);
    if (!status)
        status = sutra_link(context, host, device, NULL, &linked, error);
    if (!status)
        status = sutra_linked_write(context, linked, files->path[FILE_PLUS], NULL, error);
    sutra_linked_free(linked);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run_with(context, files, error);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        const struct texts texts = {double_quotes(host_source), double_quotes(traces[i])};
        struct fault_files files = {.n = N_FILES, .of = &texts, .work = run_once};
        files_expect(&files);
        if (i == 0)
            assert_non_null(strstr(files.expected[FILE_PLUS], "sync_dep"));
        files_refuse_each(&files, 200);
        free(texts.host);
        free(texts.device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
