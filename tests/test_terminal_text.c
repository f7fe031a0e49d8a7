/*
 * test_terminal_text.c - tests escaping of terminal control sequences in text that arrives in pieces of any length.
 */
#include "text/strings.h"
#include "unit.h"

static void control_characters_are_shown_and_others_stay(void **state) {
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
        {"\xe2\x1b[", "\\xe2\\x1b["},
        {"\xf0\x9f\x98"
         "a",
         "\\xf0\\x9f\\x98"
         "a"},
        {"a\xe2\x80\xae"
         "b\xe2\x80\xaa",
         "a\\xe2\\x80\\xae"
         "b\\xe2\\x80\\xaa"},
        {"\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"},
        {"\xd8\x9c\xe2\x80\x8e\xe2\x80\xa6", "\\xd8\\x9c\\xe2\\x80\\x8e\xe2\x80\xa6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct visible visible = {0};
        char shown[256];
        size_t n = 0;
        for (const char *at = cases[i].text; *at; at++)
            n += visible_append(&visible, *at, shown + n);
        shown[n] = '\0';
        assert_string_equal(shown, cases[i].shown);
    }
}

static void names_show_printable_characters_unchanged(void **state) {
    static const struct {
        const char *name, *shown;
        unsigned n_columns;
    } cases[] = {
        {"\xe2\x80\xae", "\\xe2\\x80\\xae", 12},
        {"\xe2\x80\xa9", "\\xe2\\x80\\xa9", 12},
        {"\xc2\x9b", "\\xc2\\x9b", 8},
        {"\xe2\x80\xa6", "\xe2\x80\xa6", 1},
        {"\t", "\\x09", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct visible_character character;
        assert_ptr_equal(visible_read(cases[i].name, &character), cases[i].name + strlen(cases[i].name));
        assert_int_equal(character.n_bytes, strlen(cases[i].shown));
        assert_memory_equal(character.bytes, cases[i].shown, character.n_bytes);
        assert_int_equal(character.n_columns, cases[i].n_columns);
    }
}

static void bytes_that_are_not_utf8_are_escaped(void **state) {
    struct buffer text = {0};
    static const char name[] = "a\xff\x1b\xe2\x80\xae\xed\xa0\x80\xc3";
    visible_append_utf8(&text, name, sizeof name - 1);
    buffer_append(&text, "", 1);
    assert_string_equal(text.bytes, "a\\xff\x1b\xe2\x80\xae\\xed\\xa0\\x80\\xc3");
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown_and_others_stay),
        cmocka_unit_test(names_show_printable_characters_unchanged),
        cmocka_unit_test(bytes_that_are_not_utf8_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
