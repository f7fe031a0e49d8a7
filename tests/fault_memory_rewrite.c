/*
 * fault_memory_rewrite.c - fails every allocation in turn while a malformed pair is read leniently, cut and written, as
 * JSON and in Perfetto's format, and while a malformed trace is repaired.
 *
 * Each run must return SUTRA_SYSTEM, or write the expected files.
 */
#include "fault_files.h"

#define N_FILES 4

static const char device_text[] =
    "{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"m\"},"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 10, \"dur\": 50, \"args\": {\"External id\": 1}},"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\"b\", \"ts\": 12, \"dur\": 9, \"args\": {\"Record function id\": 3}},"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"l\", \"tid\": 1, \"ts\": 13, \"dur\": 1, \"args\": {\"correlation\": 7}},"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"tid\": 7, \"ts\": 90, \"dur\": 1, \"args\": {\"correlation\": 7}},"
    "{\"ph\": \"s\", \"id\": 7, \"cat\": \"ac2g\", \"tid\": 1, \"ts\": 13}, {\"ph\": \"f\", \"id\": 7, \"cat\": \"ac2g\", \"tid\": 7, \"ts\": 90},"
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 90, \"dur\": 5, \"args\": {\"External id\": 1}}";
static const char host_text[] = "{\"schema\": \"1.0.1\", \"nodes\": [{\"id\": 1, \"parent\": 1, \"name\": \"\x01\"},"
                                "{\"id\": 2, \"parent\": 1, \"rf_id\": 3}, {\"id\": 3, \"parent\": 1, \"rf_id\": 4}]}";

static enum sutra_status cut_pair(struct sutra_context *context, const struct fault_files *files,
                                  struct sutra_error *error) {
    const struct sutra_selection selection = {.size = sizeof selection, .step = "1"};
    struct sutra_device_trace *device = NULL;
    struct sutra_host_trace *host = NULL;
    struct sutra_cut *cut = NULL;
    enum sutra_status status =
        sutra_device_trace_parse(context, "device", device_text, strlen(device_text), &device, error);
    if (!status)
        status = sutra_host_trace_parse(context, "host", host_text, strlen(host_text), &host, error);
    if (!status)
        status = sutra_cut_run(context, device, host, &selection, &cut, error);
    if (!status)
        status = sutra_cut_write(context, cut, files->path[0], NULL, error);
    if (!status)
        status = sutra_cut_write_host(context, cut, files->path[1], NULL, error);
    char perfetto[128];
    snprintf(perfetto, sizeof perfetto, "%s.pftrace", files->path[3]);
    if (!status)
        status = sutra_cut_write(context, cut, perfetto, NULL, error);
    if (!status && rename(perfetto, files->path[3]))
        fail_msg("%s cannot be renamed", perfetto);
    sutra_cut_free(cut);
    sutra_host_trace_free(host);
    sutra_device_trace_free(device);
    return status;
}

static enum sutra_status repair(struct sutra_context *context, const struct fault_files *files,
                                struct sutra_error *error) {
    struct sutra_repair *repair = NULL;
    enum sutra_status status = sutra_repair_parse(context, "device", device_text, strlen(device_text), &repair, error);
    if (!status)
        status = sutra_repair_write(context, repair, files->path[2], NULL, error);
    sutra_repair_free(repair);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .lenient = true};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = cut_pair(context, files, error);
    if (!status)
        status = repair(context, files, error);
    sutra_context_free(context);
    return status;
}

static void traces_are_written_atomically(void **state) {
    (void)state;
    struct fault_files files = {.n = N_FILES, .work = run_once};
    files_expect(&files);
    files_refuse_each(&files, 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(traces_are_written_atomically)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
