/*
 * test_event_layouts.c - tests parsing of events with the layouts learned from earlier events against parsing each event
 * alone: the same offsets, the same end and the same errors.
 */
#include "base/memory.h"
#include "parse_case.h"
#include "plain_events.h"
#include "read/event_fields.h"
#include "sutra/sutra.h"
#include "unit.h"

static void add_value(struct buffer *text, struct random *dice) {
    /* clang-format off */
    static const char *const values[] = {
        "1", "0", "12345.678", "-3", "1e5", "1234567890123456789", "0.1234567890123456789", "null", "true", "false",
        "NaN", "\"\"", "\"a\\\"b\"", "\"}, {\"", "[]", "[[1, 2], [3]]", "[[1, 2], [3]] ",
        "[[1, 2], [3, 4, 5, 6, 7, 8, 9]]", "[[1, 2], [3, 4, 5, 6, 7, 8, 10]]",
        "{\"ts\": 1, \"args\": {\"stream\": 2}}", "{}", "{ }", "12 ",
        "\"a long string that goes on for more than a block of sixty-four bytes, and on\""
    };
    /* clang-format on */
    add(text, ONE_OF(dice, values));
}

static void add_member(struct buffer *text, struct random *dice, bool inside) {
    static const char *const outer[] = {"ts", "dur", "name", "cat", "ph", "pid", "tid", "id", "bp", "t\\u0073", "args"};
    static const char *const inner[] = {
        "External id", "correlation",          "stream",          "args",
        "ts",          "Input dims",           "external id",     "Input Dims",
        "Input type",  "Input Strides",        "Concrete Inputs", "grid",
        "block",       "registers per thread", "shared memory",   "est. achieved occupancy %"};
    char key[100];
    if (random_below(dice, 60) == 0)
        snprintf(key, sizeof key, "a key that nobody knows, number %u", (unsigned)random_below(dice, 40));
    else
        snprintf(key, sizeof key, "%s", inside ? ONE_OF(dice, inner) : ONE_OF(dice, outer));
    add(text, "\"");
    add(text, key);
    static const char *const colons[] = {"\":", "\":  ", "\" :\n            "};
    add(text, random_below(dice, 20) ? "\": " : ONE_OF(dice, colons));
    add_value(text, dice);
}

/* Members of few orders, so that many events are alike; `kind` chooses. */
static void add_members(struct buffer *text, uint64_t kind, struct random *values, bool inside) {
    struct random order = {kind};
    for (size_t n = random_below(&order, 7); n > 0; n--) {
        struct random *dice = random_below(values, 40) ? &order : values;
        if (!inside && random_below(dice, 5) == 0) {
            add(text, random_below(dice, 4) ? "\"args\": {" : "\"args\":{ ");
            add_members(text, kind + random_below(values, 3), values, true);
            add(text, random_below(values, 50) ? "}" : " } ");
        } else {
            add_member(text, dice, inside);
        }
        if (n > 1)
            add(text, random_below(values, 50) ? ", " : ",");
    }
}

/* A list of events; most texts are well-formed, and in some a byte is changed. */
static void make_events(struct buffer *text, uint64_t seed) {
    static const char wrong[] = "\"{}[],:0 x";
    struct random dice = {seed};
    add(text, "[");
    for (size_t n = 1 + random_below(&dice, 300); n > 0; n--) {
        add(text, "{");
        add_members(text, seed * 1000 + random_below(&dice, 8), &dice, false);
        add(text, n > 1 ? "},\n  " : "}]");
    }
    if (seed % 3 == 0)
        text->bytes[random_below(&dice, (uint32_t)text->length)] = wrong[random_below(&dice, sizeof wrong - 1)];
    assert_false(text->failed);
}

static void check_places(const struct event_spans *places, const struct event_spans *expected, uint64_t seed,
                         size_t n) {
    for (enum event_field field = 0; field < FIELD_NONE; field++) {
        struct json_span place = places->field[field], wanted = expected->field[field];
        if (place.at != wanted.at || (place.at && place.end != wanted.end))
            fail_msg("seed %u, event %zu: %s is at %zu, expected %zu", (unsigned)seed, n, event_field_name(field),
                     place.at, wanted.at);
    }
}

/* Walks the list with and without learning; returns the number of events. */
static size_t check_walks(const struct source *source, uint64_t seed) {
    struct event_forms *known = calloc(1, sizeof *known);
    struct json_walker plain = walk_from(source, 0), learned = plain;
    size_t n = 0;
    assert_non_null(known);
    for (bool more = walk_array(&plain) && walk_array(&learned); more && walk_char(&plain) == '{'; n++) {
        struct event_spans expected, places;
        walk_event(&plain, NULL, &expected);
        walk_event(&learned, known, &places);
        if (plain.expected) {
            assert_non_null(learned.expected);
            assert_string_equal(learned.expected, plain.expected);
            assert_int_equal(learned.failed_at, plain.failed_at);
            break;
        }
        if (learned.expected || learned.at != plain.at)
            fail_msg("seed %u, event %zu: ends at %zu, expected %zu", (unsigned)seed, n, learned.at, plain.at);
        check_places(&places, &expected, seed, n);
        more = walk_element_end(&plain);
        assert_int_equal(walk_element_end(&learned), more);
    }
    event_forms_free(known);
    free(known);
    return n;
}

static void learning_changes_nothing(void **state) {
    size_t n_events = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct buffer text = {0};
        struct source source;
        struct sutra_error error;
        make_events(&text, seed);
        assert_int_equal(source_copy(&source, "text", text.bytes, text.length, &error), SUTRA_OK);
        n_events += check_walks(&source, seed);
        source_close(&source);
        buffer_free(&text);
    }
    assert_true(n_events > 50000);
}

/* More layouts, also interleaved, than the cache holds. */
static void too_long_patterns_are_not_learned(void **state) {
    struct buffer text = {0};
    struct source source;
    struct sutra_error error;
    add(&text, "[");
    for (unsigned i = 0; i < 4000; i++) {
        char event[200];
        snprintf(event, sizeof event,
                 "%s{\"ts\": %u, \"a%u\": 1, \"b%u\": 2, \"dur\": 3, \"args\": {\"c%u\": [%u], \"stream\": 7}}",
                 i ? ", " : "", i, i % 20, i % 300, i, i % 9);
        add(&text, event);
    }
    add(&text, "]");
    assert_int_equal(source_copy(&source, "text", text.bytes, text.length, &error), SUTRA_OK);
    assert_int_equal(check_walks(&source, 0), 4000);
    source_close(&source);
    buffer_free(&text);
}

/* ---- Whole traces ---- */

/* One reading of a trace, in parts of a size. */
struct reading {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct sutra_error error;
    enum sutra_status status;
};

static struct reading read_in_parts(const struct buffer *text, unsigned n_threads, size_t part_bytes, bool lenient) {
    struct reading reading = {0};
    reading.context = NEW_CONTEXT(.n_threads = n_threads, .device = SUTRA_DEVICE_CPU, .lenient = lenient);
    reading.context->part_bytes = part_bytes;
    reading.context->keep_offsets = true;
    reading.context->prefetch_columns = PREFETCH_ALL;
    reading.status =
        sutra_device_trace_parse(reading.context, "trace", text->bytes, text->length, &reading.trace, &reading.error);
    return reading;
}

static void reading_free(struct reading *reading) {
    sutra_device_trace_free(reading->trace);
    sutra_context_free(reading->context);
}

/* Rows and ids of names equal a plain walk's for any number of parts; errors are the same. */
static void parts_and_learning_change_no_row(void **state) {
    size_t n_rows = 0, n_failed = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct buffer text = {0}, events = {0};
        make_events(&events, seed);
        add(&text, "{\"a\": {\"ph\": 1}, \"traceEvents\": [{\"ph\": \"X\"},\n {\"ts\": 1}, ");
        buffer_append(&text, events.bytes + 1, events.length - 1);
        add(&text, ", \"b\": [{\"ph\": 1}, {\"ph\": 2}]}");
        struct reading one = read_in_parts(&text, 1, SIZE_MAX / 2, seed % 3);
        for (unsigned n_threads = 1; n_threads <= 4; n_threads += 3) {
            struct reading parts = read_in_parts(&text, n_threads, 300, seed % 3);
            assert_int_equal(parts.status, one.status);
            n_failed += one.status != SUTRA_OK;
            if (one.status) {
                assert_string_equal(parts.error.message, one.error.message);
                assert_int_equal(parts.error.offset, one.error.offset);
                reading_free(&parts);
                continue;
            }
            assert_int_equal(parts.trace->events.n, one.trace->events.n);
            assert_int_equal(parts.trace->n_fields_dropped, one.trace->n_fields_dropped);
            assert_int_equal(parts.trace->n_lower_external, one.trace->n_lower_external);
            const struct strings *strings = &one.trace->strings;
            assert_int_equal(parts.trace->strings.n, strings->n);
            assert_memory_equal(parts.trace->strings.bytes, strings->bytes, strings->n_bytes);
            for (row_t row = 0; row < one.trace->events.n; row++, n_rows++) {
                const char *what = plain_difference(parts.context, parts.trace, row);
                if (what)
                    fail_msg("seed %u, event %u: %s", (unsigned)seed, row, what);
            }
            assert_true(plain_ahead(parts.context, parts.trace));
            reading_free(&parts);
        }
        reading_free(&one);
        buffer_free(&text);
        buffer_free(&events);
    }
    assert_true(n_rows > 3000 && n_failed > 5);
}

/* Objects inside elements that begin as these do, and mistakes in any part: the parts do not meet, or the first
 * counts. */
static void parts_that_split_an_event_are_joined(void **state) {
    for (int kind = 0; kind < 4; kind++) {
        struct buffer text = {0};
        add(&text, "{\"traceEvents\": [");
        for (unsigned i = 0; i < 400; i++) {
            char event[200];
            snprintf(event, sizeof event, "%s{\"ph\": \"X\", \"ts\": %u, \"args\": {\"x\": [%u, {\"ph\": 1}]}}",
                     i ? ",\n" : "", i, i);
            add(&text, event);
            if (kind == 1 && (i == 120 || i == 300))
                add(&text, " 7");
            if (kind == 2 && i == 200)
                add(&text, ", {\"ph\": \"X\", \"name\": \"b,{\\\"ph\\\": {\"}");
        }
        add(&text, kind == 3 ? "" : "]}");
        struct reading parts = read_in_parts(&text, 4, 64, false);
        struct reading one = read_in_parts(&text, 1, SIZE_MAX / 2, false);
        assert_int_equal(parts.status, kind == 1 || kind == 3 ? SUTRA_DATA : SUTRA_OK);
        assert_int_equal(one.status, parts.status);
        if (one.status)
            assert_string_equal(parts.error.message, one.error.message);
        assert_int_equal(parts.error.offset, one.error.offset);
        for (row_t row = 0; one.trace && row < one.trace->events.n; row++)
            assert_null(plain_difference(parts.context, parts.trace, row));
        reading_free(&parts);
        reading_free(&one);
        buffer_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_changes_nothing),
        cmocka_unit_test(too_long_patterns_are_not_learned),
        cmocka_unit_test(parts_and_learning_change_no_row),
        cmocka_unit_test(parts_that_split_an_event_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
