/*
 * test_cuda_traces.c - tests whole commands with the steps of the CUDA engine (run on the CPU by host_gpu.cpp) against
 * the CPU engine: the same bytes for recorded and generated traces, for both linkers and for critical paths.
 */
#include <glob.h>
#include <limits.h>

#include "context/context.h"
#include "generate/generate.h"
#include "host_gpu.h"
#include "sutra/sutra.h"
#include "unit.h"

static char folder[] = "/tmp/sutra-cuda-traces-XXXXXX";

/* A path in the folder of this run. */
struct path {
    char text[PATH_MAX];
};

static struct path in_folder(const char *name) {
    struct path path;
    snprintf(path.text, sizeof path.text, "%s/%s", folder, name);
    return path;
}

static void say_nothing(void *arg, const char *message) {
    (void)arg;
    (void)message;
}

/* A command on a pair of traces that writes a file. */
typedef enum sutra_status pair_work(struct sutra_context *context, const char *host, const char *device,
                                    const char *out, struct sutra_error *error);

static enum sutra_status link_pair(struct sutra_context *context, const char *host, const char *device, const char *out,
                                   struct sutra_error *error) {
    struct sutra_host_trace *host_trace = NULL;
    struct sutra_device_trace *device_trace = NULL;
    struct sutra_linked *linked = NULL;
    enum sutra_status status = sutra_host_trace_read(context, host, &host_trace, error);
    if (!status)
        status = sutra_device_trace_read(context, device, &device_trace, error);
    if (!status)
        status = sutra_link(context, host_trace, device_trace, NULL, &linked, error);
    if (!status)
        status = sutra_linked_write(context, linked, out, NULL, error);
    sutra_linked_free(linked);
    sutra_device_trace_free(device_trace);
    sutra_host_trace_free(host_trace);
    return status;
}

static enum sutra_status link_legacy(struct sutra_context *context, const char *host, const char *device,
                                     const char *out, bool exact, struct sutra_error *error) {
    struct sutra_host_trace *host_trace = NULL;
    struct sutra_device_trace *device_trace = NULL;
    struct sutra_legacy *legacy = NULL;
    struct sutra_legacy_report report = {.size = sizeof report};
    struct sutra_legacy_options options = {.size = sizeof options, .exact = exact};
    enum sutra_status status = sutra_host_trace_read(context, host, &host_trace, error);
    if (!status)
        status = sutra_device_trace_read(context, device, &device_trace, error);
    if (!status)
        status = sutra_legacy_link(context, host_trace, device_trace, &options, &report, &legacy, error);
    if (!status)
        status = sutra_legacy_write(context, legacy, out, NULL, error);
    sutra_legacy_free(legacy);
    sutra_device_trace_free(device_trace);
    sutra_host_trace_free(host_trace);
    return status;
}

static enum sutra_status link_exactly(struct sutra_context *context, const char *host, const char *device,
                                      const char *out, struct sutra_error *error) {
    return link_legacy(context, host, device, out, true, error);
}

static enum sutra_status link_by_alignment(struct sutra_context *context, const char *host, const char *device,
                                           const char *out, struct sutra_error *error) {
    return link_legacy(context, host, device, out, false, error);
}

static enum sutra_status find_path(struct sutra_context *context, const char *host, const char *device, const char *out,
                                   struct sutra_error *error) {
    struct sutra_device_trace *trace = NULL;
    struct sutra_critical_path *path = NULL;
    (void)host;
    enum sutra_status status = sutra_device_trace_read(context, device, &trace, error);
    if (!status)
        status = sutra_critical_path_find(context, trace, NULL, &path, error);
    if (!status)
        status = sutra_critical_path_write(context, path, SUTRA_PATH_JSON, out, error);
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    return status;
}

/* Does the work with the CPU engine or, with `memory`, on a device of so many bytes. */
static void run(pair_work *work, const char *host, const char *device, const char *out, size_t memory) {
    struct cuda_engine_options cuda = {.warn = say_nothing, .note = say_nothing};
    struct cuda_engine *engine = NULL;
    struct sutra_error error;
    struct sutra_context *context =
        NEW_CONTEXT(.n_threads = 2, .device = SUTRA_DEVICE_CPU, .lenient = true, .warning = say_nothing);
    if (memory)
        engine = host_gpu_open(context->pool, &cuda, memory, UINT32_MAX, &context->engine);
    if (work(context, host, device, out, &error))
        fail_msg("%s: %s", device, error.message);
    if (memory) {
        host_gpu_close(engine);
        context->engine = engine_cpu(context->pool);
    }
    sutra_context_free(context);
}

static void expect_same_bytes(const char *got, const char *expected, const char *what) {
    size_t got_size, expected_size;
    char *a = file_text(got, &got_size), *b = file_text(expected, &expected_size);
    if (got_size != expected_size || memcmp(a, b, got_size) != 0)
        fail_msg("%s: the engines differ", what);
    assert_true(got_size > 0);
    free(a);
    free(b);
}

static void compare(pair_work *work, const char *host, const char *device, size_t memory) {
    struct path cpu = in_folder("cpu.json"), cuda = in_folder("cuda.json");
    run(work, host, device, cpu.text, 0);
    run(work, host, device, cuda.text, memory);
    expect_same_bytes(cuda.text, cpu.text, device);
}

#define LARGE ((size_t)1 << 40)

static void recorded_pairs_link_alike(void **state) {
    glob_t hosts;
    assert_int_equal(glob("tests/data/link/*/host.json.gz", 0, NULL, &hosts), 0);
    assert_true(hosts.gl_pathc >= 6);
    for (size_t i = 0; i < hosts.gl_pathc; i++) {
        char device[PATH_MAX];
        int length = (int)(strlen(hosts.gl_pathv[i]) - strlen("host.json.gz"));
        snprintf(device, sizeof device, "%.*sdevice.json.gz", length, hosts.gl_pathv[i]);
        compare(link_pair, hosts.gl_pathv[i], device, LARGE);
        compare(find_path, hosts.gl_pathv[i], device, LARGE);
    }
    globfree(&hosts);
}

static void generate(enum generate_shape shape, const char *schema, uint64_t events, struct path *host,
                     struct path *device) {
    *host = in_folder("host.json");
    *device = in_folder("device.json");
    struct generate_options options = {.events = events,
                                       .seed = 7 + (uint64_t)shape,
                                       .host_path = host->text,
                                       .device_path = device->text,
                                       .n_threads = 3,
                                       .schema = schema,
                                       .collectives = true,
                                       .integer_times = shape % 2,
                                       .shape = shape};
    struct sutra_error error;
    if (generate_pair(&options, &error))
        fail_msg("%s", error.message);
}

static void generated_pairs_link_alike(void **state) {
    for (int shape = GENERATE_REALISTIC; shape <= GENERATE_DEEP; shape++) {
        struct path host, device;
        generate((enum generate_shape)shape, NULL, 5000, &host, &device);
        compare(link_pair, host.text, device.text, LARGE);
        compare(find_path, host.text, device.text, LARGE);
    }
}

static void a_pair_links_alike_in_pieces(void **state) {
    struct path host, device;
    generate(GENERATE_GAPS, NULL, 20000, &host, &device);
    compare(link_pair, host.text, device.text, 400000);
}

static void older_pairs_link_alike(void **state) {
    struct path host, device;
    generate(GENERATE_REALISTIC, "1.0.1", 5000, &host, &device);
    compare(link_exactly, host.text, device.text, LARGE);
    compare(link_by_alignment, host.text, device.text, LARGE);
}

static int make_folder(void **state) {
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
    static const char *const names[] = {"cpu.json", "cuda.json", "host.json", "device.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i]).text);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_pairs_link_alike),
        cmocka_unit_test(generated_pairs_link_alike),
        cmocka_unit_test(a_pair_links_alike_in_pieces),
        cmocka_unit_test(older_pairs_link_alike),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
