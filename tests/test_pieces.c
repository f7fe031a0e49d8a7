/*
 * test_pieces.c - tests output that is written in pieces: the same bytes for any number of threads, complete or absent;
 * and the search for ends of events.
 */
#include <sys/stat.h>

#include "sutra/sutra.h"
#include "unit.h"
#include "write/json_copy.h"
#include "write/sink.h"

#define N_PIECES 100

/* Some pieces are empty. */
static void fill_number(const void *arg, size_t number, struct buffer *out) {
    char text[32];
    (void)arg;
    assert_int_equal(out->length, 0);
    for (size_t i = 0; i < number % 7; i++)
        buffer_append(out, text, (size_t)snprintf(text, sizeof text, "%zu ", number));
}

static void fill_without_memory(const void *arg, size_t number, struct buffer *out) {
    fill_number(arg, number, out);
    out->failed = number == 50;
}

static void pieces_are_in_order_for_any_number_of_threads(void **state) {
    struct buffer expected = {0}, one = {0};
    for (size_t i = 0; i < N_PIECES; i++) {
        one.length = 0;
        fill_number(NULL, i, &one);
        buffer_append(&expected, one.bytes, one.length);
    }
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        char path[] = "/tmp/test_pieces.XXXXXX";
        struct sutra_context *context = NEW_CONTEXT(.n_threads = n_threads, .device = SUTRA_DEVICE_CPU);
        uint64_t n_bytes = 0;
        size_t length;
        make_temp_file(path, "");
        assert_int_equal(pieces_write(context, path, N_PIECES, fill_number, NULL, &n_bytes, NULL), SUTRA_OK);
        char *text = file_text(path, &length);
        assert_int_equal(length, expected.length);
        assert_memory_equal(text, expected.bytes, expected.length);
        assert_int_equal(n_bytes, expected.length);
        free(text);
        unlink(path);
        sutra_context_free(context);
    }
    buffer_free(&expected);
    buffer_free(&one);
}

static void fill_much(const void *arg, size_t number, struct buffer *out) {
    char *to = buffer_reserve(out, (size_t)8 << 20);
    (void)arg;
    (void)number;
    if (to)
        memset(to, ' ', (size_t)8 << 20);
    out->length += to ? (size_t)8 << 20 : 0;
}

/* Requested before outputs of at least this length. */
static void unused_disk_space_is_released(void **state) {
    char path[] = "/tmp/test_pieces.XXXXXX";
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 2, .device = SUTRA_DEVICE_CPU);
    struct stat status;
    make_temp_file(path, "");
    assert_int_equal(pieces_write(context, path, 9, fill_much, NULL, NULL, NULL), SUTRA_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, (off_t)72 << 20);
    assert_true(status.st_blocks * 512 < (off_t)80 << 20);
    unlink(path);
    sutra_context_free(context);
}

static void failed_writes_leave_no_file(void **state) {
    char path[] = "/tmp/test_pieces.XXXXXX";
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 2, .device = SUTRA_DEVICE_CPU);
    make_temp_file(path, "");
    unlink(path);
    assert_int_equal(pieces_write(context, path, N_PIECES, fill_without_memory, NULL, NULL, NULL), SUTRA_SYSTEM);
    assert_int_equal(access(path, F_OK), -1);
    sutra_context_free(context);
}

static void events_end_before_their_comma(void **state) {
    static const char text[] = "{\"traceEvents\": [ {\"name\": \"a\"} , {}\n,{\"b\": [1]},[2 ] , {\"c\": \",\"}\n ] }";
    static const char *const events[] = {"{\"name\": \"a\"}", "{}", "{\"b\": [1]}", "[2 ]", "{\"c\": \",\"}"};
    struct sutra_device_trace *trace = NULL;
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1, .lenient = true);
    assert_int_equal(sutra_device_trace_parse(context, "trace", text, strlen(text), &trace, NULL), SUTRA_OK);
    assert_int_equal(trace->events.n, 5);
    for (row_t event = 0; event < trace->events.n; event++) {
        size_t from = trace->events.text[event], end = trace_event_end(trace, event);
        assert_int_equal(end - from, strlen(events[event]));
        assert_memory_equal(text + from, events[event], end - from);
    }
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_in_order_for_any_number_of_threads),
        cmocka_unit_test(unused_disk_space_is_released),
        cmocka_unit_test(failed_writes_leave_no_file),
        cmocka_unit_test(events_end_before_their_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
