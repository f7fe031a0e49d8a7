/*
 * test_json.c - reading and writing JSON: the index of tokens against a plain walk over the characters, the grammar
 * against what Python takes, and the writer against what Python writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pool.h"
#include "generate/random.h"
#include "read/json_index.h"
#include "read/json_walk.h"
#include "read/source.h"
#include "write/compress.h"
#include "write/json_emit.h"

/* A text that was read as far as its index. */
struct indexed {
    struct source source;
    struct json_index index;
    struct sutra_error error;
    enum sutra_status status;
};

static struct indexed index_text(const char *text, size_t size, struct pool *pool) {
    struct indexed indexed = {0};
    indexed.status = source_copy(&indexed.source, "text", text, size, &indexed.error);
    assert_int_equal(indexed.status, SUTRA_OK);
    indexed.status = json_index_build(&indexed.index, &indexed.source, pool, &indexed.error);
    return indexed;
}

static void indexed_free(struct indexed *indexed) {
    if (!indexed->status)
        json_index_free(&indexed->index);
    source_close(&indexed->source);
}

static bool is_marked(const struct json_index *index, size_t at) {
    return index->marks[at / 64] >> at % 64 & 1;
}

/* Where tokens begin, character by character: fails the test where the index says otherwise. */
static void check_marks(const struct indexed *indexed, const char *text, size_t size) {
    bool in_string = false, in_scalar = false;
    for (size_t i = 0; i < size; i++) {
        bool quote = text[i] == '"', space = strchr(" \t\r\n", text[i]) && text[i];
        bool structural = strchr("{}[]:,", text[i]) && text[i];
        bool expected = quote || (!in_string && (structural || (!space && !in_scalar)));
        if (in_string && text[i] == '\\') {
            if (is_marked(&indexed->index, i) || is_marked(&indexed->index, i + 1))
                fail_msg("byte %zu or the next is marked", i);
            i++;
            continue;
        }
        if (is_marked(&indexed->index, i) != expected)
            fail_msg("byte %zu of %zu: %s", i, size, expected ? "not marked" : "marked");
        in_scalar = !in_string && !quote && !structural && !space;
        in_string ^= quote;
    }
    for (size_t i = size; i < indexed->index.n_words * 64; i++)
        assert_false(is_marked(&indexed->index, i));
    assert_int_equal(indexed->index.marks[indexed->index.n_words], 0);
}

static void tokens_are_found_at_any_place_of_a_block(void **state) {
    (void)state;
    static const char *const pieces[] = {"\"\"",         "\"a\"",      "\"\\\"\"",     "\"\\\\\"",
                                         "\"\\\\\\\"\"", "\"{[:,]}\"", "\"\\u0041{\"", "\"\xc3\xa9,\"",
                                         "{}",           "[1,true]",   "12.5e3",       "\"\\\\\\\\\",\"\""};
    struct pool *pool = pool_create(1);
    for (size_t piece = 0; piece < sizeof pieces / sizeof *pieces; piece++)
        for (size_t pad = 0; pad < 200; pad++) {
            char text[512];
            size_t size = (size_t)sprintf(text, "%*s%s,\"%*s\",%s", (int)pad, "", pieces[piece], (int)pad % 70, "x",
                                          pieces[piece]);
            struct indexed indexed = index_text(text, size, pool);
            assert_int_equal(indexed.status, SUTRA_OK);
            check_marks(&indexed, text, size);
            indexed_free(&indexed);
        }
    pool_free(pool);
}

/* Runs of backslashes of every length, at every place, before a quote. */
static void backslashes_escape_across_blocks(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    for (size_t n = 0; n < 140; n++)
        for (size_t pad = 0; pad < 66; pad += 5) {
            char text[512];
            size_t size = (size_t)sprintf(text, "%*s[\"", (int)pad, "");
            memset(text + size, '\\', n);
            size += n;
            size += (size_t)sprintf(text + size, "%s,1]", n % 2 ? "\"\"" : "\"");
            struct indexed indexed = index_text(text, size, pool);
            assert_int_equal(indexed.status, SUTRA_OK);
            check_marks(&indexed, text, size);
            indexed_free(&indexed);
        }
    pool_free(pool);
}

/* Large texts are cut into chunks wherever that comes to be: in strings, runs of backslashes, characters, numbers. From
 * seed 5 on they have lines, which tell several threads where strings are, from seed 7 on too long ones now and then.
 */
static void chunks_meet_anywhere(void **state) {
    (void)state;
    static const char *const pieces[] = {"\\\\", "\\\"", "\xf0\x9f\x98\x80", "{", "a", "\xc3\xa9", "\\\\\\\\\\\\\\\\"};
    struct pool *pool = pool_create(4);
    size_t most = 1400000;
    char *text = malloc(most + 40000);
    assert_non_null(text);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct random dice = {seed};
        size_t size = 1;
        text[0] = '[';
        while (size < most) {
            size_t n = random_below(&dice, seed == 4 ? 2000 : 6);
            text[size++] = '"';
            for (size_t i = 0; i < n; i++)
                size += (size_t)sprintf(text + size, "%s", pieces[seed == 3 ? 0 : random_below(&dice, 7)]);
            size += (size_t)sprintf(text + size, "\" , 12345,{ }");
            text[size++] = ',';
            if (seed > 4 && random_below(&dice, seed > 6 ? 4000 : 4) == 0)
                text[size++] = '\n';
        }
        struct indexed indexed = index_text(text, size, pool);
        assert_int_equal(indexed.status, SUTRA_OK);
        assert_true(indexed.index.n_chunks > 3);
        check_marks(&indexed, text, size);
        indexed_free(&indexed);
    }
    free(text);
    pool_free(pool);
}

/* The first mistake in a large text is found, in whichever chunk it is. */
static void mistakes_are_found_in_any_chunk(void **state) {
    (void)state;
    size_t size = 1200000;
    char *text = malloc(size);
    assert_non_null(text);
    for (unsigned n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct pool *pool = pool_create(n_threads);
        for (size_t at = 5; at < size; at += 149993)
            for (int kind = 0; kind < 4; kind++) {
                memset(text, 'a', size);
                memcpy(text, "[\"", 2);
                memcpy(text + size - 2, "\"]", 2);
                text[at] = "\x01\x80\\\n"[kind];
                struct indexed indexed = index_text(text, size, pool);
                assert_int_equal(indexed.status, SUTRA_DATA);
                assert_int_equal(indexed.error.offset, at + (kind == 2));
                indexed_free(&indexed);
            }
        pool_free(pool);
    }
    free(text);
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
static bool is_valid(const char *text, size_t size, struct pool *pool) {
    struct indexed indexed = index_text(text, size, pool);
    bool valid = indexed.status == SUTRA_OK;
    if (valid) {
        struct json_walker walker = walk_from(&indexed.source, &indexed.index, 0);
        walk_value(&walker);
        valid = !walker.expected && walker.at == size;
    }
    indexed_free(&indexed);
    return valid;
}

static void the_grammar_is_pythons(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        const char *text = documents[i].text;
        if (is_valid(text, strlen(text), pool) != documents[i].valid)
            fail_msg("%s is %s", text, documents[i].valid ? "refused" : "taken");
        /* The same behind a block of spaces, and as an element. */
        char more[400];
        size_t size = (size_t)sprintf(more, "%70s%s", "", text);
        if (is_valid(more, size, pool) != documents[i].valid)
            fail_msg("%s is %s", more, documents[i].valid ? "refused" : "taken");
        size = (size_t)sprintf(more, "[\"%061d\",%s]", 0, text);
        if (documents[i].valid && !is_valid(more, size, pool))
            fail_msg("%s is refused", more);
    }
    pool_free(pool);
}

static void nesting_is_limited(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    char *text = malloc(20 * DEPTH_MAX);
    assert_non_null(text);
    for (int object = 0; object < 2; object++)
        for (size_t depth = DEPTH_MAX - 1; depth <= DEPTH_MAX + 1; depth++) {
            size_t size = 0;
            for (size_t i = 0; i < depth; i++)
                size += (size_t)sprintf(text + size, object ? "{\"a\":" : "[");
            size += (size_t)sprintf(text + size, "1");
            memset(text + size, object ? '}' : ']', depth);
            assert_int_equal(is_valid(text, size + depth, pool), depth <= DEPTH_MAX);
        }
    free(text);
    pool_free(pool);
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

static void check_written(const char *text, const char *expected, struct pool *pool) {
    struct indexed indexed = index_text(text, strlen(text), pool);
    assert_int_equal(indexed.status, SUTRA_OK);
    struct json_walker walker = walk_from(&indexed.source, &indexed.index, 0);
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
    indexed_free(&indexed);
}

static void values_are_written_as_python_does(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_written(values[i].text, values[i].written, pool);
    pool_free(pool);
}

/* Objects of many members, of which some repeat: the first place, the last value. */
static void repeated_keys_of_large_objects_merge(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
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
        check_written(text, expected, pool);
        free(text);
        free(expected);
    }
    pool_free(pool);
}

/* Keys that differ only in their middle, the last of them repeated: a wrong or slow comparison shows here. */
static void keys_that_differ_in_their_middle_stay_apart(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
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
    check_written(text, expected, pool);
    free(text);
    free(expected);
    pool_free(pool);
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

static void values_that_come_again_are_written_alike(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct random dice = {seed};
        char *text = NULL;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        make_repetitive(file, &dice, 5);
        fclose(file);
        struct indexed indexed = index_text(text, size, pool);
        struct buffer plain = {0}, kept = {0};
        struct json_emitter emitter = {.out = &plain}, keeper = {.out = &kept};
        keeper.values = calloc(EMITTED_VALUES, sizeof *keeper.values);
        assert_non_null(keeper.values);
        for (unsigned level = 0; level < 3; level++) {
            struct json_walker walker = walk_from(&indexed.source, &indexed.index, 0), again = walker;
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
        indexed_free(&indexed);
        free(text);
    }
    pool_free(pool);
}

static void deep_values_are_written_on_their_lines(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
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
        check_written(text, expected, pool);
    }
    pool_free(pool);
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

/* Files that end right at, before and behind the end of a page or of a decompressor's piece; plain, copied and
 * compressed in one and in several parts. */
static void sources_are_whole_and_padded(void **state) {
    (void)state;
    char path[] = P_tmpdir "/sutra_source_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
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
        cmocka_unit_test(tokens_are_found_at_any_place_of_a_block),
        cmocka_unit_test(backslashes_escape_across_blocks),
        cmocka_unit_test(chunks_meet_anywhere),
        cmocka_unit_test(mistakes_are_found_in_any_chunk),
        cmocka_unit_test(the_grammar_is_pythons),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(values_are_written_as_python_does),
        cmocka_unit_test(repeated_keys_of_large_objects_merge),
        cmocka_unit_test(keys_that_differ_in_their_middle_stay_apart),
        cmocka_unit_test(values_that_come_again_are_written_alike),
        cmocka_unit_test(deep_values_are_written_on_their_lines),
        cmocka_unit_test(sources_are_whole_and_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
