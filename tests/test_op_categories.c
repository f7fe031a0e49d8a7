/*
 * test_op_categories.c - tests categories of operators by name.
 */
#include "facts/op_categories.h"
#include "unit.h"

static const struct op_kind *kind_of(const char *name, enum op_table table) {
    return op_kind_find(name, strlen(name), table);
}

static const char *category_of(const char *name, const char *kernel, enum op_table table) {
    return op_category_names[op_category_find(name, strlen(name), kernel, kernel ? strlen(kernel) : 0, table)];
}

static void an_operator_has_a_category_and_a_formula(void **state) {
    const struct op_kind *kind = kind_of("aten::mm", OP_TABLE_TRACELENS);
    assert_non_null(kind);
    assert_string_equal(kind->name, "aten::mm");
    assert_int_equal(kind->category, OP_GEMM);
    assert_int_equal(kind->formula, FORMULA_MM);
    assert_int_equal(kind->tracelens, FORMULA_MM);
}

/* Each row is found by its name; rows are in the order of the search. */
static void every_line_is_found_in_a_sorted_table(void **state) {
    const struct op_kind *first = kind_of("ConvBiasReLU_", OP_TABLE_ALL);
    const struct op_kind *last = kind_of("vllm::unified_attention_with_output", OP_TABLE_ALL);
    assert_non_null(first);
    assert_non_null(last);
    assert_true(last - first > 400);
    for (const struct op_kind *kind = first; kind <= last; kind++) {
        assert_ptr_equal(kind_of(kind->name, OP_TABLE_ALL), kind);
        assert_true(kind == first || strcmp(kind[-1].name, kind->name) < 0);
        assert_true(kind->category < OP_N_CATEGORIES && kind->formula < N_FORMULAS && kind->formula != FORMULA_OWN);
    }
}

static void operators_unknown_to_tracelens_have_their_own_category(void **state) {
    assert_null(kind_of("aten::sub", OP_TABLE_TRACELENS));
    assert_int_equal(kind_of("aten::sub", OP_TABLE_ALL)->formula, FORMULA_GENERAL);
    assert_string_equal(category_of("aten::_flash_attention_forward", NULL, OP_TABLE_TRACELENS), "other");
    assert_string_equal(category_of("aten::_flash_attention_forward", NULL, OP_TABLE_ALL), "SDPA_fwd");
    assert_int_equal(kind_of("aten::copy_", OP_TABLE_ALL)->tracelens, FORMULA_UNARY);
    assert_int_equal(kind_of("aten::copy_", OP_TABLE_ALL)->formula, FORMULA_COPY);
}

static void near_miss_names_are_unknown(void **state) {
    assert_null(kind_of("aten::m", OP_TABLE_ALL));
    assert_null(kind_of("aten::mm_", OP_TABLE_ALL));
    assert_null(kind_of("", OP_TABLE_ALL));
    assert_null(kind_of("~", OP_TABLE_ALL));
    assert_null(op_kind_find("aten::mm\0more", 13, OP_TABLE_ALL));
    assert_non_null(op_kind_find("aten::mmore", 8, OP_TABLE_ALL));
}

static void prefixes_and_kernels_classify_unlisted_names(void **state) {
    const char *elementwise = "void at::native::vectorized_elementwise_kernel<4, at::native::reduce>";
    assert_string_equal(category_of("triton_poi_fused_add_0", NULL, OP_TABLE_TRACELENS), "triton");
    assert_string_equal(category_of("record_param_comms", NULL, OP_TABLE_TRACELENS), "record_param_comms");
    assert_string_equal(category_of("my::op", elementwise, OP_TABLE_TRACELENS), "elementwise");
    assert_string_equal(category_of("my::op", "void at::native::reduce_kernel<512>", OP_TABLE_TRACELENS), "reduce");
    assert_string_equal(
        category_of("my::op", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel", OP_TABLE_TRACELENS),
        "multi_tensor_apply");
    assert_string_equal(category_of("my::op", "void at::native::vectorized_gather", OP_TABLE_TRACELENS), "other");
    assert_string_equal(category_of("my::op", "elementwise_kernel", OP_TABLE_TRACELENS), "other");
    assert_string_equal(category_of("aten::mm", elementwise, OP_TABLE_TRACELENS), "GEMM");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_has_a_category_and_a_formula),
        cmocka_unit_test(every_line_is_found_in_a_sorted_table),
        cmocka_unit_test(operators_unknown_to_tracelens_have_their_own_category),
        cmocka_unit_test(near_miss_names_are_unknown),
        cmocka_unit_test(prefixes_and_kernels_classify_unlisted_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
