/*
 * test_convert.c - tests conversion of ET+ to protobuf nodes: the rules of chakra_converter and the deviations from
 * them.
 */
#include "et_plus_text.h"
#include "unit.h"

static void convert(const struct line *lines, size_t n, bool compat, struct outcome *outcome) {
    const struct sutra_convert_options options = {.size = sizeof options, .compat = compat};
    convert_with(lines, n, &options, outcome);
}

#define CONVERT(lines, compat, outcome) convert(lines, sizeof(lines) / sizeof *(lines), compat, outcome)

/* The ids of a list as text: "4 5". */
static const char *ids_text(const struct et_ids *ids, row_t node, char *text, size_t size) {
    size_t n = 0;
    text[0] = 0;
    for (uint64_t i = ids->first[node]; i < ids->first[node + 1]; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%llu", n ? " " : "", (unsigned long long)ids->ids[i]);
    return text;
}

static void check_deps(const struct outcome *outcome, uint64_t id, const char *data, const char *ctrl) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    char text[100];
    row_t node = find(nodes, id);
    assert_int_not_equal(node, ROW_NONE);
    assert_string_equal(ids_text(&nodes->data, node, text, sizeof text), data);
    assert_string_equal(ids_text(&nodes->ctrl, node, text, sizeof text), ctrl);
}

static void nodes_depend_on_the_cpu_node_before(void **state) {
    static const struct line lines[] = {
        {1, PROCESS, 1, NULL},
        {2, THREAD, 1, NULL},
        {3, "a", 2, NULL},
        {4, "kernel", 3, KERNEL(EMPTY_IO)},
        {5, "b", 2, ", \"inter_thread_dep\": 8"},
        {7, THREAD, 1, NULL},
        {8, "c", 7, NULL},
    };
    struct outcome outcome;
    CONVERT(lines, true, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    check_deps(&outcome, 3, "2", "2");
    check_deps(&outcome, 4, "3", "3");
    check_deps(&outcome, 5, "8 3", "2");
    check_deps(&outcome, 2, "", "1");
    check_deps(&outcome, 8, "7", "7");
    assert_false(is_there(&outcome, 1)); /* has neither dependencies nor dependents */
    assert_int_equal(outcome.converted->nodes.duration_us[find(&outcome.converted->nodes, 4)], 12);
    end(&outcome);
}

static void dependency_on_a_missing_node_is_an_error(void **state) {
    static const struct line lines[] = {
        {1, PROCESS, 1, NULL}, {2, THREAD, 1, NULL}, {3, "a", 2, ", \"inter_thread_dep\": 99"}};
    struct outcome outcome;
    CONVERT(lines, true, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "node 3: inter_thread_dep is not a node of the file"));
    end(&outcome);
    CONVERT(lines, false, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    check_deps(&outcome, 2, "", "");
    check_deps(&outcome, 3, "2", "2");
    assert_int_equal(outcome.report.n_absent, 2);
    end(&outcome);
}

static void dependency_cycle_is_named(void **state) {
    static const struct line lines[] = {{1, PROCESS, 1, NULL},
                                        {2, THREAD, 1, NULL},
                                        {3, "a", 2, ", \"inter_thread_dep\": 5"},
                                        {4, "b", 2, NULL},
                                        {5, "c", 2, NULL}};
    struct outcome outcome;
    CONVERT(lines, true, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "dependency cycle of 3 nodes: 3 'a' -(inter-thread)-> 5 'c' "
                                                  "-(thread order)-> 4 'b' -(thread order)-> 3"));
    end(&outcome);
    CONVERT(lines, false, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    check_deps(&outcome, 3, "2", "2");
    check_deps(&outcome, 5, "4", "2");
    assert_int_equal(outcome.report.n_rings, 1);
    end(&outcome);
}

static void repairs_can_be_disabled(void **state) {
    static const struct line lines[] = {{1, PROCESS, 1, NULL},
                                        {2, THREAD, 1, NULL},
                                        {3, "## process_group:init ##", 2, NULL},
                                        {4, "a", 2, ", \"ts\": 17.5"},
                                        {5, "alone", 99, NULL}};
    struct sutra_convert_options options = {.size = sizeof options};
    struct outcome outcome;
    convert_with(lines, 5, &options, &outcome);
    check_deps(&outcome, 2, "", "");
    check_deps(&outcome, 4, "2", "2");
    assert_true(is_there(&outcome, 5) && !is_there(&outcome, 3));
    assert_int_equal(outcome.converted->nodes.start_us[find(&outcome.converted->nodes, 4)], 17);
    assert_int_equal(outcome.report.n_metadata, 1);
    assert_int_equal(outcome.report.n_starts, 1);
    end(&outcome);
    options.keep_absent = options.keep_metadata = options.drop_rootless = options.no_start_times = true;
    convert_with(lines, 5, &options, &outcome);
    check_deps(&outcome, 2, "", "1");
    check_deps(&outcome, 4, "3", "2");
    assert_true(!is_there(&outcome, 5) && is_there(&outcome, 3));
    assert_int_equal(outcome.converted->nodes.start_us[find(&outcome.converted->nodes, 4)], 0);
    end(&outcome);
}

/* Two threads wait for each other (a cycle), one node depends on the cycle, and one depends on itself. */
static void only_dependencies_of_a_cycle_are_removed(void **state) {
    static const struct line lines[] = {
        {1, PROCESS, 1, NULL},
        {2, THREAD, 1, NULL},
        {3, "a", 2, ", \"inter_thread_dep\": 7"},
        {4, "b", 2, NULL},
        {5, THREAD, 1, NULL},
        {6, "c", 5, ", \"inter_thread_dep\": 4"},
        {7, "d", 5, NULL},
        {8, THREAD, 1, NULL},
        {9, "e", 8, ", \"inter_thread_dep\": 7"},
        {10, "f", 8, ", \"inter_thread_dep\": 10"},
    };
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_rings, 2);
    check_deps(&outcome, 3, "2", "2");
    check_deps(&outcome, 6, "4 5", "5");
    check_deps(&outcome, 9, "7 8", "8");
    check_deps(&outcome, 10, "9", "8");
    end(&outcome);
}

/* Nodes that are their own ancestors lose these parents. */
static void nodes_in_a_cycle_of_parents_are_kept(void **state) {
    static const struct line lines[] = {{1, "a", 3, NULL}, {2, "b", 1, NULL}, {3, "c", 2, NULL}, {4, "d", 4, NULL}};
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_nodes, 4);
    assert_int_equal(outcome.report.n_rootless, 4);
    assert_int_equal(outcome.report.n_rings, 1);
    end(&outcome);
}

static void depth_has_no_limit(void **state) {
    enum { N = 20000 };
    struct line *lines = calloc(N, sizeof *lines);
    assert_non_null(lines);
    for (uint64_t i = 0; i < N; i++)
        lines[i] = (struct line){N - i, i == N - 1 ? THREAD : "a", N - i - 1 ? N - i - 1 : 1, NULL};
    struct outcome outcome;
    convert(lines, N, true, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_nodes, N);
    check_deps(&outcome, N, "19999", "");
    end(&outcome);
    free(lines);
}

static void collectives_have_types_and_sizes(void **state) {
    static const char lists[] = KERNEL("{\"values\": [[[" TENSOR(10, 4) ", " TENSOR(1, 2) "], [" TENSOR(
        100, 1) "]], 3], \"shapes\": [], "
                "\"types\": [\"GenericList[GenericList[Tensor(float),Tensor(float)]]\", \"Int\"]}");
    static const struct line lines[] = {
        {2, THREAD, 2, NULL},
        {3, "c10d::x", 2, NULL},
        {4, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 3, KERNEL(TENSOR_IO)},
        {5, "ncclDevKernel_Reduce_Sum_f32", 3, KERNEL(TENSOR_IO)},
        {6, "ncclKernel_AllGather_RING", 3, lists},
        {7, "ncclKernel_Unheard", 3, KERNEL(TENSOR_IO)},
        {8, "nccl:recv 1<-0", 2, NULL},
        {9, "ncclDevKernel_SendRecv(x)", 8, KERNEL(TENSOR_IO)},
    };
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    const struct et_nodes *nodes = &outcome.converted->nodes;
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_COMM_TYPE), ET_ALL_REDUCE);
    assert_int_equal(number_of(&outcome, 4, ET_NAME_COMM_SIZE), 40);
    assert_int_equal(number_of(&outcome, 5, ET_NAME_COMM_TYPE), ET_REDUCE);
    assert_int_equal(number_of(&outcome, 6, ET_NAME_COMM_SIZE), 142);
    assert_int_equal(nodes->type[find(nodes, 7)], ET_COMP);
    assert_int_equal(nodes->type[find(nodes, 9)], ET_COMM_RECV);
    assert_int_equal(outcome.report.n_collectives, 3);
    assert_int_equal(outcome.report.n_types, 1);
    assert_int_equal(outcome.report.n_unknown, 1);
    assert_int_equal(outcome.report.n_nested, 1);
    end(&outcome);
    struct sutra_convert_options options = {.size = sizeof options, .refuse_types = true};
    convert_with(lines, 4, &options, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_string_equal(outcome.error.message,
                        "node 5: 'ncclDevKernel_Reduce_Sum_f32': collective unknown to chakra_converter");
    end(&outcome);
    options = (struct sutra_convert_options){.size = sizeof options, .refuse_nested = true};
    convert_with(lines, 5, &options, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_string_equal(outcome.error.message, "node 6: the inputs contain a list of lists of tensors");
    end(&outcome);
}

static void fields_of_wrong_types_are_named(void **state) {
    static const struct line lines[] = {{2, THREAD, 2, NULL}, {3, "a", 2, ", \"exclusive_dur\": NaN"}};
    for (int compat = 0; compat < 2; compat++) {
        struct outcome outcome;
        CONVERT(lines, compat, &outcome);
        assert_int_equal(outcome.status, SUTRA_DATA);
        assert_string_equal(outcome.error.message,
                            "node 3: field 'exclusive_dur': expected a number from 0 to 2^64 - 1");
        assert_true(outcome.error.offset > 0);
        end(&outcome);
    }
}

static void inputs_of_different_kinds_are_read_alike(void **state) {
    static const struct line lines[] = {{2, THREAD, 2, NULL},
                                        {3, "a", 2, NULL},
                                        {4, "not below an operator", 99, ", \"cat\": \"kernel\", \"inputs\": 5"},
                                        {5, "gemm", 3, ", \"cat\": \"kernel\", \"inputs\": " TENSOR_IO}};
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    const struct et_nodes *nodes = &outcome.converted->nodes;
    const row_t row = find(nodes, 5);
    assert_true(et_text_is(et_text_at(nodes->text[ET_INPUT_VALUES], row), "[[5, 6, 0, 10, 4, 'cuda:0']]"));
    assert_true(et_text_is(et_text_at(nodes->text[ET_INPUT_TYPES], row), "['Tensor(float)']"));
    end(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_depend_on_the_cpu_node_before),
        cmocka_unit_test(dependency_on_a_missing_node_is_an_error),
        cmocka_unit_test(dependency_cycle_is_named),
        cmocka_unit_test(depth_has_no_limit),
        cmocka_unit_test(only_dependencies_of_a_cycle_are_removed),
        cmocka_unit_test(repairs_can_be_disabled),
        cmocka_unit_test(nodes_in_a_cycle_of_parents_are_kept),
        cmocka_unit_test(collectives_have_types_and_sizes),
        cmocka_unit_test(fields_of_wrong_types_are_named),
        cmocka_unit_test(inputs_of_different_kinds_are_read_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
