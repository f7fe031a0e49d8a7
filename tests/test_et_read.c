/*
 * test_et_read.c - tests reading .et files: protobuf's rules, and errors for truncated and damaged files.
 */
#include "et_bytes.h"
#include "one_context.h"
#include "simulate/et_file.h"
#include "unit.h"
#include "write/sink.h"

static void put_metadata(struct buffer *file) {
    struct buffer message = {0};
    put_text_attribute(&message, 2, "schema", "1.1.1-chakra.0.0.4");
    put_into_file(file, &message);
    buffer_free(&message);
}

/* Two nodes with something of everything. */
static struct buffer make_file(void) {
    struct buffer file = {0}, node = {0}, io = {0};
    put_metadata(&file);
    put_number(&node, 1, 7);
    put_text(&node, 2, "aten::mm");
    put_number(&node, 3, ET_COMP);
    put_bytes(&node, 4, "\x01\x02", 2);
    put_number(&node, 7, 300);
    put_text(&io, 1, "[1, 2]");
    put_message(&node, 8, &io);
    put_attribute(&node, 10, "is_cpu_op", ET_BOOL, 1);
    put_attribute(&node, 10, "rf_id", ET_INT64, UINT64_MAX);
    put_into_file(&file, &node);
    put_number(&node, 1, 8);
    put_text(&node, 2, "kernel");
    put_number(&node, 3, ET_COMM_COLL);
    put_number(&node, 5, 7);
    put_text_attribute(&node, 10, "pg_name", "0");
    put_into_file(&file, &node);
    buffer_free(&node);
    buffer_free(&io);
    return file;
}

static struct sutra_et *read_file(const struct buffer *file, bool damaged, struct sutra_error *error) {
    struct sutra_et_read_options options = {.size = sizeof options, .damaged = damaged};
    struct sutra_et *et = NULL;
    enum sutra_status status = sutra_et_parse(context, "file.et", file->bytes, file->length, &options, &et, error);
    assert_true((status == SUTRA_OK) == (et != NULL));
    return et;
}

static void columns_equal_the_messages(void **state) {
    struct buffer file = make_file();
    struct sutra_error error;
    struct sutra_et *et = read_file(&file, false, &error);
    assert_non_null(et);
    const struct et_nodes *nodes = &et->file.nodes;
    assert_int_equal(nodes->n, 2);
    assert_int_equal(nodes->id[0], 7);
    assert_int_equal(nodes->type[1], ET_COMM_COLL);
    assert_int_equal(nodes->duration_us[0], 300);
    assert_int_equal(nodes->ctrl.first[1], 2);
    assert_int_equal(nodes->ctrl.ids[1], 2);
    assert_int_equal(nodes->data.first[2], 1);
    assert_int_equal(nodes->data.ids[0], 7);
    assert_memory_equal(nodes->text[ET_NODE_NAME].bytes[0], "aten::mm", 8);
    assert_memory_equal(nodes->text[ET_INPUT_VALUES].bytes[0], "[1, 2]", 6);
    assert_int_equal(nodes->flags[0], ET_HAS_INPUTS);
    uint64_t rf_id = et_attribute_find(nodes, 0, ET_NAME_RF_ID);
    assert_int_equal(nodes->attributes.kind[rf_id], ET_INT64);
    assert_true((int64_t)nodes->attributes.value[rf_id].bits == -1);
    uint64_t pg_name = et_attribute_find(nodes, 1, ET_NAME_PG_NAME);
    assert_int_equal(nodes->attributes.length[pg_name], 1);
    assert_true(et_attribute_find(nodes, 1, ET_NAME_RF_ID) == UINT64_MAX);
    sutra_et_free(et);
    buffer_free(&file);
}

/* Decodes the bytes of one node by protobuf's rules. */
static struct sutra_et *read_one(struct buffer *node, struct sutra_error *error) {
    struct buffer file = {0};
    put_metadata(&file);
    put_into_file(&file, node);
    struct sutra_et *et = read_file(&file, false, error);
    buffer_free(&file);
    buffer_free(node);
    return et;
}

static void last_scalar_field_counts_and_lists_continue(void **state) {
    struct buffer node = {0}, io = {0};
    struct sutra_error error;
    put_number(&node, 1, 5);
    put_number(&node, 4, 1);
    put_bytes(&node, 4, "\x02\x03", 2);
    put_text(&io, 1, "a");
    put_text(&io, 3, "b");
    put_message(&node, 8, &io);
    put_text(&io, 1, "c");
    put_message(&node, 8, &io);
    put_number(&node, 1, 6);
    put_number(&node, 4, 4);
    buffer_free(&io);
    struct sutra_et *et = read_one(&node, &error);
    assert_non_null(et);
    const struct et_nodes *nodes = &et->file.nodes;
    assert_int_equal(nodes->id[0], 6);
    assert_int_equal(nodes->ctrl.first[1], 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(nodes->ctrl.ids[i], i + 1);
    assert_memory_equal(nodes->text[ET_INPUT_VALUES].bytes[0], "c", 1);
    assert_memory_equal(nodes->text[ET_INPUT_TYPES].bytes[0], "b", 1);
    sutra_et_free(et);
}

/* Pieces of one list are one list, but another member of the oneof between them begins anew. */
static void values_of_an_attribute_replace_each_other(void **state) {
    struct buffer node = {0}, attribute = {0};
    struct sutra_error error;
    put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x01", 3);
    put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x02", 3);
    put_message(&node, 10, &attribute);
    put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x01", 3);
    put_number(&attribute, ET_BOOL, 9);
    put_message(&node, 10, &attribute);
    put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x01", 3);
    put_number(&attribute, ET_BOOL, 9);
    put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x02", 3);
    put_message(&node, 10, &attribute);
    buffer_free(&attribute);
    struct sutra_et *et = read_one(&node, &error);
    assert_non_null(et);
    const struct et_attributes *table = &et->file.nodes.attributes;
    assert_int_equal(table->n, 3);
    assert_int_equal(table->length[0], 6);
    assert_memory_equal(table->value[0].bytes, "\x0a\x01\x01\x0a\x01\x02", 6);
    assert_int_equal(table->kind[1], ET_BOOL);
    assert_int_equal(table->value[1].bits, 1);
    assert_int_equal(table->length[2], 3);
    assert_memory_equal(table->value[2].bytes, "\x0a\x01\x02", 3);
    sutra_et_free(et);
}

static void unknown_fields_and_groups_are_skipped(void **state) {
    struct buffer node = {0};
    struct sutra_error error;
    put_number(&node, 100, 3);                                       /* a field that we do not know */
    put_text(&node, 1, "x");                                         /* one that we know, of another type */
    buffer_append(&node, "\x7b\x83\x01\x08\x05\x84\x01\x7c", 8);     /* group 15 with group 16 in it */
    buffer_append(&node, "\x75\x01\x02\x03\x04", 5);                 /* four bytes */
    buffer_append(&node, "\x71\x01\x02\x03\x04\x05\x06\x07\x08", 9); /* eight */
    put_number(&node, 1, 5);
    struct sutra_et *et = read_one(&node, &error);
    assert_non_null(et);
    assert_int_equal(et->file.nodes.id[0], 5);
    sutra_et_free(et);
}

static void malformed_messages_are_errors_with_a_byte_offset(void **state) {
    static const struct {
        const char *bytes;
        size_t length, place; /* after the node's beginning */
        const char *fault;
    } cases[] = {
        {"\x08", 1, 1, "truncated number"},
        {"\x00\x01", 2, 0, "invalid field number"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 1, "number longer than ten bytes"},
        {"\x12\x05"
         "ab",
         4, 1, "length exceeds the enclosing message"},
        {"\x12\x01\xff", 3, 2, "invalid UTF-8"},
        {"\x42\x03\x0a\x01\xc3", 5, 4, "invalid UTF-8"},
        {"\x7b\x08\x05", 3, 3, "truncated group"},
        {"\x7c", 1, 0, "end of a group without its start"},
        {"\x7b\x84\x01", 3, 1, "end of a group without its start"},
        {"\x0e", 1, 0, "invalid field type"},
        {"\x22\x01\x80", 3, 2, "truncated number"},
        {"\x09\x01\x02", 3, 1, "truncated number"},
        {"\x52\x05\x52\x03\x0a\x01\x80", 7, 6, "truncated number"},     /* int64_list */
        {"\x52\x06\xf2\x01\x03\x0a\x01\xff", 8, 7, "invalid UTF-8"},    /* string_list */
        {"\x52\x06\x22\x04\x0a\x02\x01\x02", 8, 6, "truncated number"}, /* double_list */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer node = {0}, start = {0};
        struct sutra_error error;
        put_metadata(&start);
        buffer_append(&node, cases[i].bytes, cases[i].length);
        assert_null(read_one(&node, &error));
        assert_int_equal(error.status, SUTRA_DATA);
        assert_int_equal(error.offset, start.length + 1 + cases[i].place);
        assert_int_equal(error.line, 0);
        assert_non_null(strstr(error.message, "in node 1"));
        assert_non_null(strstr(error.message, cases[i].fault));
        buffer_free(&start);
    }
}

/* Bytes of the file and of the message that ends at `end`. */
static bool ends_a_message(const struct buffer *file, size_t end) {
    size_t at = 0;
    while (at < end)
        at += 1 + (size_t)(unsigned char)file->bytes[at];
    return at == end;
}

static void truncated_file_returns_its_nodes_or_an_error(void **state) {
    struct buffer file = make_file();
    size_t whole = file.length;
    unsigned n_errors = 0;
    for (file.length = 0; file.length < whole; file.length++) {
        struct sutra_error error = {0};
        struct sutra_et *et = read_file(&file, false, &error);
        if (et) {
            assert_true(ends_a_message(&file, file.length) == (et->file.cut_at == ET_NOWHERE));
            assert_true(et->file.nodes.n <= 2);
        } else {
            char text[1024];
            sutra_error_text(&error, text, sizeof text);
            assert_int_equal(error.status, SUTRA_DATA);
            assert_true(error.offset <= file.length);
            assert_null(strchr(text, '\n'));
            n_errors++;
        }
        sutra_et_free(et);
        et = read_file(&file, true, &error);
        assert_non_null(et);
        sutra_et_free(et);
    }
    assert_true(n_errors > whole / 2);
    buffer_free(&file);
}

static void corrupt_file_is_read_up_to_the_corruption(void **state) {
    struct buffer file = make_file(), node = {0};
    struct sutra_error error = {0};
    put_text(&node, 2, "\xff");
    put_into_file(&file, &node);
    assert_null(read_file(&file, false, &error));
    struct sutra_et *et = read_file(&file, true, &error);
    assert_int_equal(et->file.nodes.n, 2);
    assert_int_equal(et->file.damage.status, SUTRA_DATA);
    assert_int_equal(et->file.damage.offset, file.length - 1);
    sutra_et_free(et);
    buffer_free(&node);
    buffer_free(&file);
}

/* More nodes than a part has: names that are new in different parts, documentation, lists in pieces. */
static struct buffer make_long_file(void) {
    struct buffer file = {0}, node = {0}, attribute = {0};
    char name[32];
    put_metadata(&file);
    for (unsigned i = 0; i < 10000; i++) {
        put_number(&node, 1, i + 1);
        put_number(&node, 3, ET_COMP);
        if (i)
            put_number(&node, 5, i);
        snprintf(name, sizeof name, "name %u", i / 3000);
        put_attribute(&node, 10, name, ET_INT64, i);
        put_attribute(&node, 10, "rf_id", ET_INT64, i);
        put_text(&attribute, 1, i % 2 ? "name 0" : "odd");
        put_text(&attribute, 2, name);
        put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x01", 3);
        put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x02", 3);
        put_bytes(&attribute, ET_INT64 + 1, "\x0a\x01\x03", 3);
        put_message(&node, 10, &attribute);
        put_into_file(&file, &node);
    }
    buffer_free(&attribute);
    buffer_free(&node);
    return file;
}

static void parts_are_read_as_if_they_were_one(void **state) {
    static const char *const names[] = {"name 0", "odd", "name 1", "name 2", "name 3"};
    struct buffer file = make_long_file();
    struct sutra_error error;
    struct sutra_et *et = read_file(&file, false, &error);
    assert_non_null(et);
    const struct et_nodes *nodes = &et->file.nodes;
    assert_int_equal(nodes->n, 10000);
    assert_int_equal(nodes->names.n, ET_N_NAMES + 5); /* and these */
    for (row_t row = 0; row < nodes->n; row++) {
        const uint64_t at = nodes->attr_first[row];
        assert_int_equal(nodes->attr_first[row + 1] - at, 3);
        assert_int_equal(nodes->data.first[row + 1] - nodes->data.first[row], row > 0);
        assert_true(row == 0 || nodes->data.ids[nodes->data.first[row]] == row);
        assert_int_equal(nodes->attributes.value[at].bits, row);
        assert_int_equal(nodes->attributes.name[at + 1], ET_NAME_RF_ID);
        assert_string_equal(strings_text(&nodes->names, nodes->attributes.name[at + 2]), names[row % 2 ? 0 : 1]);
        assert_int_equal(nodes->attributes.length[at + 2], 9);
        assert_memory_equal(nodes->attributes.value[at + 2].bytes, "\x0a\x01\x01\x0a\x01\x02\x0a\x01\x03", 9);
        struct et_text doc = et_doc_find(&nodes->attributes, at + 2);
        assert_int_equal(doc.length, 6);
        assert_int_equal(doc.bytes[5], '0' + (char)(row / 3000));
    }
    for (uint32_t i = 0; i < 5; i++) /* numbered in the order of first sight */
        assert_string_equal(strings_text(&nodes->names, ET_N_NAMES + i), names[i]);
    sutra_et_free(et);
    buffer_free(&file);
}

static void corruption_after_the_first_part_is_reported(void **state) {
    struct buffer file = make_long_file(), node = {0};
    struct sutra_error error = {0};
    put_text(&node, 2, "\xff");
    put_into_file(&file, &node);
    put_number(&node, 1, 5);
    put_into_file(&file, &node);
    assert_null(read_file(&file, false, &error));
    assert_non_null(strstr(error.message, "node 10001"));
    struct sutra_et *et = read_file(&file, true, &error);
    assert_int_equal(et->file.nodes.n, 10000);
    sutra_et_free(et);
    buffer_free(&node);
    buffer_free(&file);
}

static void length_0_ends_the_messages(void **state) {
    struct buffer file = make_file(), again = make_file();
    struct sutra_error error;
    size_t whole = file.length;
    add_varint(&file, 0);
    buffer_append(&file, again.bytes, again.length);
    struct sutra_et *et = read_file(&file, false, &error);
    assert_int_equal(et->file.nodes.n, 2);
    assert_int_equal(et->file.empty_at, whole);
    sutra_et_free(et);
    buffer_free(&file);
    buffer_free(&again);
}

static void an_empty_file_has_no_metadata(void **state) {
    struct buffer file = {0};
    struct sutra_error error;
    struct sutra_et *et = read_file(&file, false, &error);
    assert_non_null(et);
    assert_false(et->file.has_metadata);
    sutra_et_free(et);
}

static void a_file_is_known_by_its_first_message(void **state) {
    static const char *const others[] = {"", "{\"schema\": 1}", "{\n  \"nodes\": []\n}", "[1]", "\x02\x08\x01"};
    const char zeros[4] = {0};
    struct buffer file = make_file();
    assert_true(is_et_file(file.bytes, file.length));
    assert_false(is_et_file(file.bytes, 10));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_et_file(others[i], strlen(others[i])));
    assert_false(is_et_file(zeros, sizeof zeros));
    buffer_free(&file);
}

/* A file of `size` bytes, which begin with `beginning` and repeat `byte`, compressed in one piece. */
static struct buffer pack_bytes(enum compression compression, const char *beginning, char byte, size_t size) {
    struct buffer packed = {0};
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, byte, size);
    memcpy(bytes, beginning, strlen(beginning));
    assert_true(compress_piece(compression, bytes, size, &packed));
    free(bytes);
    return packed;
}

static void compressed_files_of_other_formats_are_refused_by_their_first_bytes(void **state) {
    static const struct {
        const char *beginning;
        char byte;
    } others[] = {{"", 0}, {"{\"schema\": 1}", ' '}, {"", (char)0xff}, {"\x02\x08", 1}};
    char path[] = "/tmp/sutra-et-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (size_t i = 0; i < 2 * sizeof others / sizeof *others; i++) {
        struct buffer packed = pack_bytes(i % 2 ? COMPRESSION_GZIP : COMPRESSION_ZSTD, others[i / 2].beginning,
                                          others[i / 2].byte, (size_t)16 << 20);
        struct et_file et = {0};
        struct sutra_error error;
        assert_int_equal(ftruncate(file, 0), 0);
        assert_int_equal(pwrite(file, packed.bytes, packed.length, 0), packed.length);
        if (i / 2 < 3) {
            assert_int_equal(et_open(&et, path, 0, &error), SUTRA_DATA);
            assert_in_range(et.source.size, 1, 1 << 16);
        } else { /* an unknown field */
            assert_int_equal(et_open(&et, path, 0, &error), SUTRA_OK);
            assert_int_equal(et.source.size, (size_t)16 << 20);
        }
        et_file_free(&et);
        buffer_free(&packed);
    }
    close(file);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_equal_the_messages),
        cmocka_unit_test(last_scalar_field_counts_and_lists_continue),
        cmocka_unit_test(values_of_an_attribute_replace_each_other),
        cmocka_unit_test(unknown_fields_and_groups_are_skipped),
        cmocka_unit_test(malformed_messages_are_errors_with_a_byte_offset),
        cmocka_unit_test(truncated_file_returns_its_nodes_or_an_error),
        cmocka_unit_test(corrupt_file_is_read_up_to_the_corruption),
        cmocka_unit_test(parts_are_read_as_if_they_were_one),
        cmocka_unit_test(corruption_after_the_first_part_is_reported),
        cmocka_unit_test(length_0_ends_the_messages),
        cmocka_unit_test(an_empty_file_has_no_metadata),
        cmocka_unit_test(a_file_is_known_by_its_first_message),
        cmocka_unit_test(compressed_files_of_other_formats_are_refused_by_their_first_bytes),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
