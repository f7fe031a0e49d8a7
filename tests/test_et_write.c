/*
 * test_et_write.c - tests the bytes of a node with Google's own reader: protoc decodes them by
 * host/simulate/chakra_et.proto, with attributes of each type.
 */
#include "simulate/et_file.h"
#include "unit.h"

struct value_case {
    const char *name;
    enum et_kind kind;
    uint64_t bits;
    const char *text;   /* of a string, bytes or list */
    const char *member; /* as protoc writes it */
};

static const struct value_case values[] = {
    {"a", ET_NO_VALUE, 0, NULL, NULL},
    {"b", ET_DOUBLE, 0x3ff8000000000000, NULL, "double_val: 1.5"},
    {"c", ET_FLOAT, 0x3fc00000, NULL, "float_val: 1.5"},
    {"d", ET_INT32, (uint64_t)-2, NULL, "int32_val: -2"},
    {"e", ET_INT64, (uint64_t)INT64_MIN, NULL, "int64_val: -9223372036854775808"},
    {"f", ET_UINT32, UINT32_MAX, NULL, "uint32_val: 4294967295"},
    {"g", ET_UINT64, UINT64_MAX, NULL, "uint64_val: 18446744073709551615"},
    {"h", ET_SINT32, (uint64_t)-3, NULL, "sint32_val: -3"},
    {"i", ET_SINT64, (uint64_t)INT64_MAX, NULL, "sint64_val: 9223372036854775807"},
    {"j", ET_FIXED32, 7, NULL, "fixed32_val: 7"},
    {"k", ET_FIXED64, 8, NULL, "fixed64_val: 8"},
    {"l", ET_SFIXED32, (uint64_t)-9, NULL, "sfixed32_val: -9"},
    {"m", ET_SFIXED64, (uint64_t)-10, NULL, "sfixed64_val: -10"},
    {"n", ET_BOOL, 0, NULL, "bool_val: false"},
    {"o", ET_STRING, 0, "", "string_val: \"\""},
    {"p", ET_BYTES, 0, "xy", "bytes_val: \"xy\""},
    {"q", ET_INT64 + 1, 0, "\n\002\001\002", "int64_list {\n    values: 1\n    values: 2\n  }"},
};

#define N_VALUES (sizeof values / sizeof *values)

static void put_value(struct et_nodes *nodes, size_t i) {
    const struct value_case *value = &values[i];
    struct et_attributes *attributes = &nodes->attributes;
    attributes->name[i] = strings_intern(&nodes->names, value->name, strlen(value->name));
    attributes->kind[i] = (uint8_t)value->kind;
    attributes->length[i] = value->text ? (uint32_t)strlen(value->text) : 0;
    if (value->text)
        attributes->value[i].bytes = value->text;
    else
        attributes->value[i].bits = value->bits;
}

/* One node with every field. */
static void make_node(struct et_nodes *nodes) {
    static const char *const texts[] = {"aten::mm", "[1]", "", "['Int']", "", "", ""};
    assert_int_equal(et_nodes_begin(nodes, NULL), SUTRA_OK);
    assert_int_equal(et_nodes_take(nodes, 1, 1, 2, N_VALUES, NULL), SUTRA_OK);
    nodes->id[0] = UINT64_MAX;
    nodes->type[0] = ET_COMP;
    nodes->start_us[0] = 300;
    nodes->duration_us[0] = 127;
    nodes->flags[0] = ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    for (int i = 0; i < ET_TEXT_COLUMNS; i++)
        et_text_set(nodes->text[i], 0, (struct et_text){texts[i], (uint32_t)strlen(texts[i])});
    nodes->ctrl.ids[0] = 128;
    nodes->data.ids[0] = 0;
    nodes->data.ids[1] = 16384;
    nodes->ctrl.first[1] = 1;
    nodes->data.first[1] = 2;
    nodes->attr_first[1] = N_VALUES;
    for (size_t i = 0; i < N_VALUES; i++)
        put_value(nodes, i);
}

static char *expected_text(void) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fputs(
        "id: 18446744073709551615\nname: \"aten::mm\"\ntype: COMP_NODE\nctrl_deps: 128\ndata_deps: 0\ndata_deps: 16384\n"
        "start_time_micros: 300\nduration_micros: 127\ninputs {\n  values: \"[1]\"\n  types: \"[\\'Int\\']\"\n}\n"
        "outputs {\n}\n",
        file);
    for (size_t i = 0; i < N_VALUES; i++) {
        fprintf(file, "attr {\n  name: \"%s\"\n", values[i].name);
        if (values[i].member)
            fprintf(file, "  %s\n", values[i].member);
        fputs("}\n", file);
    }
    assert_int_equal(fclose(file), 0);
    return text;
}

/* The message as protoc writes it; NULL: there is no protoc. */
static char *decoded(const char *bytes, size_t n) {
    char path[] = "/tmp/sutra_et_XXXXXX", command[200];
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0 && write(descriptor, bytes, n) == (ssize_t)n);
    close(descriptor);
    snprintf(command, sizeof command,
             "protoc --decode=ChakraProtoMsg.Node -Ihost/simulate host/simulate/chakra_et.proto <%s 2>/dev/null", path);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    char *text = calloc(1, 1 << 14);
    assert_non_null(text);
    size_t length = fread(text, 1, (1 << 14) - 1, pipe);
    int status = pclose(pipe);
    unlink(path);
    if (status == 0 && length > 0)
        return text;
    free(text);
    return NULL;
}

static void protoc_reads_every_field(void **state) {
    struct et_nodes nodes;
    struct buffer bytes = {0};
    if (system("protoc --version >/dev/null 2>&1") != 0)
        skip();
    make_node(&nodes);
    et_write_node(&nodes, 0, &bytes);
    assert_false(bytes.failed);
    size_t n_length = 0; /* of the length before the message */
    while (bytes.bytes[n_length++] & 0x80)
        continue;
    char *text = decoded(bytes.bytes + n_length, bytes.length - n_length), *expected = expected_text();
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    buffer_free(&bytes);
    et_nodes_free(&nodes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(protoc_reads_every_field)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
