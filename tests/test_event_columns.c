/*
 * test_event_columns.c - tests columns of event fields that are built on demand.
 */
#include <math.h>

#include "base/memory.h"
#include "read/device_trace.h"
#include "read/event_columns.h"
#include "unit.h"

static struct sutra_device_trace *parse(struct sutra_context *context, const char *text, size_t size) {
    struct sutra_device_trace *trace = NULL;
    assert_int_equal(sutra_device_trace_parse(context, "trace", text, size, &trace, NULL), SUTRA_OK);
    return trace;
}

static const char trace_text[] =
    "{\"traceEvents\":["
    "{\"name\":\"a\",\"id\":5,\"args\":{\"grid\":[1,2,3],\"occupancy\":12.5,\"In msg nelems\":7,\"dtype\":\"Float\"}},"
    "{\"name\":\"b\",\"id\":\"5\",\"args\":{\"occupancy\":\"x\",\"In msg nelems\":\" 7 \",\"dtype\":\"Half\"}},"
    "{\"name\":\"c\",\"args\":{\"dtype\":\"Fl\\u006fat\",\"occupancy\":1,\"occupancy\":2,\"In msg nelems\":[1]}},"
    "{\"name\":\"d\",\"args\":{\"\\u0064type\":4}},"
    "{\"name\":\"e\",\"extra\":9}]}";

enum { GRID, OCCUPANCY, N_ELEMENTS, DTYPE, ID, EXTRA, N_FIELDS };

static const struct requested_field fields[N_FIELDS] = {
    [GRID] = {"grid", ASK_PLACE, false},
    [OCCUPANCY] = {"occupancy", ASK_NUMBER, false},
    [N_ELEMENTS] = {"In msg nelems", ASK_INT, false},
    [DTYPE] = {"dtype", ASK_STRING, false},
    [ID] = {"id", ASK_KEY, true},
    [EXTRA] = {"extra", ASK_NUMBER, true},
};

/* A request after the columns were freed reads them again; strings keep their ids. */
static void evicted_columns_are_read_again(void **state) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct sutra_device_trace *trace = parse(context, trace_text, sizeof trace_text - 1);
    struct requested_column column;
    assert_int_equal(event_columns_request(context, trace, &fields[DTYPE], 1, NULL, 5, &column, NULL), SUTRA_OK);
    const uint32_t half = column.string[1];
    assert_int_not_equal(half, 0);
    event_columns_forget(trace->columns);
    assert_int_equal(event_columns_request(context, trace, &fields[DTYPE], 1, (const row_t[]){1}, 1, &column, NULL),
                     SUTRA_OK);
    assert_int_equal(column.string[1], half);
    assert_int_equal(column.string[3], 0); /* not requested since */
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* The expected value of one field of an event. */
struct expected_input {
    row_t event;
    enum event_field field;
    const char *bytes;
};

/* The fields of an operator's inputs are one text, those of a launch configuration another, each requested or read
 * ahead; a field is found at any position. */
static void input_fields_share_one_column(void **state) {
    static const char text[] =
        "{\"traceEvents\":[{\"args\":{\"Input Dims\":[[1, 2]],\"a\":1,\"Input type\": [\"x\"] }},"
        "{\"args\":{\"Input type\":[\"x\"] ,\"Input Dims\" : [[1, 2]]}},"
        "{\"args\":{\"Input Strides\":[[1, 2]],\"Input type\":[\"x\"]}},{\"args\":{\"Concrete Inputs\":\"\",\"b\":[]}},"
        "{\"Input Dims\":[],\"args\":{\"b\":[]}},{\"args\":{\"Input Dims\":[5]},\"args\":{}},"
        "{\"args\":{\"registers per thread\":32,\"shared memory\":-1.50e3,\"grid\": [1,2,3] ,\"block\":[4, 1],"
        "\"est. achieved occupancy %\":null}},{\"args\":{\"shared memory\":32}},"
        "{\"args\":{\"Input Dims\":[[1, 2]],\"grid\":32,\"Input type\":[\"x\"] }},"
        "{\"args\":{\"block\":[4, 1],\"est. achieved occupancy %\":null,\"grid\":[1,2,3],\"grid\":[1,2,3],"
        "\"shared memory\":-1.50e3,\"registers per thread\":32}},"
        "{\"args\":{\"Input Dims\":[[11, 22], [33, 44]]}},{\"args\":{\"Input type\":[[11, 22], [33, 44]]}},"
        "{\"args\":{\"Input Dims\":[[11, 22], [33, 44]]}}]}";
    enum { N_EVENTS = 13 };
    static const struct expected_input expected[] = {
        {0, FIELD_INPUT_SHAPES, "[[1, 2]]"},
        {0, FIELD_INPUT_STRIDES, ""},
        {0, FIELD_CONCRETE_INPUTS, ""},
        {0, FIELD_INPUT_TYPES, "[\"x\"]"},
        {2, FIELD_INPUT_SHAPES, ""},
        {2, FIELD_INPUT_STRIDES, "[[1, 2]]"},
        {3, FIELD_CONCRETE_INPUTS, "\"\""},
        {3, FIELD_INPUT_TYPES, ""},
        {6, FIELD_GRID, "[1,2,3]"},
        {6, FIELD_BLOCK, "[4, 1]"},
        {6, FIELD_REGISTERS, "32"},
        {6, FIELD_SHARED_MEMORY, "-1.50e3"},
        {6, FIELD_OCCUPANCY, "null"},
        {7, FIELD_SHARED_MEMORY, "32"},
        {7, FIELD_GRID, ""},
        {8, FIELD_GRID, "32"},
        {8, FIELD_REGISTERS, ""},
        {10, FIELD_INPUT_SHAPES, "[[11, 22], [33, 44]]"},
        {11, FIELD_INPUT_SHAPES, ""},
        {11, FIELD_INPUT_TYPES, "[[11, 22], [33, 44]]"},
    };
    static const struct requested_field fields_of[] = {{"args", ASK_ARGUMENTS, true}, {"args", ASK_LAUNCH, true}};
    static const struct requested_field id = {"id", ASK_KEY, true};
    for (unsigned ahead = PREFETCH_NOTHING; ahead <= PREFETCH_ALL; ahead++) {
        struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
        context->prefetch_columns = ahead;
        struct sutra_device_trace *trace = parse(context, text, sizeof text - 1);
        struct requested_column columns[2];
        assert_int_equal(event_columns_are_complete(trace, &fields_of[0]), !!(ahead & PREFETCH_ARGUMENTS));
        assert_int_equal(event_columns_are_complete(trace, &fields_of[1]), !!(ahead & PREFETCH_LAUNCHES));
        assert_int_equal(event_columns_are_complete(trace, &id), !!(ahead & PREFETCH_IDS));
        assert_int_equal(event_columns_request(context, trace, fields_of, 2, NULL, N_EVENTS, columns, NULL), SUTRA_OK);
        const uint32_t *arguments = columns[0].string, *launches = columns[1].string;
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            const uint32_t *of = expected[i].field < FIELD_GRID ? arguments : launches;
            const char *whole = strings_text(event_columns_strings(trace), of[expected[i].event]);
            size_t length;
            assert_string_equal(inputs_find(whole, expected[i].field, &length), expected[i].bytes);
            assert_int_equal(length, strlen(expected[i].bytes));
        }
        assert_int_equal(arguments[0], arguments[1]);
        for (row_t event = 4; event < 10; event++)
            assert_int_equal(arguments[event], event == 8 ? arguments[0] : STRING_NONE);
        assert_int_equal(arguments[10], arguments[12]);
        for (row_t event = 0; event < 6; event++)
            assert_int_equal(launches[event], STRING_NONE);
        assert_int_equal(launches[6], launches[9]);
        assert_int_not_equal(launches[7], launches[8]);
        sutra_device_trace_free(trace);
        sutra_context_free(context);
    }
}

static double number_of(const struct requested_column *column, row_t event) {
    return number_as_double(number_at(column->number, event));
}

static void values_have_the_requested_form(void **state) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct sutra_device_trace *trace = parse(context, trace_text, sizeof trace_text - 1);
    struct requested_column columns[N_FIELDS];
    assert_int_equal(event_columns_request(context, trace, fields, N_FIELDS, NULL, 5, columns, NULL), SUTRA_OK);
    const struct strings *strings = event_columns_strings(trace);
    assert_memory_equal(trace->document.source.bytes + columns[GRID].place[0].at, "[1,2,3]", 7);
    assert_int_equal(columns[GRID].place[1].at, 0);
    assert_true(number_of(&columns[OCCUPANCY], 0) == 12.5);
    assert_true(isnan(number_of(&columns[OCCUPANCY], 1)));
    assert_true(number_of(&columns[OCCUPANCY], 2) == 2);
    assert_true(isnan(number_of(&columns[OCCUPANCY], 3)));
    assert_int_equal(columns[N_ELEMENTS].key[0], 7);
    assert_int_equal(columns[N_ELEMENTS].key[1], 7);
    assert_true(columns[N_ELEMENTS].key[2] == KEY_UNHASHABLE);
    assert_true(columns[N_ELEMENTS].key[3] == KEY_ABSENT);
    assert_string_equal(strings_text(strings, columns[DTYPE].string[0]), "Float");
    assert_string_equal(strings_text(strings, columns[DTYPE].string[1]), "Half");
    assert_int_equal(columns[DTYPE].string[2], columns[DTYPE].string[0]);
    assert_int_equal(columns[DTYPE].string[3], STRING_NONE);
    assert_int_equal(columns[ID].key[0], 5);
    assert_true(columns[ID].key[1] < KEY_INTEGERS);
    assert_true(columns[ID].key[2] == KEY_ABSENT);
    assert_true(number_of(&columns[EXTRA], 4) == 9);
    assert_true(isnan(number_of(&columns[EXTRA], 3)));
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* One name in two spellings; a duplicate "args" replaces the earlier one. */
static void key_applies_only_to_requested_events(void **state) {
    static const char text[] = "{\"traceEvents\":[{\"k\":1,\"args\":{\"k\":2,\"k\":\"3\"}},"
                               "{\"args\":{\"k\":4},\"args\":{\"l\":{\"k\":5}},\"\\u006b\":6},"
                               "{\"args\":{\"k\":7},\"args\":{}},{\"k\":9,\"args\":{\"k\":10,\"k\":\"11\"}},{}]}";
    static const value_key outer[] = {1, 6, KEY_ABSENT, 9, KEY_ABSENT};
    static const value_key inner[] = {3, KEY_ABSENT, KEY_ABSENT, 11, KEY_ABSENT};
    static const char *const inner_text[] = {"3", NULL, NULL, "11", NULL};
    static const struct requested_field three[] = {
        {"k", ASK_INT, true}, {"k", ASK_INT, false}, {"k", ASK_STRING, false}};
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct sutra_device_trace *trace = parse(context, text, sizeof text - 1);
    struct requested_column columns[3];
    assert_int_equal(event_columns_request(context, trace, three, 3, NULL, 5, columns, NULL), SUTRA_OK);
    for (row_t event = 0; event < 5; event++) {
        assert_int_equal(columns[0].key[event], outer[event]);
        assert_int_equal(columns[1].key[event], inner[event]);
        uint32_t number = columns[2].string[event];
        assert_int_equal(number == STRING_NONE, inner_text[event] == NULL);
        if (inner_text[event])
            assert_string_equal(strings_text(event_columns_strings(trace), number), inner_text[event]);
    }
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void cached_values_are_not_read_again(void **state) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct sutra_device_trace *trace = parse(context, trace_text, sizeof trace_text - 1);
    struct requested_column first[2], second[2];
    const row_t some[] = {2, ROW_NONE, 2}, more[] = {0, 2};
    assert_int_equal(event_columns_request(context, trace, &fields[OCCUPANCY], 1, some, 3, first, NULL), SUTRA_OK);
    assert_true(number_of(&first[0], 2) == 2);
    number_set(first[0].number, 2, number_integer(77));
    assert_int_equal(event_columns_request(context, trace, &fields[OCCUPANCY], 1, more, 2, second, NULL), SUTRA_OK);
    assert_ptr_equal(first[0].number.bits, second[0].number.bits);
    assert_true(number_of(&second[0], 0) == 12.5);
    assert_true(number_of(&second[0], 2) == 77);
    assert_int_equal(event_columns_request(context, trace, &fields[OCCUPANCY], 2, more, 2, second, NULL), SUTRA_OK);
    assert_int_equal(second[1].key[0], 7);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* Many events, each with one of a few names, the later ones first seen much later. */
static void make_many(struct buffer *text, unsigned n) {
    char event[96];
    buffer_append(text, "{\"traceEvents\":[", 16);
    for (unsigned i = 0; i < n; i++) {
        int length = snprintf(event, sizeof event, "%s{\"args\":{\"dtype\":\"type %u\",\"k\":%u}}", i ? "," : "",
                              i * 7919 % 13 + i / 5000, i);
        buffer_append(text, event, (size_t)length);
    }
    buffer_append(text, "]}", 2);
    assert_false(text->failed);
}

static void numbers_of_strings_do_not_depend_on_threads(void **state) {
    enum { N_EVENTS = 20000 };
    static const struct requested_field both[] = {{"dtype", ASK_STRING, false}, {"k", ASK_INT, false}};
    uint32_t of_one[N_EVENTS];
    struct buffer text = {0};
    make_many(&text, N_EVENTS);
    for (unsigned n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct sutra_context *context = NEW_CONTEXT(.n_threads = n_threads);
        struct sutra_device_trace *trace = parse(context, text.bytes, text.length);
        struct requested_column columns[2];
        assert_int_equal(event_columns_request(context, trace, both, 2, NULL, N_EVENTS, columns, NULL), SUTRA_OK);
        for (row_t event = 0; event < N_EVENTS; event++)
            assert_int_equal(columns[1].key[event], event);
        if (n_threads == 1)
            memcpy(of_one, columns[0].string, sizeof of_one);
        assert_memory_equal(of_one, columns[0].string, sizeof of_one);
        assert_int_equal(of_one[0], 0);
        assert_int_equal(of_one[1], 1);
        sutra_device_trace_free(trace);
        sutra_context_free(context);
    }
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evicted_columns_are_read_again),
        cmocka_unit_test(input_fields_share_one_column),
        cmocka_unit_test(values_have_the_requested_form),
        cmocka_unit_test(key_applies_only_to_requested_events),
        cmocka_unit_test(cached_values_are_not_read_again),
        cmocka_unit_test(numbers_of_strings_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
