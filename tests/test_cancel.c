/*
 * test_cancel.c - tests cancellation: a cancelled call returns SUTRA_CANCELLED without a result, or completes; a
 * repeated call gives the same result as without the cancellation.
 *
 * Each operation is cancelled at its first call of the progress callback, at its second, and so on until it completes.
 * With one thread the number of progress calls is deterministic.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "et_text.h"
#include "sutra/sutra.h"
#include "unit.h"
#include "write/sink.h"

#define N_EVENTS 6000

static struct sutra_context *context;
static unsigned n_threads, n_calls, cancel_at; /* calls of the progress callback */
static struct buffer device_text, host_text;
static char folder[64], device_path[80], output_path[80];

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total) {
    (void)arg;
    (void)stage;
    (void)done;
    (void)total;
    if (++n_calls == cancel_at)
        sutra_context_cancel(context, true);
}

static void append(struct buffer *buffer, const char *text) {
    buffer_append(buffer, text, strlen(text));
}

/* Operators, each with a launch and a kernel. */
static void make_texts(void) {
    char text[1000];
    append(&device_text, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}");
    append(&host_text,
           "{\"schema\":\"1.0.2-chakra.0.0.4\",\"nodes\":[{\"id\":1,\"name\":\"root\",\"ctrl_deps\":0,\"attrs\":[]}");
    for (int i = 0; i < N_EVENTS / 3; i++) {
        snprintf(
            text, sizeof text,
            ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":9,\"args\":{"
            "\"External id\":%d,\"Record function id\":%d,\"x\":1}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
            "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":%d,\"External id\":"
            "%d}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":2,\"args\":{"
            "\"correlation\":%d,\"External id\":%d,\"stream\":7}}",
            10 * i, i + 2, i + 2, 10 * i + 1, i + 2, i + 2, 10 * i + 5, i + 2, i + 2);
        append(&device_text, text);
        snprintf(
            text, sizeof text,
            ",{\"id\":%d,\"name\":\"a\",\"ctrl_deps\":1,\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":%d}]}",
            i + 2, i + 2);
        append(&host_text, text);
    }
    append(&device_text, "]}");
    append(&host_text, "]}");
    assert_false(device_text.failed || host_text.failed);
}

static int set_up(void **state) {
    const struct sutra_context_options options = {
        .size = sizeof options, .n_threads = n_threads, .device = SUTRA_DEVICE_CPU, .progress = on_progress};
    make_texts();
    strcpy(folder, P_tmpdir "/sutra_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(device_path, sizeof device_path, "%s/device.json", folder);
    snprintf(output_path, sizeof output_path, "%s/output.json", folder);
    FILE *file = fopen(device_path, "w");
    if (!file || fwrite(device_text.bytes, 1, device_text.length, file) != device_text.length || fclose(file))
        return -1;
    return sutra_context_create(&options, &context, NULL) ? -1 : 0;
}

static int tear_down(void **state) {
    sutra_context_free(context);
    buffer_free(&device_text);
    buffer_free(&host_text);
    return remove(device_path) || rmdir(folder);
}

static enum sutra_status read_device(struct sutra_device_trace **trace) {
    return sutra_device_trace_parse(context, "device", device_text.bytes, device_text.length, trace, NULL);
}

/* ---- Operations; each frees its result ---- */

static enum sutra_status do_read(void) {
    struct sutra_device_trace *trace = NULL;
    enum sutra_status status = read_device(&trace);
    assert_int_equal(status == SUTRA_OK, trace != NULL);
    sutra_device_trace_free(trace);
    return status;
}

/* Links, and writes. */
static enum sutra_status do_link(void) {
    struct sutra_device_trace *device = NULL;
    struct sutra_host_trace *host = NULL;
    struct sutra_linked *linked = NULL;
    enum sutra_status status = read_device(&device);
    if (!status)
        status = sutra_host_trace_parse(context, "host", host_text.bytes, host_text.length, &host, NULL);
    if (!status)
        status = sutra_link(context, host, device, NULL, &linked, NULL);
    if (!status) {
        status = sutra_linked_write(context, linked, output_path, NULL, NULL);
        assert_int_equal(remove(output_path) == 0, status == SUTRA_OK);
    }
    sutra_linked_free(linked);
    sutra_host_trace_free(host);
    sutra_device_trace_free(device);
    return status;
}

static enum sutra_status do_columns(void) {
    static const char *const args[] = {"x"};
    const struct sutra_columns_options options = {.size = sizeof options, .args = args, .n_args = 1};
    struct sutra_device_trace *device = NULL;
    struct ArrowArrayStream stream;
    enum sutra_status status = read_device(&device);
    if (!status && !(status = sutra_device_trace_arrow(context, device, &options, &stream, NULL)))
        stream.release(&stream);
    sutra_device_trace_free(device);
    return status;
}

static enum sutra_status do_ranks(void) {
    const char *const paths[] = {device_path, device_path};
    struct sutra_operators_ranks *ranks = NULL;
    enum sutra_status status = sutra_operators_ranks_run(context, paths, 2, NULL, &ranks, NULL);
    sutra_operators_ranks_free(ranks);
    return status;
}

static enum sutra_status do_hta(void) {
    struct sutra_device_trace *device = NULL;
    struct sutra_hta *hta = NULL;
    enum sutra_status status = read_device(&device);
    if (!status)
        status = sutra_hta_run(context, device, NULL, &hta, NULL);
    sutra_hta_free(hta);
    sutra_device_trace_free(device);
    return status;
}

/* At each call of the callback once, until the work ends before it is called so often. */
static unsigned cancel_everywhere(enum sutra_status (*work)(void)) {
    unsigned n_cancelled = 0;
    for (cancel_at = 1, n_calls = 1; n_calls >= cancel_at || cancel_at == 1; cancel_at++) {
        n_calls = 0;
        enum sutra_status status = work();
        sutra_context_cancel(context, false);
        assert_true(status == SUTRA_OK || status == SUTRA_CANCELLED);
        n_cancelled += status == SUTRA_CANCELLED;
        if (n_calls < cancel_at)
            break;
    }
    cancel_at = 0;
    assert_int_equal(work(), SUTRA_OK);
    return n_cancelled;
}

/* How often work was cancelled that does as much as `part`, and more. */
static void expect_more(enum sutra_status (*work)(void), enum sutra_status (*part)(void)) {
    unsigned n = cancel_everywhere(work), n_part = cancel_everywhere(part);
    assert_true(n_threads > 1 ? n > 0 : n > n_part);
}

static void reading_is_cancelled(void **state) {
    assert_true(cancel_everywhere(do_read) >= 3);
}

static void linking_and_writing_are_cancelled(void **state) {
    expect_more(do_link, do_read);
}

static void columns_on_request_are_cancelled(void **state) {
    expect_more(do_columns, do_read);
}

static void ranks_are_cancelled(void **state) {
    assert_true(cancel_everywhere(do_ranks) >= 1);
}

static void analyses_are_cancelled(void **state) {
    expect_more(do_hta, do_read);
}

/* The bytes of hidden files in the folder: temporary files of outputs. */
static uint64_t temporary_bytes(void) {
    uint64_t sum = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct stat found;
        if (*entry->d_name != '.' || fstatat(dirfd(entries), entry->d_name, &found, 0) || !S_ISREG(found.st_mode))
            continue;
        sum += (uint64_t)found.st_size;
    }
    closedir(entries);
    return sum;
}

/* Pieces after the cancellation are not written, and the file is removed. */
static void writing_stops_at_a_cancellation(void **state) {
    static const char piece[50000];
    struct sink *sink = NULL;
    struct sutra_error error;
    assert_int_equal(sink_open(&sink, context, output_path, NULL), SUTRA_OK);
    for (size_t i = 0; i < 4; i++) {
        sutra_context_cancel(context, i >= 2);
        sink_write(sink, i, piece, sizeof piece);
        assert_int_equal(sink_failed(sink), i < 2 ? 0 : ECANCELED);
        assert_int_equal(temporary_bytes(), (i < 2 ? i + 1 : 2) * sizeof piece);
    }
    assert_int_equal(sink_close(sink, true, NULL, &error), SUTRA_CANCELLED);
    sutra_context_cancel(context, false);
    assert_int_equal(temporary_bytes(), 0);
    assert_int_not_equal(access(output_path, F_OK), 0);
}

static void a_simulation_is_cancelled(void **state) {
    struct sutra_simulation *simulation = NULL;
    struct sutra_et *et = NULL;
    struct buffer lines = {0};
    char line[100];
    append(&lines, "{}\n");
    for (int i = 1; i <= 20000; i++) {
        snprintf(line, sizeof line, "{\"id\":\"%d\",\"name\":\"a\",\"type\":\"COMP_NODE\",\"durationMicros\":\"9\"}\n",
                 i);
        append(&lines, line);
    }
    buffer_append(&lines, "", 1);
    assert_int_equal(et_parse_text(context, lines.bytes, &et, NULL), SUTRA_OK);
    const struct sutra_et *const ets[] = {et};
    sutra_context_cancel(context, true);
    struct sutra_error error;
    assert_int_equal(sutra_simulate(context, ets, NULL, 1, NULL, &simulation, &error), SUTRA_CANCELLED);
    assert_string_equal(error.message, "cancelled");
    sutra_context_cancel(context, false);
    assert_int_equal(sutra_simulate(context, ets, NULL, 1, NULL, &simulation, NULL), SUTRA_OK);
    sutra_simulation_free(simulation);
    sutra_et_free(et);
    buffer_free(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_is_cancelled),
        cmocka_unit_test(linking_and_writing_are_cancelled),
        cmocka_unit_test(columns_on_request_are_cancelled),
        cmocka_unit_test(ranks_are_cancelled),
        cmocka_unit_test(analyses_are_cancelled),
        cmocka_unit_test(writing_stops_at_a_cancellation),
        cmocka_unit_test(a_simulation_is_cancelled),
    };
    int n_failed = 0;
    for (n_threads = 1; n_threads <= 2; n_threads++)
        n_failed += cmocka_run_group_tests(tests, set_up, tear_down);
    return n_failed;
}
