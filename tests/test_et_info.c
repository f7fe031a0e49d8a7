/*
 * test_et_info.c - tests longest chains, widths and communication totals of graphs that are drawn below.
 */
#include "et_bytes.h"
#include "one_context.h"
#include "simulate/et_file.h"
#include "unit.h"

static void put_node(struct buffer *file, uint64_t id, uint64_t duration_us, const char *ctrl, const char *data) {
    struct buffer node = {0};
    put_number(&node, 1, id);
    put_number(&node, 3, ET_COMP);
    put_text(&node, 4, ctrl);
    put_text(&node, 5, data);
    put_number(&node, 7, duration_us);
    put_attribute(&node, 10, "is_cpu_op", ET_BOOL, id % 2);
    put_into_file(file, &node);
    buffer_free(&node);
}

static void put_collective(struct buffer *file, uint64_t id, const char *group, uint64_t type, uint64_t size) {
    struct buffer node = {0};
    put_number(&node, 1, id);
    put_number(&node, 3, ET_COMM_COLL);
    put_text_attribute(&node, 10, "pg_name", group);
    put_attribute(&node, 10, "comm_type", ET_INT64, type);
    put_attribute(&node, 10, "comm_size", ET_INT64, size);
    put_into_file(file, &node);
    buffer_free(&node);
}

static struct sutra_et *read_file(struct buffer *file) {
    struct sutra_et *et = NULL;
    assert_int_equal(sutra_et_parse(context, "a.0.et", file->bytes, file->length, NULL, &et, NULL), SUTRA_OK);
    buffer_free(file);
    return et;
}

static struct sutra_et_info info_of(struct sutra_et *et) {
    struct sutra_et_info info = {.size = sizeof info};
    assert_int_equal(sutra_et_info(context, et, &info, NULL), SUTRA_OK);
    return info;
}

/*
 *      1 (5)        one level, then two, then two, then one; the longest chain is 1 3 5, the way by 2 and 4 is longer
 *      |   \        in nodes
 *    2 (1) 3 (9)    6 waits for itself, 7 for 6, and 8 for a node that is not there
 *      |     |
 *    4 (1)   |
 *      |    /
 *      5 (2)
 */
static void chains_and_widths_equal_the_drawing(void **state) {
    struct buffer file = {0};
    add_varint(&file, 0);
    put_node(&file, 5, 2, "\4", "\3");
    put_node(&file, 1, 5, "", "");
    put_node(&file, 2, 1, "\1", "\1");
    put_node(&file, 3, 9, "", "\1");
    put_node(&file, 4, 1, "\2", "");
    put_node(&file, 6, 50, "\6", "");
    put_node(&file, 7, 50, "", "\6");
    put_node(&file, 8, 3, "", "\11");
    struct sutra_et *et = read_file(&file);
    struct sutra_et_info info = info_of(et);
    assert_int_equal(info.n_nodes, 8);
    assert_int_equal(info.n_cpu, 4);
    assert_int_equal(info.n_ctrl, 4);
    assert_int_equal(info.n_data, 5);
    assert_int_equal(info.n_absent, 1);
    assert_int_equal(info.n_cyclic, 2);
    assert_int_equal(info.critical_us, 16);
    assert_int_equal(info.n_levels, 4);
    assert_int_equal(info.width, 2);
    assert_int_equal(info.us_least, 1);
    assert_int_equal(info.us_most, 50);
    assert_int_equal(info.us_total, 121);
    assert_string_equal(info.schema, "");
    sutra_et_free(et);
}

static void communication_is_summed_by_type_and_group(void **state) {
    struct buffer file = {0};
    add_varint(&file, 0);
    put_collective(&file, 1, "7", ET_ALL_GATHER, 10);
    put_collective(&file, 2, "", ET_ALL_REDUCE, 1);
    put_collective(&file, 3, "7", ET_ALL_GATHER, 30);
    put_collective(&file, 4, "8", ET_ALL_GATHER, UINT64_MAX / 2);
    put_collective(&file, 5, "8", 99, 5);
    put_collective(&file, 6, "8", ET_ALL_GATHER, UINT64_MAX / 2);
    put_collective(&file, 7, "8", ET_ALL_GATHER, UINT64_MAX / 2);
    struct sutra_et *et = read_file(&file);
    struct sutra_et_info info = info_of(et);
    static const struct sutra_et_traffic expected[] = {
        {"ALL_REDUCE", "", 1, 1, 1, 1},
        {"ALL_GATHER", "7", 2, 40, 10, 30},
        {"ALL_GATHER", "8", 3, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 2},
        {"UNKNOWN", "8", 1, 5, 5, 5},
    };
    assert_int_equal(info.n_traffic, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(info.traffic[i].type, expected[i].type);
        assert_string_equal(info.traffic[i].group, expected[i].group);
        assert_int_equal(info.traffic[i].count, expected[i].count);
        assert_true(info.traffic[i].bytes == expected[i].bytes);
        assert_true(info.traffic[i].bytes_least == expected[i].bytes_least);
        assert_true(info.traffic[i].bytes_most == expected[i].bytes_most);
    }
    assert_int_equal(info_of(et).n_traffic, 4); /* second call */
    sutra_et_free(et);
}

static void empty_file_has_no_nodes(void **state) {
    struct buffer file = {0};
    add_varint(&file, 0);
    struct sutra_et *et = read_file(&file);
    struct sutra_et_info info = info_of(et);
    assert_int_equal(info.n_nodes, 0);
    assert_int_equal(info.critical_us, 0);
    assert_int_equal(info.us_least, 0);
    assert_int_equal(info.n_traffic, 0);
    sutra_et_free(et);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_and_widths_equal_the_drawing),
        cmocka_unit_test(communication_is_summed_by_type_and_group),
        cmocka_unit_test(empty_file_has_no_nodes),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
