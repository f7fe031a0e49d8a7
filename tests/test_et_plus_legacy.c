/*
 * test_et_plus_legacy.c - tests the conversion of ET+ of link-legacy: CPU nodes have "dur" and "ts", GPU nodes are copies
 * of events with a parent.
 */
#include "et_plus_text.h"
#include "unit.h"

#define FLAT_IO                                                                                                        \
    "\"inputs\": [" TENSOR(10, 4) "], \"input_shapes\": [[10]], \"input_types\": [\"Tensor(float)\"], "                \
                                  "\"outputs\": [], \"output_shapes\": [], \"output_types\": []"

/* Members of a CPU node of schema 1.0.1, and of a GPU node. */
#define CPU(id, name, parent, tid, times)                                                                              \
    "{\"id\": " #id ", \"name\": \"" name "\", \"parent\": " #parent ", \"tid\": " #tid ", \"rf_id\": 1" #id           \
    ", \"fw_parent\": 0, \"seq_id\": -1, \"scope\": 0, \"fw_tid\": 0, \"op_schema\": \"\", " FLAT_IO times "},"
#define TIMES(ts, dur) ", \"dur\": " #dur ", \"ts\": " #ts
#define GPU(id, name, parent, dur, args)                                                                               \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": 0, \"tid\": 9, \"ts\": 15, \"dur\": " #dur  \
    ", \"args\": {\"correlation\": 8" args "}, \"parent\": " #parent ", \"id\": " #id ", " FLAT_IO "},"
#define STREAM  ", \"stream\": 7"
#define THREADS CPU(1, PROCESS, 1, 0, TIMES(10, 90)) CPU(2, THREAD, 1, 1, TIMES(10, 90))
#define LAST    CPU(99, "last", 2, 1, TIMES(95, 5))

static void convert_nodes(const char *schema, const char *nodes, const struct sutra_convert_options *options,
                          struct outcome *outcome) {
    char *text = NULL;
    size_t n = strlen(nodes);
    assert_true(asprintf(&text,
                         "{\"schema\": \"%s\", \"pid\": 5, \"time\": \"now\", \"start_ts\": 1, \"finish_ts\": 2, "
                         "\"nodes\": [%.*s]}",
                         schema, (int)(n - 1), nodes) > 0);
    convert_text(text, options, outcome);
    free(text);
}

static uint64_t duration_of(const struct outcome *outcome, uint64_t id) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    row_t node = find(nodes, id);
    assert_int_not_equal(node, ROW_NONE);
    return nodes->duration_us[node];
}

/* Whether a node depends on another. */
static bool depends_on(const struct outcome *outcome, uint64_t id, uint64_t on) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    row_t node = find(nodes, id);
    for (uint64_t i = nodes->data.first[node]; i < nodes->data.first[node + 1]; i++)
        if (nodes->data.ids[i] == on)
            return true;
    return false;
}

static void gpu_nodes_keep_duration_stream_and_parent(void **state) {
    struct outcome outcome;
    convert_nodes("1.0.1",
                  THREADS CPU(3, "aten::mm", 2, 1, TIMES(10, 20)) CPU(6, "aten::relu", 2, 1, TIMES(40, 5))
                      LAST GPU(4, "gemm", 3, 4.75, STREAM) GPU(5, "copy", 3, 2, ""),
                  NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_unmade, 0);
    assert_int_equal(outcome.report.n_gpu_nodes, 2);
    assert_int_equal(duration_of(&outcome, 4), 4);
    assert_int_equal(duration_of(&outcome, 5), 2);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_STREAM), 7);
    assert_true(et_attribute_find(&outcome.converted->nodes, find(&outcome.converted->nodes, 5), ET_NAME_STREAM) ==
                UINT64_MAX);
    assert_true(depends_on(&outcome, 4, 3));
    assert_true(depends_on(&outcome, 6, 3));
    /* As in ET+ of link, a GPU node has the attributes of its operator. */
    assert_int_equal(number_of(&outcome, 4, ET_NAME_RF_ID), 13);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_TID), 1);
    assert_int_equal(outcome.report.n_attributes, 0);
    /* "ts" of a GPU node is the end of its launch. */
    const struct et_nodes *nodes = &outcome.converted->nodes;
    assert_int_equal(nodes->start_us[find(nodes, 4)], 0);
    assert_int_equal(nodes->start_us[find(nodes, 6)], 40);
    assert_non_null(strstr(outcome.warnings, "2 GPU operators have no start time"));
    assert_non_null(strstr(outcome.warnings, "'sutra link HOST DEVICE -o OUT --match names'"));
    end(&outcome);
}

static void cpu_durations_exclude_children(void **state) {
    struct outcome outcome;
    /* b starts with a; c ends after a, as in rounded times; d is below an unmatched node; e is on another thread. */
    convert_nodes("1.0.1",
                  THREADS CPU(3, "a", 2, 1, TIMES(10, 20)) CPU(4, "b", 3, 1, TIMES(10, 6))
                      CPU(5, "b2", 4, 1, TIMES(12, 1)) CPU(6, "c", 3, 1, TIMES(28, 3)) CPU(7, "unmatched", 3, 1, "")
                          CPU(8, "d", 7, 1, TIMES(20, 4.5)) CPU(9, "e", 3, 2, TIMES(16, 3))
                              GPU(11, "gemm", 9, 1, STREAM),
                  NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    static const uint64_t durations[][2] = {{3, 7}, {4, 5}, {5, 1}, {6, 3}, {7, 0}, {8, 4}, {9, 3}, {2, 0}};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        assert_int_equal(duration_of(&outcome, durations[i][0]), durations[i][1]);
    end(&outcome);
}

static void threads_wait_for_each_other(void **state) {
    struct outcome outcome;
    convert_nodes("1.0.1",
                  THREADS CPU(3, "forward", 2, 1, TIMES(10, 20)) CPU(4, THREAD, 1, 2, TIMES(5000, 20))
                      CPU(5, "backward", 4, 2, TIMES(5000, 20)) GPU(6, "gemm", 5, 1, STREAM),
                  NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_true(depends_on(&outcome, 5, 3));
    assert_int_equal(outcome.report.n_inter, 1);
    end(&outcome);
}

static void later_schemas_are_converted(void **state) {
    static const char nodes[] =
        "{\"id\": 1, \"name\": \"" PROCESS "\", \"ctrl_deps\": 1, \"inputs\": " EMPTY_IO ", \"outputs\": " EMPTY_IO
        ", \"attrs\": []},"
        "{\"id\": 2, \"name\": \"" THREAD "\", \"ctrl_deps\": 1, \"inputs\": " EMPTY_IO ", \"outputs\": " EMPTY_IO
        ", \"attrs\": [{\"name\": \"rf_id\", \"value\": 2}], \"dur\": 9, \"ts\": 10},"
        "{\"id\": 3, \"name\": \"aten::mm\", \"ctrl_deps\": 2, \"inputs\": " TENSOR_IO ", \"outputs\": " EMPTY_IO
        ", \"attrs\": [{\"name\": \"rf_id\", \"value\": 3}], \"dur\": 9, \"ts\": 10},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclKernel_AllReduce\", \"ts\": 15, \"dur\": 6, "
        "\"args\": {\"stream\": 7, \"Process Group Name\": \"1\"}, \"ctrl_deps\": 3, \"id\": 4, "
        "\"inputs\": " TENSOR_IO ", \"outputs\": " EMPTY_IO "},";
    struct outcome outcome;
    convert_nodes("1.0.3-chakra.0.0.4", nodes, NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_collectives, 1);
    assert_int_equal(duration_of(&outcome, 3), 9);
    assert_int_equal(duration_of(&outcome, 4), 6);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_STREAM), 7);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_COMM_SIZE), 40);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_RF_ID), 3);
    end(&outcome);
}

static void measured_times_are_refused(void **state) {
    const struct sutra_convert_options options = {.size = sizeof options, .keep_times = true};
    struct outcome outcome;
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES(10, 20)) LAST GPU(4, "gemm", 3, 4, STREAM), &options,
                  &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "measured times"));
    assert_non_null(strstr(outcome.error.message, "'sutra link HOST DEVICE -o OUT --match names'"));
    end(&outcome);
}

static void gpu_nodes_without_parents_are_refused(void **state) {
    struct outcome outcome;
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES(10, 20)) LAST GPU(4, "gemm", 77, 4, STREAM), NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "'sutra link HOST DEVICE -o OUT --match names'"));
    end(&outcome);
}

static void faults_of_durations_are_refused(void **state) {
    struct outcome outcome;
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES(10, -1)) LAST GPU(4, "gemm", 3, 4, STREAM), NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "node 3: field 'dur'"));
    end(&outcome);
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES("x", 1)) LAST GPU(4, "gemm", 3, 4, STREAM), NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "node 3: field 'ts'"));
    end(&outcome);
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES(10, 9)) LAST GPU(4, "gemm", 3, [], STREAM), NULL, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "node 4: field 'dur'"));
    end(&outcome);
}

static void gpu_nodes_with_fractional_ids_are_refused(void **state) {
    struct outcome outcome;
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES(10, 20)) LAST GPU(4.5, "gemm", 3, 4, STREAM), NULL,
                  &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "field 'id'"));
    end(&outcome);
}

/* chakra_converter ignores "dur". */
static void compat_reads_dur_only_where_chakra_converter_fails(void **state) {
    const struct sutra_convert_options options = {.size = sizeof options, .compat = true};
    static const struct line lines[] = {
        {1, PROCESS, 1, NULL}, {2, THREAD, 1, NULL}, {3, "a", 2, ", \"dur\": 20, \"ts\": 10"}};
    struct outcome outcome;
    convert_with(lines, sizeof lines / sizeof *lines, &options, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(duration_of(&outcome, 3), 0);
    end(&outcome);
    convert_nodes("1.0.1", THREADS CPU(3, "a", 2, 1, TIMES(10, 20)) LAST GPU(4, "gemm", 3, 4, STREAM), &options,
                  &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(duration_of(&outcome, 3), 20);
    assert_int_equal(duration_of(&outcome, 4), 4);
    end(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_nodes_keep_duration_stream_and_parent),
        cmocka_unit_test(cpu_durations_exclude_children),
        cmocka_unit_test(threads_wait_for_each_other),
        cmocka_unit_test(later_schemas_are_converted),
        cmocka_unit_test(measured_times_are_refused),
        cmocka_unit_test(gpu_nodes_without_parents_are_refused),
        cmocka_unit_test(faults_of_durations_are_refused),
        cmocka_unit_test(gpu_nodes_with_fractional_ids_are_refused),
        cmocka_unit_test(compat_reads_dur_only_where_chakra_converter_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
