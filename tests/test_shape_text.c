/*
 * test_shape_text.c - tests shapes as JSON and as Python tuples.
 */
#include "read/json.h"
#include "unit.h"

static const struct {
    const char *trace, *shape, *tuple;
} shapes[] = {
    {"[[2048, 13], [512]]", "[[2048, 13], [512]]", "((2048, 13), (512,))"},
    {"[[2048,13],[512,13],[512]]", "[[2048, 13], [512, 13], [512]]", "((2048, 13), (512, 13), (512,))"},
    {"[ [ 4 ]\n, [ ] ]", "[[4]]", "((4,),)"},
    {"[[], [4], [], [], [5]]", "[[4], [5]]", "((4,), (5,))"},
    {"[[], []]", "[[-1]]", "((-1,),)"},
    {"[]", "[[-1]]", "((-1,),)"},
    {"null", "[[-1]]", "((-1,),)"},
    {"\"text\"", "[[-1]]", "((-1,),)"},
    {"[[[1, 2], [3]], [5]]", "[[[1, 2], [3]], [5]]", "(((1, 2), (3,)), (5,))"},
    {"[[[], [2]]]", "[[[], [2]]]", "(((), (2,)),)"},
    {"[[0], 0, 0.0, \"\", null, false, 3]", "[[0], 3]", "((0,), 3)"},
    {"[true, [null, 1.50]]", "[true, [null, 1.5]]", "(True, (None, 1.5))"},
    {"[[\"],[\", -0]]", "[[\"],[\", 0]]", "((\"],[\", 0),)"},
    {"[[1], {\"a\": [2]}]", "[[-1]]", "((-1,),)"},
};

static void shapes_have_python_formatting(void **state) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct buffer shape = {0}, tuple = {0};
        char padded[256] = "";
        snprintf(padded, sizeof padded, "%s", shapes[i].trace);
        shape_append(&shape, padded);
        buffer_append(&shape, "", 1);
        assert_string_equal(shape.bytes, shapes[i].shape);
        shape_append_tuple(&tuple, shape.bytes);
        buffer_append(&tuple, "", 1);
        assert_string_equal(tuple.bytes, shapes[i].tuple);
        buffer_free(&shape);
        buffer_free(&tuple);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_have_python_formatting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
