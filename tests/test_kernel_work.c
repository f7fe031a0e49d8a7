/*
 * test_kernel_work.c - tests FLOPs and bytes of kernels in converted files: the operator that they belong to, their
 * division among its kernels, and kernels without values.
 */
#include "et_plus_text.h"
#include "simulate/communication.h"
#include "unit.h"

/* (2, 3) x (3, 5) of floats: 60 operations, 124 bytes. */
#define PRODUCT                                                                                                        \
    ", \"inputs\": {\"values\": [[1, 2, 0, 6, 4, \"cuda:0\"], [3, 4, 0, 15, 4, \"cuda:0\"]],"                          \
    " \"shapes\": [[2, 3], [3, 5]], \"types\": [\"Tensor(float)\", \"Tensor(float)\"]}"
#define LASTS(us) ", \"cat\": \"kernel\", \"stream\": 7, \"exclusive_dur\": " #us

static void convert(const struct line *lines, size_t n, bool no_work, struct outcome *outcome) {
    const struct sutra_convert_options options = {.size = sizeof options, .no_work = no_work};
    convert_with(lines, n, &options, outcome);
    assert_int_equal(outcome->status, SUTRA_OK);
}

#define CONVERT(lines, no_work, outcome) convert(lines, sizeof(lines) / sizeof *(lines), no_work, outcome)

static void assert_work(const struct outcome *outcome, uint64_t id, int64_t n_ops, int64_t n_bytes) {
    assert_int_equal(number_of(outcome, id, ET_NAME_NUM_OPS), n_ops);
    assert_int_equal(number_of(outcome, id, ET_NAME_TENSOR_SIZE), n_bytes);
}

static void assert_no_work(const struct outcome *outcome, uint64_t id) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    assert_true(is_there(outcome, id));
    assert_true(et_attribute_find(nodes, find(nodes, id), ET_NAME_NUM_OPS) == UINT64_MAX);
    assert_true(et_attribute_find(nodes, find(nodes, id), ET_NAME_TENSOR_SIZE) == UINT64_MAX);
}

static void kernels_share_the_flops_of_their_operator(void **state) {
    static const struct line lines[] = {
        {1, THREAD, 1, NULL},        {2, "aten::linear", 1, NULL},  {3, "aten::mm", 2, PRODUCT},
        {4, "gemm", 3, LASTS(20)},   {5, "splitK", 3, LASTS(10.5)}, {6, "aten::mm", 2, PRODUCT},
        {7, "short", 6, LASTS(0.4)}, {8, "short", 6, LASTS(0)},
    };
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_work(&outcome, 4, 40, 82);
    assert_work(&outcome, 5, 20, 42);
    assert_work(&outcome, 7, 30, 62);
    assert_work(&outcome, 8, 30, 62);
    assert_no_work(&outcome, 3);
    assert_int_equal(outcome.report.n_works, 4);
    end(&outcome);
    CONVERT(lines, true, &outcome);
    assert_no_work(&outcome, 4);
    assert_int_equal(outcome.report.n_works, 0);
    end(&outcome);
    const struct sutra_convert_options compat = {.size = sizeof compat, .compat = true};
    convert_with(lines, sizeof lines / sizeof *lines, &compat, &outcome);
    assert_no_work(&outcome, 4);
    end(&outcome);
}

/* An operator without a formula leaves its kernels to the one above; one with a formula does not. */
static void the_nearest_operator_that_is_known_counts(void **state) {
    static const struct line lines[] = {
        {1, THREAD, 1, NULL},
        {2, "aten::mm", 1, PRODUCT},
        {3, "my::op", 2, NULL},
        {4, "gemm", 3, LASTS(3)},
        {5, "aten::zero_", 2, ", \"inputs\": " TENSOR_IO},
        {6, "fill", 5, LASTS(3)},
        {7, "my::op", 1, NULL},
        {8, "unknown", 7, LASTS(3)},
        {9, "aten::mm", 1, NULL},
        {10, "without shapes", 9, LASTS(3)},
    };
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_work(&outcome, 4, 60, 124);
    assert_work(&outcome, 6, 1, 40);
    assert_no_work(&outcome, 8);
    assert_no_work(&outcome, 10);
    assert_int_equal(outcome.report.n_works, 2);
    end(&outcome);
}

static void communication_has_no_flops(void **state) {
    static const struct line lines[] = {
        {1, THREAD, 1, NULL},
        {2, "aten::mm", 1, PRODUCT},
        {3, "ncclDevKernel_AllReduce_Sum", 2, KERNEL(TENSOR_IO)},
        {4, "gemm", 2, LASTS(5)},
    };
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_no_work(&outcome, 3);
    assert_work(&outcome, 4, 60, 124);
    end(&outcome);
}

static void cycle_of_parents_ends_the_search_for_flops(void **state) {
    static const struct line lines[] = {
        {1, "a", 3, NULL}, {2, "b", 1, NULL}, {3, "c", 2, NULL}, {4, "kernel", 3, LASTS(5)}, {5, "kernel", 1, LASTS(5)},
    };
    struct outcome outcome;
    CONVERT(lines, false, &outcome);
    assert_no_work(&outcome, 4);
    assert_no_work(&outcome, 5);
    end(&outcome);
}

/* Whatever the weights, shares are in proportion, and add up. */
static void shares_add_up(void **state) {
    static const uint64_t amounts[] = {0, 1, 7, 1000, UINT64_MAX};
    static const uint64_t weights[] = {1, 1, 5, 1000000, (uint64_t)1 << 40, 3};
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        total += weights[i];
    for (size_t a = 0; a < sizeof amounts / sizeof *amounts; a++) {
        uint64_t before = 0, sum = 0;
        for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
            sum += share_amount(amounts[a], before, weights[i], total);
            before += weights[i];
        }
        assert_true(sum == amounts[a]);
    }
    assert_int_equal(share_amount(90, 0, 2, 3), 60);
    assert_int_equal(share_amount(90, 2, 1, 3), 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_share_the_flops_of_their_operator),
        cmocka_unit_test(the_nearest_operator_that_is_known_counts),
        cmocka_unit_test(communication_has_no_flops),
        cmocka_unit_test(cycle_of_parents_ends_the_search_for_flops),
        cmocka_unit_test(shares_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
