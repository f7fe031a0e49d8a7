/*
 * test_string_text.c - tests the three forms of a JSON string, the UTF-8 check and Python's int() against tables and a
 * simple writer.
 */
#include "text/strings.h"

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define PADDING      64

/* ---- help: blocks of exactly the promised size, so that a sanitizer sees every access outside ---- */

static char *block(size_t n) {
    char *bytes = calloc(1, n ? n : 1);
    assert_non_null(bytes);
    return bytes;
}

static char *padded(const char *text, size_t length) {
    char *copy = block(length + PADDING);
    memcpy(copy, text, length);
    return copy;
}

typedef size_t conversion(const char *text, size_t length, char *out);

static void check_conversion(conversion *convert, size_t room, const char *text, const char *expected) {
    size_t length = strlen(text);
    char *from = padded(text, length), *to = block(room);
    size_t n = convert(from, length, to);
    if (n != strlen(expected) || memcmp(to, expected, n) != 0)
        fail_msg("\"%s\" became \"%.*s\", not \"%s\"", text, (int)n, to, expected);
    free(to);
    free(from);
}

static void check_forms(const char *raw, const char *decoded, const char *written) {
    check_conversion(string_rewrite, 6 * strlen(raw) + PADDING, raw, written);
    check_conversion(string_decode, strlen(raw), raw, decoded);
    check_conversion(string_encode, 6 * strlen(decoded), decoded, written);
}

/* UTF-8 from the definition, by other means than the library's. */
static void plain_utf8(uint32_t c, char *out) {
    static const uint32_t limit[] = {0x80, 0x800, 0x10000, 0x110000}, lead[] = {0, 0xc0, 0xe0, 0xf0};
    size_t n = 0;
    while (c >= limit[n])
        n++;
    out[n + 1] = '\0';
    for (size_t i = n; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
}

static void plain_written(uint32_t c, char *out, size_t room) {
    static const char shorts[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = c && c < 0x80 ? strchr(shorts, (int)c) : NULL;
    if (found)
        snprintf(out, room, "\\%c", letters[found - shorts]);
    else if (c >= 0x20 && c < 0x7f)
        snprintf(out, room, "%c", (char)c);
    else if (c < 0x10000)
        snprintf(out, room, "\\u%04x", c);
    else
        snprintf(out, room, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
}

/* ---- the three forms ---- */

static void strings_take_their_three_forms(void **state) {
    static const char *const cases[][3] = {
        {"", "", ""},
        {"aten::add_", "aten::add_", "aten::add_"},
        {"void f<float, 4>(int, std::array<char*, 3>)", "void f<float, 4>(int, std::array<char*, 3>)",
         "void f<float, 4>(int, std::array<char*, 3>)"},
        {"a\\/b", "a/b", "a/b"},
        {"\\u0041\\u00e9\\u00E9", "A\xc3\xa9\xc3\xa9", "A\\u00e9\\u00e9"},
        {"\\uD83D\\uDE00", "\xf0\x9f\x98\x80", "\\ud83d\\ude00"},
        {"\\b\\f\\n\\r\\t\\\"\\\\", "\b\f\n\r\t\"\\", "\\b\\f\\n\\r\\t\\\"\\\\"},
        {"\\u000a\\u0022\\u005C\\u002f", "\n\"\\/", "\\n\\\"\\\\/"},
        {"\\u0001\x7f", "\x01\x7f", "\\u0001\\u007f"},
        {"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80",
         "\\u00e9\\u6f22\\ud83d\\ude00"},
        {"\\ud83d", "\xed\xa0\xbd", "\\ud83d"},
        {"\\ude00\\ud83d", "\xed\xb8\x80\xed\xa0\xbd", "\\ude00\\ud83d"},
        {"\\ud83d\\ud83d\\ude00", "\xed\xa0\xbd\xf0\x9f\x98\x80", "\\ud83d\\ud83d\\ude00"},
        {"\\ud83d\\n\\ude00", "\xed\xa0\xbd\n\xed\xb8\x80", "\\ud83d\\n\\ude00"},
        {"\\ud83dude00", "\xed\xa0\xbdude00", "\\ud83dude00"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        check_forms(cases[i][0], cases[i][1], cases[i][2]);
}

static void every_character_takes_its_three_forms(void **state) {
    for (uint32_t c = 1; c < 0x110000; c++) {
        char utf8[8], written[16], escape[16];
        plain_utf8(c, utf8);
        plain_written(c, written, sizeof written);
        bool surrogate = c >= 0xd800 && c < 0xe000;
        if (c >= 0x20 && c != '"' && c != '\\' && !surrogate)
            check_forms(utf8, utf8, written);
        if (c < 0x10000)
            snprintf(escape, sizeof escape, "\\u%04X", c);
        else
            memcpy(escape, written, sizeof escape);
        check_forms(escape, utf8, written);
    }
}

static void nul_survives_as_an_escape(void **state) {
    char *raw = padded("a\\u0000b", 8), decoded[8], *again, written[64 + 48];
    size_t n = string_decode(raw, 8, decoded);
    assert_int_equal(n, 3);
    assert_memory_equal(decoded, "a\0b", 3);
    again = padded(decoded, n);
    assert_int_equal(string_encode(again, n, written), 8);
    assert_memory_equal(written, "a\\u0000b", 8);
    assert_int_equal(string_rewrite(raw, 8, written), 8);
    assert_memory_equal(written, "a\\u0000b", 8);
    free(again);
    free(raw);
}

/* Steps of 8, 16 and 32 bytes meet the character at every place of a step, and the end of the string too. */
static void character_is_found_at_any_offset(void **state) {
    static const char *const work[][3] = {
        {"\\n", "\n", "\\n"},
        {"\\u00e9", "\xc3\xa9", "\\u00e9"},
        {"\xc3\xa9", "\xc3\xa9", "\\u00e9"},
        {"\x7f", "\x7f", "\\u007f"},
        {"", "", ""},
    };
    for (size_t i = 0; i < COUNT(work); i++)
        for (int before = 0; before < 70; before++)
            for (int after = 0; after < 70; after++) {
                char text[3][200];
                for (int form = 0; form < 3; form++)
                    snprintf(text[form], 200, "%0*d%s%0*d", before + 1, 0, work[i][form], after + 1, 0);
                check_forms(text[0], text[1], text[2]);
            }
}

static void bytes_after_a_string_are_ignored(void **state) {
    static const char text[6 + 6 + PADDING] = "\\ud83d\\ude00";
    char decoded[6], written[6 + PADDING];
    assert_int_equal(string_decode(text, 6, decoded), 3);
    assert_memory_equal(decoded, "\xed\xa0\xbd", 3);
    assert_int_equal(string_rewrite(text, 6, written), 6);
    assert_memory_equal(written, text, 6);
    static const char plain[3 + 4 + PADDING] = "abc\xc3\xa9\\n";
    assert_int_equal(string_rewrite(plain, 3, written), 3);
    assert_int_equal(string_encode(plain, 3, written), 3);
    assert_int_equal(string_decode(plain, 3, decoded), 3);
}

/* ---- UTF-8 ---- */

static void ill_formed_utf8_is_found_where_it_begins(void **state) {
    static const char *const bad[] = {
        "\x80",         "\xbf",         "\xc0\x80",         "\xc1\xbf",         "\xc3",
        "\xc3z",        "\xe0\x9f\xbf", "\xe6\xbc",         "\xe6\xbcz",        "\xe6z",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98",     "\xf0\x9f\x98z",
        "\xf0\x9fz",    "\xf0z",        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
    };
    static const char *const starts[] = {"", "abc", "0123456789abcdef", "\xc3\xa9\xe6\xbc\xa2 plain \xf0\x9f\x98\x80"};
    for (size_t i = 0; i < COUNT(bad); i++)
        for (size_t j = 0; j < COUNT(starts); j++) {
            char text[80];
            snprintf(text, sizeof text, "%s%s", starts[j], bad[i]);
            char *copy = padded(text, strlen(text));
            assert_int_equal(utf8_check(copy, strlen(text)), strlen(starts[j]));
            free(copy);
        }
}

static void every_character_but_surrogates_is_well_formed(void **state) {
    for (uint32_t c = 1; c < 0x110000; c++) {
        char utf8[8];
        plain_utf8(c, utf8);
        bool surrogate = c >= 0xd800 && c < 0xe000;
        assert_int_equal(utf8_check(utf8, strlen(utf8)), surrogate ? 0 : strlen(utf8));
    }
}

static void utf8_is_not_read_beyond_its_end(void **state) {
    assert_int_equal(utf8_check("\xe6\xbc\xa2", 2), 0);
    assert_int_equal(utf8_check("a\xf0\x9f\x98\x80", 4), 1);
    assert_int_equal(utf8_check("0123456789abcdef\xff", 16), 16);
}

/* ---- int() ---- */

static void int_reads_what_python_reads(void **state) {
    static const char *const cases[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"+5", "5"},
        {"12", "12"},
        {"-0012", "-12"},
        {"1_000", "1000"},
        {"0_0_7", "7"},
        {" \t\n\v\f\r12 \n", "12"},
        {"\xe3\x80\x80\xd9\xa1\xef\xbc\x92\xc2\xa0", "12"}, /* wide space, Arabic 1, wide 2, no-break space */
        {"\xc2\x85-\xf0\x9d\x9f\x8f", "-1"},                /* next line, bold 1 */
        {"\xf0\x9e\xa5\x99", "9"},                          /* Adlam, the last but one of the scripts */
        {"", ""},
        {" ", ""},
        {"-", ""},
        {"- 5", ""},
        {"+-5", ""},
        {"_1", ""},
        {"1_", ""},
        {"1__0", ""},
        {"-_1", ""},
        {"1 2", ""},
        {"1.0", ""},
        {"0x10", ""},
        {"\x1c"
         "5",
         ""},
        {"\xc2\xb2", ""},     /* superscript 2 is a digit for other purposes */
        {"\xe4\xb8\x80", ""}, /* so is the ideograph for one */
        {"\xed\xa0\xbd", ""},
        {"\xe2\x88\x92"
         "5",
         ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        check_conversion(python_int, strlen(cases[i][0]) + 1, cases[i][0], cases[i][1]);
    assert_int_equal(python_int("5\0", 2, (char[3]){0}), 0);
}

static void int_stops_at_4300_digits(void **state) {
    static const char fill[] = {'9', '0'};
    for (size_t i = 0; i < COUNT(fill); i++) {
        char *text = block(4301 + PADDING), *out = block(4302);
        memset(text, fill[i], 4301);
        assert_int_equal(python_int(text, 4300, out), fill[i] == '9' ? 4300 : 1);
        assert_int_equal(out[0], fill[i]);
        assert_int_equal(python_int(text, 4301, out), 0);
        text[1] = '_';
        assert_int_equal(python_int(text, 4301, out), fill[i] == '9' ? 4300 : 1);
        free(out);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_take_their_three_forms),
        cmocka_unit_test(every_character_takes_its_three_forms),
        cmocka_unit_test(nul_survives_as_an_escape),
        cmocka_unit_test(character_is_found_at_any_offset),
        cmocka_unit_test(bytes_after_a_string_are_ignored),
        cmocka_unit_test(ill_formed_utf8_is_found_where_it_begins),
        cmocka_unit_test(every_character_but_surrogates_is_well_formed),
        cmocka_unit_test(utf8_is_not_read_beyond_its_end),
        cmocka_unit_test(int_reads_what_python_reads),
        cmocka_unit_test(int_stops_at_4300_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
