/*
 * test_et_json.c - tests the JSON of .et files: values and lists of each kind, texts, types, and both layouts.
 */
#include "et_bytes.h"
#include "one_context.h"
#include "simulate/et_file.h"
#include "unit.h"

/* Checks the JSON of a file. */
static void expect_json(const struct buffer *file, enum sutra_et_layout layout, const char *expected) {
    char path[] = P_tmpdir "/sutra_json_XXXXXX";
    struct sutra_et *et = NULL;
    struct sutra_error error;
    make_temp_file(path, "");
    if (sutra_et_parse(context, "a.et", file->bytes, file->length, NULL, &et, &error) ||
        sutra_et_write_json(context, et, layout, path, NULL, &error))
        fail_msg("%s", error.message);
    sutra_et_free(et);
    char *text = file_text(path, NULL);
    unlink(path);
    assert_string_equal(text, expected);
    free(text);
}

/* The bits of a double, and of a float. */
static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void values_and_lists_have_the_form_of_their_kind(void **state) {
    const struct {
        enum et_kind kind;
        uint64_t one, two; /* as on the wire */
        const char *word, *values[2];
    } cases[] = {
        {ET_DOUBLE, bits_of(0.1), bits_of(-__builtin_inf()), "double", {"0.1", "\"-Infinity\""}},
        {ET_FLOAT, bits_of_float(0.1f), bits_of_float(__builtin_inff()), "float", {"0.1", "\"Infinity\""}},
        {ET_FLOAT, bits_of_float(16777216), bits_of_float(__builtin_nanf("")), "float", {"16777216.0", "\"NaN\""}},
        {ET_INT32, UINT64_MAX, INT32_MAX, "int32", {"-1", "2147483647"}},
        {ET_INT64, (uint64_t)INT64_MIN, 7, "int64", {"\"-9223372036854775808\"", "\"7\""}},
        {ET_UINT32, 0, UINT32_MAX, "uint32", {"0", "4294967295"}},
        {ET_UINT64, 5, UINT64_MAX, "uint64", {"\"5\"", "\"18446744073709551615\""}},
        {ET_SINT32, 3, UINT32_MAX, "sint32", {"-2", "-2147483648"}},
        {ET_SINT64, 4, UINT64_MAX, "sint64", {"\"2\"", "\"-9223372036854775808\""}},
        {ET_FIXED32, 1, UINT32_MAX, "fixed32", {"1", "4294967295"}},
        {ET_FIXED64, 1, UINT64_MAX, "fixed64", {"\"1\"", "\"18446744073709551615\""}},
        {ET_SFIXED32, 1, UINT32_MAX, "sfixed32", {"1", "-1"}},
        {ET_SFIXED64, 1, UINT64_MAX, "sfixed64", {"\"1\"", "\"-1\""}},
        {ET_BOOL, 0, 1, "bool", {"false", "true"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum wire_type wire = et_wire_type(cases[i].kind);
        const size_t n = wire == WIRE_64 ? 8 : 4;
        struct buffer file = {0}, node = {0}, attribute = {0}, list = {0}, values = {0};
        char expected[300];
        put_into_file(&file, &node);
        add_varint(&attribute, cases[i].kind << 3 | wire);
        if (wire == WIRE_VARINT) {
            add_varint(&attribute, cases[i].one);
            add_varint(&values, cases[i].one);
            add_varint(&values, cases[i].two);
        } else {
            buffer_append(&attribute, &cases[i].one, n);
            buffer_append(&values, &cases[i].one, n);
            buffer_append(&values, &cases[i].two, n);
        }
        put_message(&node, 10, &attribute);
        put_text(&attribute, 1, "list");
        put_text(&attribute, 2, "doc");
        put_message(&list, 1, &values);
        put_message(&attribute, cases[i].kind + 1, &list);
        put_message(&node, 10, &attribute);
        put_message(&attribute, cases[i].kind + 1, &list); /* an empty list */
        put_message(&node, 10, &attribute);
        put_into_file(&file, &node);
        snprintf(
            expected, sizeof expected,
            "{}\n{\"attr\": [{\"%sVal\": %s}, {\"name\": \"list\", \"docString\": \"doc\", \"%sList\": {\"values\": "
            "[%s, %s]}}, {\"%sList\": {}}]}\n",
            cases[i].word, cases[i].values[0], cases[i].word, cases[i].values[0], cases[i].values[1], cases[i].word);
        expect_json(&file, SUTRA_ET_LINES, expected);
        buffer_free(&file);
        buffer_free(&node);
        buffer_free(&attribute);
        buffer_free(&list);
        buffer_free(&values);
    }
}

static void strings_are_escaped_and_bytes_are_in_base64(void **state) {
    struct buffer file = {0}, node = {0}, attribute = {0}, list = {0};
    put_into_file(&file, &node);
    put_text(&node, 2, "a\\b \xc3\xa9 \xf0\x9f\x98\x80");
    put_text(&attribute, ET_STRING, "a\"\n");
    put_message(&node, 10, &attribute);
    put_bytes(&attribute, ET_BYTES, "\xff\x00\x10", 3);
    put_message(&node, 10, &attribute);
    put_bytes(&list, 1, "\x01\x02", 2);
    put_bytes(&list, 1, "", 0);
    put_bytes(&list, 1, "b", 1);
    put_message(&attribute, ET_BYTES + 1, &list);
    put_message(&node, 10, &attribute);
    put_into_file(&file, &node);
    expect_json(&file, SUTRA_ET_LINES,
                "{}\n{\"name\": \"a\\\\b \\u00e9 \\ud83d\\ude00\", \"attr\": [{\"stringVal\": \"a\\\"\\n\"}, "
                "{\"bytesVal\": \"/wAQ\"}, {\"bytesList\": {\"values\": [\"AQI=\", \"\", \"Yg==\"]}}]}\n");
    buffer_free(&file);
    buffer_free(&node);
    buffer_free(&attribute);
    buffer_free(&list);
}

static void fields_ascend_and_unknown_types_are_numbers(void **state) {
    struct buffer file = {0}, node = {0}, io = {0};
    put_text(&node, 1, "0.0.4");
    put_text_attribute(&node, 2, "schema", "1.1.1");
    put_into_file(&file, &node);
    put_number(&node, 7, UINT64_MAX);
    put_number(&node, 6, 17);
    put_bytes(&node, 5, "\x00", 1);
    put_bytes(&node, 4, "\x01\x80\x01", 3);
    put_number(&node, 3, ET_COMM_COLL);
    put_number(&node, 1, 3);
    put_text(&io, 1, "[1]");
    put_text(&io, 3, "['Int']");
    put_message(&node, 8, &io);
    put_message(&node, 9, &io);
    put_into_file(&file, &node);
    put_number(&node, 3, 99);
    put_bytes(&node, 10, "", 0);
    put_into_file(&file, &node);
    put_number(&node, 3, (uint64_t)-3);
    put_into_file(&file, &node);
    expect_json(&file, SUTRA_ET_LINES,
                "{\"version\": \"0.0.4\", \"attr\": [{\"name\": \"schema\", \"stringVal\": \"1.1.1\"}]}\n"
                "{\"id\": \"3\", \"type\": \"COMM_COLL_NODE\", \"ctrlDeps\": [\"1\", \"128\"], \"dataDeps\": [\"0\"], "
                "\"startTimeMicros\": \"17\", \"durationMicros\": \"18446744073709551615\", \"inputs\": {\"values\": "
                "\"[1]\", \"types\": \"['Int']\"}, \"outputs\": {}}\n"
                "{\"type\": 99, \"attr\": [{}]}\n{\"type\": -3}\n");
    buffer_free(&file);
    buffer_free(&node);
    buffer_free(&io);
}

static void objects_of_chakra_jsonizer_are_indented(void **state) {
    struct buffer file = {0}, node = {0};
    put_text_attribute(&node, 2, "schema", "1");
    put_into_file(&file, &node);
    put_number(&node, 1, 1);
    put_bytes(&node, 5, "\x02", 1);
    put_into_file(&file, &node);
    put_number(&node, 1, 2);
    put_into_file(&file, &node);
    expect_json(&file, SUTRA_ET_CHAKRA,
                "{\n  \"attr\": [\n    {\n      \"name\": \"schema\",\n      \"stringVal\": \"1\"\n    }\n  ]\n}"
                "{\n  \"id\": \"1\",\n  \"dataDeps\": [\n    \"2\"\n  ]\n}{\n  \"id\": \"2\"\n}");
    buffer_free(&file);
    buffer_free(&node);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_lists_have_the_form_of_their_kind),
        cmocka_unit_test(strings_are_escaped_and_bytes_are_in_base64),
        cmocka_unit_test(fields_ascend_and_unknown_types_are_numbers),
        cmocka_unit_test(objects_of_chakra_jsonizer_are_indented),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
