/*
 * test_visible.c - what a terminal would act on is shown, the rest stays, in pieces of any length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "text/visible.h"

static void control_characters_are_shown_and_others_stay(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain\ttext\n", "plain\ttext\n"},
        {"\x1b[2J", "\\x1b[2J"},
        {"\x1b]0;title\a", "\\x1b]0;title\\x07"},
        {"a\rb\x7f", "a\\x0db\\x7f"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J"},
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xc2z", "\\xc2z"},
        {"\xc2\x1b", "\\xc2\\x1b"},
        {"\x9b"
         "2J \xff",
         "\\x9b2J \\xff"},
        {"\xc3\xbc\x9b", "\xc3\xbc\\x9b"},
        {"\xe2\x1b[", "\xe2\\x1b["},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct visible visible = {0};
        char shown[256];
        size_t n = 0;
        for (const char *at = cases[i].text; *at; at++)
            n += visible_put(&visible, *at, shown + n);
        shown[n] = '\0';
        assert_string_equal(shown, cases[i].shown);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(control_characters_are_shown_and_others_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
