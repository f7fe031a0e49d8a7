/*
 * test_markdown.c - tests that untrusted names stay text in Markdown: no markup, HTML, cell or block begins in them.
 */
#include "report/markup.h"
#include "unit.h"

enum form { TEXT, CODE, PATH };

static void names_are_escaped(void **state) {
    static const struct {
        enum form form;
        bool in_table;
        const char *text, *shown;
    } cases[] = {
        {TEXT, false, "plain words", "plain words"},
        {TEXT, false, "aten::mm, then (train.py:3:f)", "`aten::mm`, then (`train.py:3:f`)"},
        {TEXT, false, "a <b> [c](d) &lt; # e", "a `<b>` `[c](d)` \\&lt; \\# e"},
        {TEXT, false, "< & * | ~", "\\< \\& \\* \\| \\~"},
        {TEXT, false, "one\n# two\r\n\tthree\x1b[m", "`one #` `two   three\\x1b[m`"},
        {TEXT, true, "x_|_y", "`x_\\|_y`"},
        {CODE, false, "", "``"},
        {CODE, false, "a`b", "`` a`b ``"},
        {CODE, false, "`` ` ```", "```` `` ` ``` ````"},
        {CODE, false, "a|b", "`a|b`"},
        {CODE, true, "a|b", "`a\\|b`"},
        {CODE, true, "a\\|<b>", "`a\\ \\|<b>`"},
        {PATH, false, "/home/user/trace.json", "`trace.json`"},
        {PATH, false, "/home/user/ranks/", "`ranks/`"},
        {PATH, false, "ranks/trace.json", "`ranks/trace.json`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_out out = {0};
        const struct markdown markdown = {.out = &out, .in_table = cases[i].in_table};
        if (cases[i].form == TEXT)
            markdown_text(&markdown, cases[i].text);
        else if (cases[i].form == CODE)
            markdown_code(&markdown, cases[i].text, strlen(cases[i].text));
        else
            markdown_path(&markdown, cases[i].text);
        buffer_append(&out.out, "", 1);
        assert_string_equal(out.out.bytes, cases[i].shown);
        buffer_free(&out.out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_escaped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
