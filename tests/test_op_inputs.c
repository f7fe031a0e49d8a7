/*
 * test_op_inputs.c - tests the parser of operator inputs, written by JSON and by Python, complete and truncated.
 */
#include "facts/op_inputs.h"
#include "unit.h"

static struct op_inputs_parser parser;

static struct input_text text(const char *at) {
    return at ? (struct input_text){at, strlen(at)} : (struct input_text){NULL, 0};
}

static struct op_inputs parse(const char *shapes, const char *types, const char *strides, const char *values) {
    struct op_inputs inputs = {0};
    struct op_input_texts texts = {text(shapes), text(types), text(strides), text(values)};
    assert_true(op_inputs_parse(&parser, &texts, &inputs));
    return inputs;
}

static void assert_text(struct input_text is, const char *expected) {
    assert_int_equal(is.length, strlen(expected));
    assert_memory_equal(is.at, expected, is.length);
}

static int finish(void **state) {
    op_inputs_parser_free(&parser);
    return 0;
}

static void tensors_have_dims_strides_and_types(void **state) {
    struct op_inputs inputs =
        parse("[[8, 3], [], [-1]]", "[\"float\", \"Scalar\"]", "[[3, 1], [], [7]]", "[\"\", \"0.5\", \"[1, 2]\"]");
    assert_int_equal(inputs.n, 3);
    assert_int_equal(inputs.n_types, 2);
    assert_true(inputs.has_strides);
    assert_int_equal(inputs.input[0].tensor.n_dims, 2);
    assert_int_equal(inputs.input[0].tensor.dims[0], 8);
    assert_int_equal(inputs.input[0].tensor.dims[1], 3);
    assert_int_equal(inputs.input[0].tensor.strides[0], 3);
    assert_int_equal(inputs.input[0].tensor.strides[1], 1);
    assert_int_equal(inputs.input[1].tensor.n_dims, 0);
    assert_int_equal(inputs.input[2].tensor.dims[0], -1);
    assert_text(inputs.input[0].type, "float");
    assert_text(inputs.input[0].value, "");
    assert_text(inputs.input[1].value, "0.5");
    assert_text(inputs.input[2].value, "[1, 2]");
    assert_null(inputs.input[2].type.at);
}

static void lists_of_tensors_have_members(void **state) {
    struct op_inputs inputs = parse("[[[2, 3], [4]], [5]]", NULL, "[[[3, 1], [1]], [9]]", NULL);
    assert_int_equal(inputs.n, 2);
    assert_true(inputs.input[0].is_list);
    assert_int_equal(inputs.input[0].n_members, 2);
    assert_int_equal(inputs.input[0].members[0].n_dims, 2);
    assert_int_equal(inputs.input[0].members[0].strides[0], 3);
    assert_int_equal(inputs.input[0].members[1].dims[0], 4);
    assert_false(inputs.input[1].is_list);
    assert_int_equal(inputs.input[1].tensor.dims[0], 5);
    assert_int_equal(inputs.input[1].tensor.strides[0], 9);
}

static void inputs_in_python_notation_are_read(void **state) {
    struct op_inputs inputs = parse("[[2, 3],[],[[],[]]]", "['Tensor(c10::Half)', 'Int', 'GenericList[Int,Int]']", NULL,
                                    "[[57, 41, 0, 6, 4, 'cuda:0'], True, [1, 2] ]");
    assert_false(inputs.has_strides);
    assert_null(inputs.input[0].tensor.strides);
    assert_text(inputs.input[0].value, "[57, 41, 0, 6, 4, 'cuda:0']");
    assert_text(inputs.input[1].value, "True");
    assert_text(inputs.input[2].value, "[1, 2]");
    assert_text(inputs.input[2].type, "GenericList[Int,Int]");
    assert_int_equal(inputs.input[2].n_members, 2);
}

static void strides_of_another_length_are_none(void **state) {
    struct op_inputs inputs = parse("[[8, 3], [4]]", NULL, "[[1]]", NULL);
    assert_null(inputs.input[0].tensor.strides);
    assert_null(inputs.input[1].tensor.strides);
    assert_int_equal(inputs.n_strides, 1);
}

static void non_list_inputs_are_ignored(void **state) {
    assert_int_equal(parse(NULL, NULL, NULL, NULL).n, 0);
    assert_int_equal(parse("null", "7", "\"[1]\"", "").n, 0);
    assert_int_equal(parse("[]", "[]", "[]", "[]").n, 0);
    assert_int_equal(op_input_at(&(struct op_inputs){0}, 0).n_members, 0);
}

/* Truncated at every offset, in an exact allocation, so that AddressSanitizer detects reads beyond the end. */
static void truncated_texts_are_parsed(void **state) {
    static const char whole[] = "[[[2, -3], [4]], \"a\\\"b\", ['c', {\"d\": [1]}], 12.5, true , [7,8]]";
    for (size_t length = 0; length < sizeof whole; length++) {
        char *cut = test_malloc(length + 1);
        memcpy(cut, whole, length);
        struct input_text part = {cut, length};
        struct op_inputs inputs = {0};
        assert_true(op_inputs_parse(&parser, &(struct op_input_texts){part, part, part, part}, &inputs));
        assert_true(inputs.n <= 6);
        test_free(cut);
    }
    assert_int_equal(parse(whole, whole, whole, whole).n, 6);
    assert_text(parse(whole, whole, whole, whole).input[1].type, "a\\\"b");
    assert_int_equal(parse(whole, whole, whole, whole).input[5].tensor.dims[1], 8);
}

static void deep_nesting_uses_no_recursion(void **state) {
    enum { DEEP = 100000 };
    char *deep = test_malloc(DEEP + 1);
    memset(deep, '[', DEEP);
    deep[DEEP] = 0;
    assert_int_equal(parse(deep, deep, deep, deep).n, 1);
    test_free(deep);
}

static void numbers_of_values_are_read(void **state) {
    int64_t numbers[4];
    uint32_t n;
    assert_true(input_numbers(text("[1, -2]"), numbers, 4, &n));
    assert_int_equal(n, 2);
    assert_int_equal(numbers[1], -2);
    assert_true(input_numbers(text("3"), numbers, 4, &n));
    assert_int_equal(n, 1);
    assert_true(input_numbers(text("[True, False, true]"), numbers, 4, &n));
    assert_int_equal(n, 3);
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 0);
    assert_true(input_numbers(text("[]"), numbers, 4, &n));
    assert_int_equal(n, 0);
    assert_false(input_numbers(text(""), numbers, 4, &n));
    assert_false(input_numbers(text(NULL), numbers, 4, &n));
    assert_false(input_numbers(text("0.5"), numbers, 4, &n));
    assert_false(input_numbers(text("[1, 2, 3, 4, 5]"), numbers, 4, &n));
    assert_false(input_numbers(text("[1, none]"), numbers, 4, &n));
    assert_false(input_numbers(text("12345678901234567890"), numbers, 4, &n));
    assert_true(input_is(text("TRUE"), "true"));
    assert_false(input_is(text("True "), "true"));
}

static void element_types_are_known_by_their_names(void **state) {
    static const struct {
        const char *name;
        unsigned bytes, tracelens;
    } types[] = {
        {"float", 4, 4},
        {"c10::BFloat16", 2, 2},
        {"C10::HALF", 2, 2},
        {"Tensor(long int)", 8, 0},
        {"long int", 8, 8},
        {"GenericList[Tensor(double),Tensor(double)]", 8, 0},
        {"bool", 1, 0},
        {"short int", 2, 0},
        {"c10::complex<float>", 8, 0},
        {"struct c10::Half", 2, 0},
        {"Scalar", 0, 4},
        {"TensorList", 0, 0},
        {"", 0, 0},
        {"c10::Float8_e4m3fn", 1, 1},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct data_type *type = data_type_find(types[i].name, strlen(types[i].name));
        assert_int_equal(type ? type->bytes : 0, types[i].bytes);
        assert_int_equal(data_type_tracelens_bytes(types[i].name, strlen(types[i].name)), types[i].tracelens);
    }
    assert_string_equal(data_type_of_number(15)->name, "c10::BFloat16");
    assert_string_equal(data_type_of_number(0)->name, "unsigned char");
    assert_null(data_type_of_number(-1));
    assert_null(data_type_of_number(99));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_dims_strides_and_types),
        cmocka_unit_test(lists_of_tensors_have_members),
        cmocka_unit_test(inputs_in_python_notation_are_read),
        cmocka_unit_test(strides_of_another_length_are_none),
        cmocka_unit_test(non_list_inputs_are_ignored),
        cmocka_unit_test(truncated_texts_are_parsed),
        cmocka_unit_test(deep_nesting_uses_no_recursion),
        cmocka_unit_test(numbers_of_values_are_read),
        cmocka_unit_test(element_types_are_known_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
