/*
 * test_et_lines.c - tests the conversion of .et files to JSON lines and back: the same bytes, and errors for malformed
 * lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "et_bytes.h"
#include "one_context.h"
#include "simulate/et_file.h"

static char folder[] = P_tmpdir "/sutra_lines_XXXXXX";
static char lines_path[64], et_path[64];

static int begin(void **state) {
    if (!mkdtemp(folder))
        return -1;
    snprintf(lines_path, sizeof lines_path, "%s/lines", folder);
    snprintf(et_path, sizeof et_path, "%s/et", folder);
    return make_context(state);
}

static int end(void **state) {
    (void)state;
    sutra_context_free(context);
    unlink(lines_path);
    unlink(et_path);
    return rmdir(folder);
}

static struct buffer read_back(const char *path) {
    struct buffer bytes = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;)
        buffer_append(&bytes, &(char){(char)c}, 1);
    fclose(file);
    return bytes;
}

/* ---- There and back ---- */

/* A value of each kind, and a list of two values of it, of the type that it has on the wire. */
static void put_kind(struct buffer *node, unsigned kind, uint64_t one, uint64_t two) {
    static const char wires[] = {1, 5, 0, 0, 0, 0, 0, 0, 5, 1, 5, 1, 0, 2, 2};
    unsigned wire = (unsigned)wires[(kind - 3) / 2];
    struct buffer attribute = {0}, list = {0}, values = {0};
    size_t n = wire == 1 ? 8 : 4;
    char name[16];
    snprintf(name, sizeof name, "kind%u", kind);
    put_text(&attribute, 1, name);
    add_varint(&attribute, kind << 3 | wire);
    if (wire == 0) {
        add_varint(&attribute, one);
        add_varint(&values, one);
        add_varint(&values, two);
    } else if (wire == 2) {
        add_varint(&attribute, 3);
        buffer_append(&attribute, "a\"\n", 3);
        put_bytes(&list, 1, "\x01\x02", 2);
        put_bytes(&list, 1, "", 0);
        put_bytes(&list, 1, "b", 1);
    } else {
        buffer_append(&attribute, &one, n);
        buffer_append(&values, &one, n);
        buffer_append(&values, &two, n);
    }
    put_message(node, 10, &attribute);
    put_text(&attribute, 1, "list");
    put_text(&attribute, 2, "what it is");
    if (wire != 2)
        put_message(&list, 1, &values);
    put_message(&attribute, kind + 1, &list);
    put_message(node, 10, &attribute);
    put_message(&attribute, kind + 1, &list); /* an empty one, without a name */
    put_message(node, 10, &attribute);
    buffer_free(&attribute);
    buffer_free(&list);
    buffer_free(&values);
}

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

static struct buffer make_file(void) {
    struct buffer file = {0}, node = {0}, io = {0};
    put_text(&node, 1, "0.0.4");
    put_text_attribute(&node, 2, "schema", "1.1.1");
    put_into_file(&file, &node);
    put_number(&node, 1, UINT64_MAX);
    put_text(&node, 2, "a\\b \xc3\xa9 \xf0\x9f\x98\x80");
    put_number(&node, 3, ET_COMM_COLL);
    put_bytes(&node, 4, "\x01\x02\x80\x01", 4);
    put_bytes(&node, 5, "\x00", 1);
    put_number(&node, 6, 17);
    put_number(&node, 7, UINT64_MAX);
    put_text(&io, 1, "[1]");
    put_text(&io, 3, "['Int']");
    put_message(&node, 8, &io);
    put_message(&node, 9, &io);
    put_kind(&node, ET_DOUBLE, bits_of(0.1), bits_of(-__builtin_inf()));
    put_kind(&node, ET_FLOAT, bits_of_float(0.1f), bits_of_float(__builtin_inff()));
    put_kind(&node, ET_INT32, UINT64_MAX, INT32_MAX);
    put_kind(&node, ET_INT64, (uint64_t)INT64_MIN, INT64_MAX);
    put_kind(&node, ET_UINT32, 0, UINT32_MAX);
    put_kind(&node, ET_UINT64, 5, UINT64_MAX);
    put_kind(&node, ET_SINT32, 3, UINT32_MAX);
    put_kind(&node, ET_SINT64, 4, UINT64_MAX);
    put_kind(&node, ET_FIXED32, 1, UINT32_MAX);
    put_kind(&node, ET_FIXED64, 1, UINT64_MAX);
    put_kind(&node, ET_SFIXED32, 1, UINT32_MAX);
    put_kind(&node, ET_SFIXED64, 1, UINT64_MAX);
    put_kind(&node, ET_BOOL, 0, 1);
    put_kind(&node, ET_STRING, 0, 0);
    put_kind(&node, ET_BYTES, 0, 0);
    put_into_file(&file, &node);
    put_number(&node, 3, 99);
    put_bytes(&node, 10, "", 0);
    put_into_file(&file, &node);
    put_number(&node, 3, (uint64_t)-3);
    put_into_file(&file, &node);
    buffer_free(&node);
    buffer_free(&io);
    return file;
}

/* A file that was read from JSON gives these bytes. */
static void check_back(const char *path, const struct buffer *file) {
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    if (sutra_et_read_lines(context, path, &et, &error))
        fail_msg("byte %u, line %u: %s", (unsigned)error.offset, (unsigned)error.line, error.message);
    assert_int_equal(sutra_et_write(context, et, et_path, NULL, &error), SUTRA_OK);
    sutra_et_free(et);
    struct buffer back = read_back(et_path);
    assert_int_equal(back.length, file->length);
    assert_memory_equal(back.bytes, file->bytes, file->length);
    buffer_free(&back);
}

static void lines_and_back_give_the_same_bytes(void **state) {
    (void)state;
    struct buffer file = make_file();
    struct sutra_et *et = NULL;
    struct sutra_error error;
    assert_int_equal(sutra_et_parse(context, "a.et", file.bytes, file.length, NULL, &et, &error), SUTRA_OK);
    for (int layout = SUTRA_ET_CHAKRA; layout <= SUTRA_ET_LINES; layout++) {
        bool known = false;
        assert_int_equal(sutra_et_write_json(context, et, (enum sutra_et_layout)layout, lines_path, NULL, &error), 0);
        assert_int_equal(sutra_is_et_lines(lines_path, &known, &error), SUTRA_OK);
        assert_true(known);
        check_back(lines_path, &file);
    }
    sutra_et_free(et);
    buffer_free(&file);
}

/* ---- Small files ---- */

#define META "{\"attr\": []}\n"

static void members_may_come_in_any_order_and_numbers_without_quotes(void **state) {
    (void)state;
    static const char text[] = "{}{ \"type\": 4, \"dataDeps\": [1, \"2\"], \"id\": 3, \"na\\u006de\": \"\\u00e9\","
                               "\"attr\": [{\"int64Val\": -1, \"name\": \"x\"}] }";
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    assert_int_equal(sutra_et_parse_lines(context, "lines", text, strlen(text), &et, &error), SUTRA_OK);
    const struct et_nodes *nodes = &et->file.nodes;
    assert_int_equal(nodes->n, 1);
    assert_int_equal(nodes->id[0], 3);
    assert_int_equal(nodes->type[0], ET_COMP);
    assert_int_equal(nodes->data.ids[1], 2);
    assert_memory_equal(nodes->text[ET_NODE_NAME].bytes[0], "\xc3\xa9", 2);
    assert_true(nodes->attributes.value[0].bits == UINT64_MAX);
    sutra_et_free(et);
}

static void fields_outside_the_schema_are_errors_with_a_line(void **state) {
    (void)state;
    static const char *const texts[] = {
        META "[]",
        META "{\"id\": \"-1\"}",
        META "{\"id\": 1.5}",
        META "{\"id\": \"18446744073709551616\"}",
        META "{\"id\": \"\"}",
        META "{\"idd\": 1}",
        META "{\"name\": 1}",
        META "{\"name\": \"\\ud800\"}",
        META "{\"type\": \"COMP\"}",
        META "{\"type\": 2147483648}",
        META "{\"ctrlDeps\": 1}",
        META "{\"ctrlDeps\": [true]}",
        META "{\"inputs\": {\"value\": \"\"}}",
        META "{\"attr\": [{\"int32Val\": 2147483648}]}",
        META "{\"attr\": [{\"int64Val\": \"9223372036854775808\"}]}",
        META "{\"attr\": [{\"boolVal\": 1}]}",
        META "{\"attr\": [{\"doubleVal\": \"inf\"}]}",
        META "{\"attr\": [{\"bytesVal\": \"YQ=\"}]}",
        META "{\"attr\": [{\"bytesVal\": \"Y===\"}]}",
        META "{\"attr\": [{\"bytesVal\": \"Y*==\"}]}",
        META "{\"attr\": [{\"int64Val\": \"1\", \"boolVal\": true}]}",
        META "{\"attr\": [{\"int64List\": {\"value\": []}}]}",
        META "{\"attr\": [{\"int64Lists\": {}}]}",
        META "{\"id\": 1",
        META "{\"id\": 1} x",
        "\n{\"id\": 1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sutra_et *et = NULL;
        struct sutra_error error = {0};
        enum sutra_status status = sutra_et_parse_lines(context, "lines", texts[i], strlen(texts[i]), &et, &error);
        if (status != SUTRA_DATA || error.line != 2)
            fail_msg("%s: status %d, line %u", texts[i], (int)status, (unsigned)error.line);
        assert_null(et);
    }
}

static void lines_are_known_by_their_first_object(void **state) {
    (void)state;
    static const char *const lines[] = {"{\"attr\": [", " { \"version\" : \"1\"", "{}\n{\"id\""};
    static const char *const others[] = {"", "{", "{\"nodes\": []}", "{\"schema\": \"1.1.1\"}", "[]", "\x1f\x12"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_true(is_et_lines(lines[i], strlen(lines[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_et_lines(others[i], strlen(others[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_back_give_the_same_bytes),
        cmocka_unit_test(members_may_come_in_any_order_and_numbers_without_quotes),
        cmocka_unit_test(fields_outside_the_schema_are_errors_with_a_line),
        cmocka_unit_test(lines_are_known_by_their_first_object),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
