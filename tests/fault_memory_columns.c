/*
 * fault_memory_columns.c - fails every allocation in turn while events, nodes, a table, a repair and a simulation are
 * exported as Arrow columns and read, and an Arrow file is written.
 *
 * Each run must return SUTRA_SYSTEM and no columns, or all columns. The sanitizers detect leaks.
 */
#include "arrow_check.h"
#include "et_text.h"
#include "refuse.h"

#include <string.h>

#include "base/error.h"
#include "sutra/sutra.h"

static const char device_text[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"a\",\"tid\":7,\"ts\":5,\"dur\":2,\"args\":{"
    "\"stream\":7,\"correlation\":1,\"i\":1,\"b\":true,\"s\":\"\\u0041\",\"j\":[1]}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\","
    "\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":1.5,\"dur\":1,\"args\":{\"correlation\":1}}]}";
static const char host_text[] =
    "{\"schema\":\"1.0.2-chakra.0.0.4\",\"nodes\":[{\"id\":1,\"name\":\"\\u0041\",\"ctrl_deps\":1,"
    "\"attrs\":[{\"name\":\"i\",\"value\":3}]}]}";
static const char *const names[] = {"ts", "name", "phase", "kind", "device", "pid", "pid_text", "category"};
static const char *const args[] = {"i", "b", "s", "j", "none"};
static const struct sutra_columns_options wanted = {sizeof wanted, names, 8, args, 5};

/* Reads a stream, which may fail for want of memory. */
static enum sutra_status drain(struct ArrowArrayStream *stream, struct sutra_error *error) {
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    bool ok = stream->get_schema(stream, &schema) == 0 && stream->get_next(stream, &array) == 0;
    assert_true(ok || strcmp(stream->get_last_error(stream), "out of memory") == 0);
    if (schema.release)
        schema.release(&schema);
    if (array.release)
        array.release(&array);
    stream->release(stream);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status run_traces(struct sutra_context *context, struct sutra_error *error) {
    struct sutra_device_trace *device = NULL;
    struct sutra_host_trace *host = NULL;
    struct sutra_hta *hta = NULL;
    struct ArrowArrayStream stream;
    enum sutra_status status =
        sutra_device_trace_parse(context, "trace", device_text, strlen(device_text), &device, error);
    if (!status && !(status = sutra_device_trace_arrow(context, device, &wanted, &stream, error)))
        status = drain(&stream, error);
    if (!status && !(status = sutra_device_trace_arrow(context, device, &wanted, &stream, error)))
        status = sutra_columns_write(context, &stream, "/dev/null", NULL, NULL, error);
    if (!status)
        status = sutra_host_trace_parse(context, "trace", host_text, strlen(host_text), &host, error);
    if (!status &&
        !(status = sutra_host_trace_arrow(
              context, host, &(struct sutra_columns_options){sizeof wanted, NULL, 0, args, 1}, &stream, error)))
        status = drain(&stream, error);
    if (!status)
        status = sutra_hta_run(context, device, NULL, &hta, error);
    if (!status &&
        !(status = sutra_table_arrow(sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_KERNELS, NULL), &stream, error)))
        status = drain(&stream, error);
    sutra_hta_free(hta);
    sutra_host_trace_free(host);
    sutra_device_trace_free(device);
    return status;
}

static enum sutra_status run_repair(struct sutra_context *context, struct sutra_error *error) {
    static const char text[] = "{\"traceEvents\":[{\"ts\":NaN}]}";
    struct sutra_repair *repair = NULL;
    struct ArrowArrayStream stream;
    enum sutra_status status = sutra_repair_parse(context, "text", text, strlen(text), &repair, error);
    if (!status && !(status = sutra_repair_arrow(repair, &stream, error)))
        status = drain(&stream, error);
    sutra_repair_free(repair);
    return status;
}

static struct buffer et_file;

static enum sutra_status run_simulation(struct sutra_context *context, struct sutra_error *error) {
    struct sutra_simulation *simulation = NULL;
    struct sutra_et *et = NULL;
    struct ArrowArrayStream stream;
    enum sutra_status status = sutra_et_parse(context, "a.et", et_file.bytes, et_file.length, NULL, &et, error);
    const struct sutra_et *const ets[] = {et};
    if (!status)
        status = sutra_simulate(context, ets, NULL, 1, NULL, &simulation, error);
    for (int which = 0; which < SUTRA_SIMULATED_N_COLUMNS && !status; which++)
        if (!(status = sutra_simulation_arrow(simulation, (enum sutra_simulated_columns)which, &stream, error)))
            status = drain(&stream, error);
    sutra_simulation_free(simulation);
    sutra_et_free(et);
    return status;
}

static enum sutra_status run_once(void *arg, struct sutra_error *error) {
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    (void)arg;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run_traces(context, error);
    if (!status)
        status = run_repair(context, error);
    if (!status)
        status = run_simulation(context, error);
    sutra_context_free(context);
    return status;
}

static void check(void *arg, long n, enum sutra_status status) {
    (void)arg;
    if (status != SUTRA_OK && status != SUTRA_SYSTEM)
        fail_msg("allocation %ld: status %d", n, (int)status);
}

static void any_allocation_may_fail(void **state) {
    const struct refusable refusable = {NULL, run_once, check};
    struct sutra_error error;
    (void)state;
    et_file = et_encode("{}{'id':1,'name':'a','type':'COMP_NODE','durationMicros':9}");
    assert_int_equal(run_once(NULL, &error), SUTRA_OK);
    assert_true(refuse_each(&refusable, false) > 100);
    assert_true(refuse_each(&refusable, true) > 100);
    buffer_free(&et_file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
