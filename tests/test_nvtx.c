/*
 * test_nvtx.c - tests the texts of NVTX ranges, payloads of NCCL, and folds over intervals against a plain loop.
 */
#include <time.h>

#include "columns/fold_tree.h"
#include "read/nsys.h"
#include "unit.h"

static void labels_of_emit_nvtx_are_split(void **state) {
    static const struct {
        const char *text, *name, *sizes;
        int64_t sequence, record;
        bool is_annotation;
    } cases[] = {
        {"aten::mm, seq = 7, op_id = 41, sizes = [[8, 16], [16, 4]], input_op_ids = [(39,0), (3,1)]", "aten::mm",
         "[[8, 16], [16, 4]]", 7, 41, false},
        {"aten::add, seq = 7", "aten::add", NULL, 7, NVTX_NONE, false},
        {"a, op_id = 3\n", "a", NULL, NVTX_NONE, 3, false},
        {"a, sizes = [[], [-1]]", "a", "[[], [-1]]", NVTX_NONE, NVTX_NONE, false},
        {"FSDP::forward (a.b), op_id = 1", "FSDP::forward (a.b)", NULL, NVTX_NONE, 1, true},
        {"nccl:all_reduce, seq = 1", "nccl:all_reduce", NULL, 1, NVTX_NONE, true},
        {"Optimizer.step#SGD, seq = 1", "Optimizer.step#SGD", NULL, 1, NVTX_NONE, true},
        {"autograd::engine::evaluate_function: MmBackward0, seq = 1",
         "autograd::engine::evaluate_function: MmBackward0", NULL, 1, NVTX_NONE, false},
        {"a, seq = 1, seq = 2", "a, seq = 1", NULL, 2, NVTX_NONE, true},
        {", seq = 1", "", NULL, 1, NVTX_NONE, false},
        {"a, sizes = [1, x]", "a", "", NVTX_NONE, NVTX_NONE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvtx_label label;
        assert_true(nvtx_label_read(cases[i].text, strlen(cases[i].text), &label));
        assert_int_equal(label.name_length, strlen(cases[i].name));
        assert_memory_equal(cases[i].text, cases[i].name, label.name_length);
        assert_int_equal(label.sequence, cases[i].sequence);
        assert_int_equal(label.record, cases[i].record);
        assert_int_equal(label.is_annotation, cases[i].is_annotation);
        assert_int_equal(label.sizes != NULL, cases[i].sizes != NULL);
        if (label.sizes) {
            assert_int_equal(label.sizes_length, strlen(cases[i].sizes));
            assert_memory_equal(label.sizes, cases[i].sizes, label.sizes_length);
        }
    }
}

static void other_labels_are_not_split(void **state) {
    static const char *const cases[] = {"",
                                        "forward pass",
                                        "a, b",
                                        "a, seq = ",
                                        "a, seq = 1 ",
                                        "a, op_id = 1, seq = 2x",
                                        "a, sizes = [1",
                                        "a, input_op_ids = [(1,0)]",
                                        "a, seq = 99999999999999999999"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvtx_label label;
        assert_false(nvtx_label_read(cases[i], strlen(cases[i]), &label));
    }
}

static void steps_have_a_number(void **state) {
    static const struct {
        const char *text;
        int64_t step; /* -1: no step */
    } cases[] = {{"ProfilerStep#12", 12}, {"iteration_3", 3},    {"Iter 7", 7},       {"STEP:-#4", 4}, {"batch5", 5},
                 {"train_step 6", 6},     {"global_step: 8", 8}, {"step", -1},        {"steps 3", -1}, {"step 3a", -1},
                 {"a step 3", -1},        {"epoch 3", -1},       {"iteration 3.", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t step = -1;
        bool is_step = nvtx_step_read(cases[i].text, strlen(cases[i].text), &step);
        assert_int_equal(is_step ? step : -1, cases[i].step);
    }
}

static void payloads_follow_their_schema(void **state) {
    struct nvtx_schema_entry entries[] = {
        {1, 2, 1, 22, 8, nccl_field_named("Message size [bytes]"), 1},
        {1, 2, 0, 18, NVTX_NONE, nccl_field_named("NCCL communicator ID"), 0},
        {1, 2, 2, 5, NVTX_NONE, nccl_field_named("Rank"), 2},
        {1, 3, 0, 1, 0, nccl_field_named("Rank"), 3},
        {1, 2, 2, 3, NVTX_NONE, nccl_field_named("Rank"), 4}, /* replaces the entry of row 2 */
        {1, 2, 3, 99, NVTX_NONE, nccl_field_named("No. of ranks"), 5},
    };
    struct nvtx_schemas schemas = {entries, sizeof entries / sizeof *entries};
    uint64_t blob[7] = {1, 2, 18, 32, 0xabc, 4096, 0};
    memcpy(&blob[6], "\xfe\xff", 2);
    nvtx_schemas_sort(&schemas);
    assert_int_equal(schemas.n, 5);
    struct nccl_payload payload = nvtx_payload_read(&schemas, blob, sizeof blob);
    assert_int_equal(payload.has, 1u << NCCL_COMMUNICATOR | 1u << NCCL_BYTES | 1u << NCCL_RANK);
    assert_int_equal(payload.field[NCCL_COMMUNICATOR], 0xabc);
    assert_int_equal(payload.field[NCCL_BYTES], 4096);
    assert_int_equal(payload.field[NCCL_RANK], -2);
    assert_int_equal(nvtx_payload_read(&schemas, blob, 31).has, 0);
    blob[3] = UINT64_MAX; /* the offset of the payload */
    assert_int_equal(nvtx_payload_read(&schemas, blob, sizeof blob).has, 0);
}

static void communication_kernels_are_known_by_name(void **state) {
    assert_true(nsys_kernel_communicates("ncclDevKernel_AllReduce", 23));
    assert_true(nsys_kernel_communicates("void vllm::cross_device_reduce_1stage<float>", 44));
    assert_true(nsys_kernel_communicates("RCCL", 4));
    assert_false(nsys_kernel_communicates("gemm", 4));
}

static void folds_equal_a_plain_loop(void **state) {
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    print_message("SEED=%u\n", seed);
    srand(seed);
    for (int round = 0; round < 200; round++) {
        struct arena arena = {0};
        uint64_t n = (uint64_t)(rand() % 40 + 1);
        struct fold_tree tree = fold_tree_alloc(&arena, n);
        struct fold plain[40];
        for (uint64_t i = 0; i < n; i++)
            plain[i] = fold_empty;
        for (int k = 0; k < 60; k++) {
            uint64_t at = (uint64_t)rand() % n, low = (uint64_t)rand() % (n + 1), high = (uint64_t)rand() % (n + 1);
            plain[at] = (struct fold){rand() % 9, rand() % 99, rand() % 99, rand() % 9, rand() % 9};
            fold_tree_set(&tree, at, plain[at]);
            struct fold expected = fold_empty, found = fold_tree_fold(&tree, low, high);
            for (uint64_t i = low; i < high; i++)
                expected = fold_join(expected, plain[i]);
            assert_memory_equal(&found, &expected, sizeof found);
        }
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_emit_nvtx_are_split),
        cmocka_unit_test(other_labels_are_not_split),
        cmocka_unit_test(steps_have_a_number),
        cmocka_unit_test(payloads_follow_their_schema),
        cmocka_unit_test(communication_kernels_are_known_by_name),
        cmocka_unit_test(folds_equal_a_plain_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
