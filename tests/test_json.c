/*
 * test_json.c - tests the JSON reader and writer: strings and plain lists against scans of single characters, the
 * grammar against the texts that Python accepts, and the writer against Python's output.
 */
#include "generate/random.h"
#include "read/json.h"
#include "read/source.h"
#include "text/strings.h"
#include "unit.h"
#include "write/json_copy.h"
#include "write/sink.h"

static struct source source_of(const char *text, size_t size) {
    struct source source;
    assert_int_equal(source_copy(&source, "text", text, size, NULL), SUTRA_OK);
    return source;
}

static bool is_hex(char c) {
    return c && strchr("0123456789abcdefABCDEF", c);
}

/* Where the string at `at` ends, or is malformed, character by character; *valid says which. */
static size_t plain_string_end(const char *text, size_t size, size_t at, bool *valid) {
    *valid = false;
    for (size_t i = at + 1; i < size; i++) {
        if (text[i] == '"') {
            *valid = true;
            return i;
        }
        if ((unsigned char)text[i] < 0x20)
            return i;
        size_t bad = utf8_check(text + i, size - i < 4 ? size - i : 4);
        if ((unsigned char)text[i] >= 0x80 && bad == 0)
            return i;
        while (i + 1 < size && ((unsigned char)text[i + 1] & 0xc0) == 0x80 && --bad > 0)
            i++;
        if (text[i] != '\\')
            continue;
        if (++i == size)
            break;
        if (!text[i] || !strchr("\"\\/bfnrtu", text[i]))
            return i;
        for (size_t k = 1; k <= 4 && text[i] == 'u'; k++)
            if (i + k >= size || !is_hex(text[i + k]))
                return i;
        i += text[i] == 'u' ? 4 : 0;
    }
    return at;
}

/* Of every kind of piece at every place of a vector, valid or not, and cut off anywhere. */
static void strings_end_where_a_plain_walk_ends_them(void **state) {
    static const char *const pieces[] = {
        "a", "abcdefghijklm", "\\\\",    "\\\"", "\\n", "\\u00e9", "\xc3\xa9", "\xf0\x9f\x98\x80", "{[:,]}", "\x7f",
        " ", "\\x",           "\\u00g0", "\x1f", "\n",  "\x80",    "\xc3",     "\xed\xa0\x80",     "\""};
    struct random dice = {7};
    for (unsigned round = 0; round < 20000; round++) {
        char text[600];
        size_t pad = random_below(&dice, 40), size = (size_t)sprintf(text, "%*s\"", (int)pad, "");
        for (size_t n = random_below(&dice, 30); n > 0; n--) {
            uint32_t among = random_below(&dice, 8) ? 11 : sizeof pieces / sizeof *pieces;
            size += (size_t)sprintf(text + size, "%s", pieces[random_below(&dice, among)]);
        }
        size += (size_t)sprintf(text + size, "%s", random_below(&dice, 9) ? "\" , 1" : "");
        bool valid;
        size_t end = plain_string_end(text, size, pad, &valid);
        struct source source = source_of(text, size);
        struct json_walker walker = walk_from(&source, 0);
        struct json_span place = walk_string(&walker);
        if (valid != !walker.expected || (valid ? place.end : walker.failed_at) != end)
            fail_msg("round %u: '%.*s' ends at %zu (%s), expected %zu (%s)", round, (int)size, text,
                     walker.expected ? walker.failed_at : place.end, walker.expected ? walker.expected : "valid", end,
                     valid ? "valid" : "malformed");
        assert_int_equal(walker.at, valid ? space_end(text, end + 1) : size);
        source_close(&source);
    }
}

/* The message and its byte; of several mistakes, the first is reported. */
static void errors_are_reported_in_file_order(void **state) {
    static const struct {
        const char *text;
        size_t at;
        const char *message;
    } mistakes[] = {
        {"[\"a\x01\"]", 3, "control character 0x01 in a string"},
        {"[\"a\nb\"]", 3, "control character 0x0a in a string"},
        {"[\"a\x80\"]", 3, "byte 0x80 is not valid UTF-8"},
        {"[\"a\xc3\"]", 3, "byte 0xc3 is not valid UTF-8"},
        {"[1, \x80]", 4, "byte 0x80 is not valid UTF-8"},
        {"[1, \xc3\xa9]", 4, "a JSON value was expected"},
        {"[\"a\\x\"]", 4, "bad escape in a string"},
        {"[\"a\\\xc3\xa9\"]", 4, "bad escape in a string"},
        {"[\"a\\u12\"]", 4, "bad escape in a string"},
        {"[\"a\", \"b", 6, "this string is not closed before the end of the file"},
        {"[\"a\", \"b\\", 6, "this string is not closed before the end of the file"},
        {"[\"a\", \"b\\\"", 6, "this string is not closed before the end of the file"},
        {"[1 2, \"\x01\"]", 3, "',' or ']' was expected"},
        {"[\"\x01\", 1 2]", 2, "control character 0x01"},
        {"[tru, \"\x80\"]", 1, "a JSON value was expected"},
        {"{\"a\" 1, \"\x01\"}", 5, "':' after a key was expected"},
        {"{\"\\q\" 1}", 3, "bad escape in a string"},
        {"[1, ", 4, "the file is truncated here: a JSON value was expected"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct source source = source_of(mistakes[i].text, strlen(mistakes[i].text));
        struct json_walker walker = walk_from(&source, 0);
        struct sutra_error error = {0};
        walk_value(&walker);
        assert_int_equal(walk_error(&walker, &error), SUTRA_DATA);
        if (!strstr(error.message, mistakes[i].message) || error.offset != mistakes[i].at)
            fail_msg("%s: byte %zu: %s", mistakes[i].text, (size_t)error.offset, error.message);
        source_close(&source);
    }
}

/* Texts, and whether Python's json.loads() takes them. */
static const struct {
    const char *text;
    bool valid;
} documents[] = {
    {"{}", true},
    {"[]", true},
    {"0", true},
    {"-0", true},
    {"-", false},
    {"1.5", true},
    {"1.", false},
    {".5", false},
    {"1e5", true},
    {"1E+5", true},
    {"1e-5", true},
    {"1e", false},
    {"1e+", false},
    {"01", false},
    {"-01", false},
    {"00", false},
    {"--1", false},
    {"+1", false},
    {"1-", false},
    {"0x1", false},
    {"1_0", false},
    {"NaN", true},
    {"-NaN", false},
    {"nan", false},
    {"Infinity", true},
    {"-Infinity", true},
    {"+Infinity", false},
    {"Infinit", false},
    {"-Infinit", false},
    {"true", true},
    {"false", true},
    {"null", true},
    {"True", false},
    {"nul", false},
    {"nulll", false},
    {"truefalse", false},
    {"true false", false},
    {"\"a\"", true},
    {"\"a", false},
    {"a\"", false},
    {"'a'", false},
    {"\"\"", true},
    {"\"\"\"\"", false},
    {"\"a\"\"b\"", false},
    {"\"\\\"\"", true},
    {"\"\\\"", false},
    {"\"\\\\\"", true},
    {"\"\\\\\"\"", false},
    {"\"\\u0041\"", true},
    {"\"\\u004\"", false},
    {"\"\\uD800\"", true},
    {"\"\\uD800\\uDC00\"", true},
    {"\"\\u00g0\"", false},
    {"\"\\a\"", false},
    {"\"\\/\"", true},
    {"[1]", true},
    {"[1,]", false},
    {"[,1]", false},
    {"[,]", false},
    {"[1 2]", false},
    {"[1,,2]", false},
    {"[1:2]", false},
    {"[1}", false},
    {"[", false},
    {"[[", false},
    {"[[]", false},
    {"[]]", false},
    {"]", false},
    {"[1,2", false},
    {"{\"a\":1}", true},
    {"{\"a\":1,}", false},
    {"{,}", false},
    {"{\"a\"}", false},
    {"{\"a\":}", false},
    {"{:1}", false},
    {"{\"a\" 1}", false},
    {"{\"a\":1 \"b\":2}", false},
    {"{\"a\":1,\"b\"}", false},
    {"{\"a\":1,\"b\":2}", true},
    {"{a:1}", false},
    {"{1:1}", false},
    {"{null:1}", false},
    {"{\"a\":1]", false},
    {"{", false},
    {"{\"a\":{\"b\":{}}}", true},
    {"{\"a\":1}}", false},
    {"[{}]", true},
    {"[{},{}]", true},
    {"[{}{}]", false},
    {"[\"\"]", true},
    {"[\"\" \"\"]", false},
    {"[\"a\":1]", false},
    {"{\"a\":[]}", true},
    {"{\"a\",\"b\"}", false},
    {"{\"a\"::1}", false},
    {"{\"a\":1:2}", false},
    {" [ 1 , 2 ] ", true},
    {"\t\n\r[]\n", true},
    {"[]\013", false},
    {"\014[]", false},
    {"[1]//", false},
    {"[1]#", false},
    {"/**/[]", false},
    {"[\\u0020]", false},
    {"[1\\n]", false},
    {":", false},
    {",", false},
    {"{\"a\":\"b\",\"a\":\"c\"}", true},
    {"[true,false,null]", true},
    {"[tru]", false},
    {"[1e400]", true},
    {"[-1e-400]", true},
    {"[123456789012345678901234567890]", true},
    {"[1.0e]", false},
    {"[1.e1]", false},
    {"[-]", false},
    {"[- 1]", false},
    {"[1 .5]", false},
    {"{\"\":\"\"}", true},
    {"{\"a\":1,\"a\"}", false},
    {"[[1],[2,[3,{\"x\":[4]}]]]", true},
    {"[1]]", false},
    {"[1],", false},
    {"\"\177\"", true},
    {"\"\303\251\"", true},
    {"\303\251", false},
};

/* Whether a value and nothing else stands in the text. */
static bool is_valid(const char *text, size_t size) {
    struct source source = source_of(text, size);
    struct json_walker walker = walk_from(&source, 0);
    walk_value(&walker);
    bool valid = !walker.expected && walker.at == size;
    source_close(&source);
    return valid;
}

static void the_grammar_is_pythons(void **state) {
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        const char *text = documents[i].text;
        if (is_valid(text, strlen(text)) != documents[i].valid)
            fail_msg("%s is %s", text, documents[i].valid ? "refused" : "taken");
        /* The same after a block of spaces, and as an element. */
        char more[400];
        size_t size = (size_t)sprintf(more, "%70s%s", "", text);
        if (is_valid(more, size) != documents[i].valid)
            fail_msg("%s is %s", more, documents[i].valid ? "refused" : "taken");
        size = (size_t)sprintf(more, "[\"%061d\",%s]", 0, text);
        if (documents[i].valid && !is_valid(more, size))
            fail_msg("%s is refused", more);
    }
}

static void nesting_is_limited(void **state) {
    char *text = malloc(20 * DEPTH_MAX);
    assert_non_null(text);
    for (int object = 0; object < 2; object++)
        for (size_t depth = DEPTH_MAX - 1; depth <= DEPTH_MAX + 1; depth++) {
            size_t size = 0;
            for (size_t i = 0; i < depth; i++)
                size += (size_t)sprintf(text + size, object ? "{\"a\":" : "[");
            size += (size_t)sprintf(text + size, "1");
            memset(text + size, object ? '}' : ']', depth);
            assert_int_equal(is_valid(text, size + depth), depth <= DEPTH_MAX);
        }
    free(text);
}

/* Lists of pieces that may or may not belong there, against the same ones so deep that they are walked token by
 * token. */
static void lists_are_validated_alike_at_any_depth(void **state) {
    static const char *const pieces[] = {
        "[",   "]",        ",",    ", ",           " ",  "1",  "0", "-", "12345",   "\"\"", "\"a,]\"",
        "1.5", "\"\\\"\"", "true", "\"\xc3\xa9\"", "\n", "\"", "{", "}", "\"a\": 1"};
    static const char *const likely[] = {"[]", "[1, 2]", "7", "\"x\"", "[[3], []]", "-1", "10", "[\n\t 1,\r\n 2\n ]"};
    static const char *const commas[] = {", ", ",", ", ", ",\n        ", " , "};
    const size_t depth = DEPTH_MAX - 80;
    struct random dice = {11};
    unsigned n_valid = 0;
    for (unsigned round = 0; round < 20000; round++) {
        char list[1500] = "[", deep[4000];
        size_t size = 1;
        for (size_t n = random_below(&dice, round % 4 ? 12 : 60), i = 0; i < n; i++) {
            if (i > 0 && random_below(&dice, 20))
                size += (size_t)sprintf(list + size, "%s", commas[random_below(&dice, 5)]);
            bool odd = random_below(&dice, 12) == 0;
            size += (size_t)sprintf(list + size, "%s",
                                    odd ? pieces[random_below(&dice, 20)] : likely[random_below(&dice, 8)]);
        }
        size += (size_t)sprintf(list + size, "]");
        memset(deep, '[', depth);
        memcpy(deep + depth, list, size);
        memset(deep + depth + size, ']', depth);
        bool valid = is_valid(list, size);
        n_valid += valid;
        if (valid != is_valid(deep, 2 * depth + size))
            fail_msg("round %u: %s is %s", round, list, valid ? "taken" : "refused");
    }
    assert_true(n_valid > 5000 && n_valid < 15000);
}

/* ---- Plain lists ---- */

/* The byte after a plain list, character by character; 0: the list is not plain. `any_space`: white space between any
 * two tokens but before a comma, instead of one space after a comma. */
static size_t plain_end_of_list(const char *text, size_t at, bool any_space) {
    const size_t limit = at + 256;
    size_t i = at, depth = 0;
    for (char before = 0; i < limit;) { /* the token before: one of [ ] , - 0 (a complete number) and " */
        char c = text[i];
        if (any_space && before && strchr(" \t\n\r", c) && c) {
            while (text[i] && strchr(" \t\n\r", text[i]))
                i++;
            if (before == '-' || (text[i] == ']' && before == ',') || (text[i] != ']' && strchr("]0\"", before)))
                return 0;
            continue;
        }
        const bool is_after_value = before && strchr("]0\"", before);
        if (c == ' ' && before == ',' && text[i - 1] == ',')
            c = text[++i];
        if (c == ']' && (is_after_value || before == '[')) {
            i++;
            before = ']';
            if (--depth == 0)
                return i <= limit ? i : 0;
        } else if (c == ',' && is_after_value) {
            i++;
            before = ',';
        } else if (is_after_value || (before == '-' && (c < '0' || c > '9'))) {
            return 0;
        } else if (c == '[') {
            i++;
            depth++;
            before = '[';
        } else if (depth == 0) {
            return 0;
        } else if (c == '-') {
            i++;
            before = '-';
        } else if (c >= '0' && c <= '9') {
            if (c == '0' && text[i + 1] >= '0' && text[i + 1] <= '9')
                return 0;
            while (text[i] >= '0' && text[i] <= '9')
                i++;
            before = '0';
        } else if (c == '"') {
            for (i++; text[i] != '"'; i++)
                if ((signed char)text[i] < 0x20 || text[i] == '\\')
                    return 0;
            i++;
            before = '"';
        } else {
            return 0;
        }
    }
    return 0;
}

/* Writes a list of random elements, strings end at any byte of a block. */
static size_t make_list(struct random *dice, char *text, unsigned depth) {
    static const char *const words[] = {"\"\"", "0", "-0", "7", "-12", "1024", "\"[a],\"", "\"{-1: 0}\"", "[]"};
    static const char *const spaces[] = {"", " ", "  ", "\n", "\t\r\n    "};
    size_t size = (size_t)sprintf(text, "[");
    const unsigned n = random_below(dice, 6), n_spaces = random_below(dice, 3) ? 1 : 5;
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            size += (size_t)sprintf(text + size, ",%s", n_spaces > 1 ? "" : random_below(dice, 2) ? " " : "");
        size += (size_t)sprintf(text + size, "%s", spaces[random_below(dice, n_spaces)]);
        const unsigned kind = random_below(dice, 4);
        if (kind == 0 && depth < 2)
            size += make_list(dice, text + size, depth + 1);
        else if (kind == 1)
            size += (size_t)sprintf(text + size, "\"%.*s\"", (int)random_below(dice, 40),
                                    "aten::mm(Tensor self) [12, 3] {a} -0 01 ~");
        else
            size += (size_t)sprintf(text + size, "%s", words[random_below(dice, 9)]);
    }
    size += (size_t)sprintf(text + size, "%s", n == 0 || n_spaces > 1 ? spaces[random_below(dice, n_spaces)] : "");
    return size + (size_t)sprintf(text + size, "]");
}

/* Plain lists, and lists with one other byte, after 0 to 69 bytes: all scans of this CPU find the end that a scan of
 * single characters finds. */
static void scans_of_plain_lists_agree(void **state) {
    static const char others[] = "\"\\[],- 0189a{}:.\n\t\x1f\x7f\x80\xff";
    const uint64_t seed = 17;
    struct random dice = {seed};
    unsigned n_plain = 0, n_spaced = 0, n_long = 0;
    for (unsigned round = 0; round < 30000; round++) {
        char text[4000] = "";
        const size_t at = random_below(&dice, 70);
        memset(text, '[', at);
        const size_t size = make_list(&dice, text + at, 0);
        strcpy(text + at + size, random_below(&dice, 2) ? "]" : ", 1]");
        if (round % 2)
            text[at + 1 + random_below(&dice, (uint32_t)size - 1)] = others[random_below(&dice, sizeof others - 1)];
        const size_t plain = plain_end_of_list(text, at, false), spaced = plain_end_of_list(text, at, true);
        for (int scan = 0; scan < N_LIST_SCANS; scan++) {
            find_list_end *find = list_scan_function((enum list_scan)scan);
            const size_t expected = scan == LIST_SCAN_64_BYTES ? spaced : plain, end = find ? find(text, at) : expected;
            if (end != expected)
                fail_msg("seed %u, round %u, scan %d: '%s' from byte %zu ends at %zu, expected %zu", (unsigned)seed,
                         round, scan, text, at, end, expected);
        }
        n_plain += plain > 0;
        n_spaced += spaced > plain;
        n_long += plain > at + 128;
    }
    if (!list_scan_function(LIST_SCAN_64_BYTES))
        print_message("this CPU lacks AVX-512: the scan of 64 bytes is not tested\n");
    assert_true(n_plain > 5000 && n_spaced > 5000 && n_long > 100);
}

/* Texts, and what Python writes for a list of that value: json.dumps([json.loads(text)], indent=4). */
static const struct {
    const char *text, *written;
} values[] = {
    {"[]", "[\n    []\n]"},
    {"{}", "[\n    {}\n]"},
    {"[ ]", "[\n    []\n]"},
    {"{ }", "[\n    {}\n]"},
    {"[[]]", "[\n    [\n        []\n    ]\n]"},
    {"[{}]", "[\n    [\n        {}\n    ]\n]"},
    {"{\"a\":{}}", "[\n    {\n        \"a\": {}\n    }\n]"},
    {"{\"a\":[]}", "[\n    {\n        \"a\": []\n    }\n]"},
    {"[1,2]", "[\n    [\n        1,\n        2\n    ]\n]"},
    {"[1,[2,[3]]]", "[\n    [\n        1,\n        [\n            2,\n            [\n                3\n            "
                    "]\n        ]\n    ]\n]"},
    {"{\"a\":1,\"b\":[1,{\"c\":null}],\"d\":true}",
     "[\n    {\n        \"a\": 1,\n        \"b\": [\n            1,\n            {\n                \"c\": null\n      "
     "      }\n        ],\n        \"d\": true\n    }\n]"},
    {"{\"a\":1,\"a\":2}", "[\n    {\n        \"a\": 2\n    }\n]"},
    {"{\"a\":1,\"b\":2,\"a\":3,\"b\":4,\"c\":5}",
     "[\n    {\n        \"a\": 3,\n        \"b\": 4,\n        \"c\": 5\n    }\n]"},
    {"{\"a\":{\"x\":1,\"x\":2},\"b\":0,\"a\":{\"y\":[{\"z\":1,\"z\":2}]}}",
     "[\n    {\n        \"a\": {\n            \"y\": [\n                {\n                    \"z\": 2\n              "
     "  }\n            ]\n        },\n        \"b\": 0\n    }\n]"},
    {"{\"\":1,\"\":2}", "[\n    {\n        \"\": 2\n    }\n]"},
    {"{\"a\":1,\"\\u0061\":2}", "[\n    {\n        \"a\": 2\n    }\n]"},
    {"{\"a\\/b\":1,\"a/b\":2}", "[\n    {\n        \"a/b\": 2\n    }\n]"},
    {"{\"\\u00e9\":1,\"\303\251\":2}", "[\n    {\n        \"\\u00e9\": 2\n    }\n]"},
    {"{\"ab\":1,\"b\":2,\"aab\":3,\"b\":4}",
     "[\n    {\n        \"ab\": 1,\n        \"b\": 4,\n        \"aab\": 3\n    }\n]"},
    {"\"\\u0041\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "[\n    \"A/\\b\\f\\n\\r\\t\\\"\\\\\"\n]"},
    {"\"\303\251\360\237\230\200\177\"", "[\n    \"\\u00e9\\ud83d\\ude00\\u007f\"\n]"},
    {"\"\\ud83d\\ude00\\ude00\\ud83d\"", "[\n    \"\\ud83d\\ude00\\ude00\\ud83d\"\n]"},
    {"[1.0,1e16,1e15,1E22,1e-5,0.0001,-0.0,-0,0.1,5e-324,1.7976931348623157e308,1e309,-1e309,NaN,Infinity,-Infinity]",
     "[\n    [\n        1.0,\n        1e+16,\n        1000000000000000.0,\n        1e+22,\n        1e-05,\n        "
     "0.0001,\n        -0.0,\n        0,\n        0.1,\n        5e-324,\n        1.7976931348623157e+308,\n        "
     "Infinity,\n        -Infinity,\n        NaN,\n        Infinity,\n        -Infinity\n    ]\n]"},
    {"[123456789012345678,1234567890123456,-9223372036854775808,123456789012345678901234567890]",
     "[\n    [\n        123456789012345678,\n        1234567890123456,\n        -9223372036854775808,\n        "
     "123456789012345678901234567890\n    ]\n]"},
    {"[\"0123456789abcdef\",\"0123456789abcde\\n\",\"0123456789abcdefg\",\"\\n\"]",
     "[\n    [\n        \"0123456789abcdef\",\n        \"0123456789abcde\\n\",\n        \"0123456789abcdefg\",\n       "
     " \"\\n\"\n    ]\n]"},
    {"{\"key that is longer than sixteen bytes\":1,\"key that is longer than sixteen bytez\":2,\"key that is longer "
     "than sixteen bytes\":3}",
     "[\n    {\n        \"key that is longer than sixteen bytes\": 3,\n        \"key that is longer than sixteen "
     "bytez\": 2\n    }\n]"},
    {"[true,false,null]", "[\n    [\n        true,\n        false,\n        null\n    ]\n]"},
    {"{\"a\":\"{[,:]}\"}", "[\n    {\n        \"a\": \"{[,:]}\"\n    }\n]"},
};

static void check_written(const char *text, const char *expected) {
    struct source source = source_of(text, strlen(text));
    struct json_walker walker = walk_from(&source, 0);
    struct buffer out = {0};
    struct json_emitter emitter = {.out = &out};
    buffer_append(&out, "[\n    ", 6);
    emit_value(&emitter, &walker, 1);
    buffer_append(&out, "\n]", 3);
    assert_false(emitter.failed || out.failed);
    if (strcmp(out.bytes, expected))
        fail_msg("%s is written as\n%s, expected\n%s", text, out.bytes, expected);
    json_emitter_free(&emitter);
    buffer_free(&out);
    source_close(&source);
}

static void values_are_written_as_python_does(void **state) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_written(values[i].text, values[i].written);
}

/* Objects of many members, of which some repeat: the first place, the last value. */
static void repeated_keys_of_large_objects_merge(void **state) {
    for (size_t n = 1; n < 300; n = n * 2 + 1) {
        char *text = NULL, *expected = NULL;
        size_t text_size, expected_size;
        FILE *in = open_memstream(&text, &text_size), *out = open_memstream(&expected, &expected_size);
        assert_true(in && out);
        fputs("{", in);
        fputs("[\n    {", out);
        for (size_t round = 0; round < 2; round++) /* in the second, every third key again */
            for (size_t i = 0; i < n; i++)
                if (round == 0 || i % 3 == 0)
                    fprintf(in, "%s\"k%zu\": %zu", round || i ? "," : "", i, i + 1000 * round);
        for (size_t i = 0; i < n; i++)
            fprintf(out, "%s\n        \"k%zu\": %zu", i ? "," : "", i, i % 3 ? i : i + 1000);
        fputs("}", in);
        fputs("\n    }\n]", out);
        fclose(in);
        fclose(out);
        check_written(text, expected);
        free(text);
        free(expected);
    }
}

/* Keys that differ only in their middle, the last of them repeated: a wrong or slow comparison shows here. */
static void keys_that_differ_in_their_middle_stay_apart(void **state) {
    char *text = NULL, *expected = NULL;
    size_t text_size, expected_size;
    const size_t n = 30000;
    FILE *in = open_memstream(&text, &text_size), *out = open_memstream(&expected, &expected_size);
    assert_true(in && out);
    fputs("[\n    {", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(in, "%s\"aaaaaaaa%06zubbbbbbbb\": %zu", i ? "," : "{", i, i);
        fprintf(out, "%s\n        \"aaaaaaaa%06zubbbbbbbb\": %zu", i ? "," : "", i, i + 1 == n ? 7 : i);
    }
    fprintf(in, ",\"aaaaaaaa%06zubbbbbbbb\":7}", n - 1);
    fputs("\n    }\n]", out);
    fclose(in);
    fclose(out);
    check_written(text, expected);
    free(text);
    free(expected);
}

/* A list of values that come again and again, in lists and objects of several levels. */
static void make_repetitive(FILE *out, struct random *dice, unsigned depth) {
    static const char *const repeated[] = {
        "[256, 64]",
        "[[256, 64], [], [8, 32, 64]]",
        "[256, 65]",
        "[\"Tensor(float)\", \"Int\"]",
        "{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": -1}",
        "{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": -1, \"name\": 1e2}",
        "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"aten::add(Tensor a)\"}",
        "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"aten::add(Tensor b)\"}",
        "{\"a\":[1.0,{\"b\":\"\\u0041\"}]}",
        "{}",
        "[ ]",
        "12"};
    fputs("[", out);
    for (unsigned n = 1 + random_below(dice, 9); n > 0; n--) {
        unsigned which = random_below(dice, 14);
        if (which < 12 || depth == 0)
            fputs(repeated[which % 12], out);
        else
            fprintf(out, "{\"k%u\": ", which);
        if (which >= 12 && depth > 0) {
            make_repetitive(out, dice, depth - 1);
            fputs("}", out);
        }
        if (n > 1)
            fputs(random_below(dice, 9) ? ", " : ",\n", out);
    }
    fputs("]", out);
}

static void repeated_values_are_written_identically(void **state) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct random dice = {seed};
        char *text = NULL;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        make_repetitive(file, &dice, 5);
        fclose(file);
        struct source source = source_of(text, size);
        struct buffer plain = {0}, kept = {0};
        struct json_emitter emitter = {.out = &plain}, keeper = {.out = &kept};
        keeper.values = calloc(EMITTED_VALUES, sizeof *keeper.values);
        assert_non_null(keeper.values);
        for (unsigned level = 0; level < 3; level++) {
            struct json_walker walker = walk_from(&source, 0), again = walker;
            emit_value(&emitter, &walker, level);
            emit_value(&keeper, &again, level);
            assert_int_equal(again.at, size);
        }
        assert_int_equal(kept.length, plain.length);
        assert_memory_equal(kept.bytes, plain.bytes, plain.length);
        json_emitter_free(&emitter);
        json_emitter_free(&keeper);
        buffer_free(&plain);
        buffer_free(&kept);
        source_close(&source);
        free(text);
    }
}

static void deep_values_are_written_on_their_lines(void **state) {
    for (size_t depth = 60; depth <= 70; depth++) {
        char text[200] = "", expected[30000] = "[\n    ";
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        for (size_t i = 1; i < depth; i++)
            sprintf(expected + strlen(expected), "[\n%*s", (int)(4 * i + 4), "");
        strcat(expected, "[]");
        for (size_t i = depth - 1; i > 0; i--)
            sprintf(expected + strlen(expected), "\n%*s]", (int)(4 * i), "");
        strcat(expected, "\n]");
        check_written(text, expected);
    }
}

static void check_source(const struct source *source, const char *text, size_t size) {
    assert_int_equal(source->size, size);
    assert_memory_equal(source->bytes, text, size);
    for (size_t i = 0; i < SOURCE_PADDING; i++)
        assert_int_equal(source->bytes[size + i], 0);
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Files that end right at, before and after the end of a page or of a decompressor's piece; plain, copied and
 * compressed in one and in several parts. */
static void sources_are_complete_and_padded(void **state) {
    char path[] = P_tmpdir "/sutra_source_XXXXXX";
    make_temp_file(path, "");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {1,       63,     64, 65, page - 1, page, page + 1, 16 * page - 64, 16 * page, 50 * page + 7,
                            1 << 17, 1 << 18};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        char *text = malloc(size);
        assert_non_null(text);
        for (size_t k = 0; k < size; k++)
            text[k] = (char)(k ? 'a' + k % 23 : '{');
        struct source source;
        struct sutra_error error;
        write_file(path, text, size);
        assert_int_equal(source_open(&source, path, 0, &error), SUTRA_OK);
        check_source(&source, text, size);
        source_close(&source);
        assert_int_equal(source_copy(&source, "copy", text, size, &error), SUTRA_OK);
        check_source(&source, text, size);
        source_close(&source);
        for (int kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZSTD; kind++)
            for (size_t part = size; part > 0; part = part > 10000 ? part / 5 : 0) {
                struct buffer packed = {0};
                for (size_t at = 0; at < size; at += part)
                    assert_true(compress_piece((enum compression)kind, text + at, size - at < part ? size - at : part,
                                               &packed));
                write_file(path, packed.bytes, packed.length);
                assert_int_equal(source_open(&source, path, 0, &error), SUTRA_OK);
                check_source(&source, text, size);
                source_close(&source);
                buffer_free(&packed);
            }
        free(text);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_end_where_a_plain_walk_ends_them),
        cmocka_unit_test(errors_are_reported_in_file_order),
        cmocka_unit_test(the_grammar_is_pythons),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(lists_are_validated_alike_at_any_depth),
        cmocka_unit_test(scans_of_plain_lists_agree),
        cmocka_unit_test(values_are_written_as_python_does),
        cmocka_unit_test(repeated_keys_of_large_objects_merge),
        cmocka_unit_test(keys_that_differ_in_their_middle_stay_apart),
        cmocka_unit_test(repeated_values_are_written_identically),
        cmocka_unit_test(deep_values_are_written_on_their_lines),
        cmocka_unit_test(sources_are_complete_and_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
