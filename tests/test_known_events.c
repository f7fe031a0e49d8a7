/*
 * test_known_events.c - tests events of a device trace that are parsed by the layout of earlier events: they mean the
 * same as events that are parsed alone, for all forms of numbers. Parts of a file accept more events than estimated
 * from samples.
 */
#include "parse_case.h"
#include "plain_events.h"
#include "sutra/sutra.h"
#include "unit.h"

/* Numbers, and what looks like some. */
/* clang-format off */
static const char *const numbers[] = {
    "0", "7", "007", "-7", "-0", "-", "", "+1", "1.", ".5", "1.5", "01.5", "-1.5", "1.5.5", "1x", "1.5x", "1e3",
    "1.5E3", "1.e3", "99999999", "123456789", "999999999999999", "9999999999999999", "9007199254740993",
    "4391163268506.338", "1691234567890123.456", "1691234567890123.4567", "1.23456",
    "1234567890123456789012345678901", "12345678901234567890123456789012", "123456789012345678901234567890.5",
    "1234567890123456789012345678.12345", "NaN", "true", "null", "\"7\"", "[7]"
};
/* clang-format on */

/* The second of two events, of the first one's form or of another, with a number in one of its fields. */
static enum sutra_status read_second(struct sutra_context *context, bool known, const char *field, const char *number,
                                     struct sutra_device_trace **trace, struct sutra_error *error) {
    static const char event[] = "{\"ph\": \"X\", \"%s\": %s, \"args\": {\"%s\": %s}}";
    char text[400], first[200], second[200];
    snprintf(first, sizeof first, event, field, "1", known ? "device" : "Device", "2");
    snprintf(second, sizeof second, event, field, number, "device", number);
    int length = snprintf(text, sizeof text, "{\"traceEvents\": [%s, %s]}", first, second);
    return sutra_device_trace_parse(context, "device", text, (size_t)length, trace, error);
}

static void values_of_cached_events_equal_a_single_read(void **state) {
    static const char *const fields[] = {"ts", "dur", "pid", "tid", "cat", "x"};
    struct sutra_context *context = make_parts_context(1, SIZE_MAX / 2, false);
    size_t n_read = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers * 6; i++) {
        const char *field = fields[i % 6], *number = numbers[i / 6];
        struct sutra_device_trace *known = NULL, *alone = NULL;
        struct sutra_error error = {0}, why = {0};
        enum sutra_status status = read_second(context, true, field, number, &known, &error);
        assert_int_equal(read_second(context, false, field, number, &alone, &why), status);
        assert_string_equal(error.message, why.message);
        assert_int_equal(error.offset, why.offset);
        const char *what = known ? plain_difference(context, known, 1) : NULL;
        if (what)
            fail_msg("%s: %s: %s", field, number, what);
        n_read += status == SUTRA_OK;
        sutra_device_trace_free(known);
        sutra_device_trace_free(alone);
    }
    assert_true(n_read > 100);
    sutra_context_free(context);
}

/* Events that begin as the first one does are rare, the more so the further the text goes. */
static void make_unexpected(struct buffer *text) {
    buffer_append(text, "{\"traceEvents\": [", 17);
    for (unsigned i = 0; i < 6000; i++) {
        static const char *const events[] = {"{\"ph\": \"X\", \"ts\": %u, \"name\": \"a%u\"}",
                                             "{\"ts\": %u, \"cat\": \"%u\"}"};
        char event[100];
        int length = snprintf(event, sizeof event, events[i % (i < 3000 ? 3 : 500) > 0], i, i % 70);
        buffer_append(text, event, (size_t)length);
        buffer_append(text, i + 1 < 6000 ? ", " : "]}", 2);
    }
    assert_false(text->failed);
}

static void parts_accept_more_events_than_estimated(void **state) {
    struct buffer text = {0};
    make_unexpected(&text);
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        struct sutra_context *context = make_parts_context(n_threads, 1000, false);
        struct sutra_device_trace *trace = NULL;
        assert_int_equal(sutra_device_trace_parse(context, "device", text.bytes, text.length, &trace, NULL), SUTRA_OK);
        assert_int_equal(trace->events.n, 6000);
        for (row_t row = 0; row < 6000; row++) {
            const char *what = plain_difference(context, trace, row);
            if (what)
                fail_msg("%u threads, event %u: %s", n_threads, row, what);
            assert_int_equal(trace->events.ts.bits[row], row);
        }
        assert_string_equal(strings_text(&trace->strings, 0), "a0");
        assert_string_equal(strings_text(&trace->strings, 1), "");
        sutra_device_trace_free(trace);
        sutra_context_free(context);
    }
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_cached_events_equal_a_single_read),
        cmocka_unit_test(parts_accept_more_events_than_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
