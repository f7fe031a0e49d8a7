/*
 * test_list_text.c - tests the split of lists into elements, as JSON, Python and C++ write them, and of truncated
 * lists.
 */
#include "text/quantities.h"
#include "unit.h"

/* The elements separated by bars, and the number of bytes after the list. */
static void tell(const char *text, char *out) {
    char *copy = malloc(strlen(text) + 1); /* so that AddressSanitizer detects reads beyond the end */
    assert_non_null(copy);
    memcpy(copy, text, strlen(text) + 1);
    struct list_cursor cursor = {copy, copy + strlen(text)};
    *out = '\0';
    if (!list_enter(&cursor))
        strcat(out, "none");
    else
        for (bool there = list_first(&cursor); there; there = list_more(&cursor)) {
            const char *begin = cursor.at;
            list_skip_value(&cursor);
            strcat(out, "|");
            strncat(out, begin, (size_t)(cursor.at - begin));
        }
    strcat(out, " + ");
    strncat(out, cursor.at, (size_t)(cursor.end - cursor.at));
    free(copy);
}

static void elements_of_any_depth_are_found(void **state) {
    static const struct {
        const char *text, *elements;
    } cases[] = {
        {"[1, 2,3]", "|1|2|3 + "},
        {" ( [2048, 13], 'a, b' , \"c]\" ) rest", "|[2048, 13]|'a, b' |\"c]\"  +  rest"},
        {"[[1, {\"k\": [2]}], ['it\\'s', \"x\\\"]\"]]", "|[1, {\"k\": [2]}]|['it\\'s', \"x\\\"]\"] + "},
        {"[]", " + "},
        {"[1, ]", "|1 + "},
        {"", "none + "},
        {"7", "none + 7"},
        {"[[1, 2", "|[1, 2 + "},
        {"['open", "|'open + "},
        {"['\\", "|'\\ + "},
        {"[1]]", "|1 + ]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shown[128];
        tell(cases[i].text, shown);
        assert_string_equal(shown, cases[i].elements);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements_of_any_depth_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
