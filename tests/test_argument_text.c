/*
 * test_argument_text.c - tests formatting of operator arguments as Python prints them.
 */
#include "read/json.h"
#include "unit.h"

static const struct {
    const char *json, *text;
} arguments[] = {
    {"[[512], [141, 512], []]", "((512,), (141, 512), ())"},
    {"[]", "()"},
    {"[ ]", "()"},
    {"[ [ 4 ]\n,[ ] ]", "((4,), ())"},
    {"[\"float\",\"\", \"it's\"]", "('float', '', \"it's\")"},
    {"[\"[1, 2]\", \"{\", \"\\u00e9\\n\"]", "('[1, 2]', '{', '\xc3\xa9\\n')"},
    {"[[[1, 2], [3]], 5]", "(((1, 2), (3,)), 5)"},
    {"[null, true, false, 1.50, -0]", "(None, True, False, 1.5, 0)"},
    {"\"alone\"", "alone"},
    {"17", "17"},
    {"null", "None"},
    {"[1, {\"a\": [2]}]", "(1, {\"a\": [2]})"},
};

static void arguments_have_python_formatting(void **state) {
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        struct buffer out = {0};
        char padded[256] = "";
        snprintf(padded, sizeof padded, "%s, \"rest\"", arguments[i].json);
        argument_append(&out, padded, strlen(arguments[i].json));
        buffer_append(&out, "", 1);
        assert_string_equal(out.bytes, arguments[i].text);
        buffer_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_have_python_formatting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
