/*
 * test_string_cache.c - tests that the cache of strings returns the same ids as the string table without the cache.
 */
#include "generate/random.h"
#include "read/repeated_text.h"
#include "unit.h"

/* A list of strings of up to 80 bytes, of which many come again, begin or end as others or go on with an escape. */
static void make_strings(FILE *out, struct random *dice) {
    fputs("[", out);
    for (unsigned i = 0; i < 3000; i++) {
        static const char letters[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        fprintf(out, "%s\"%.*s", i ? "," : "", (int)random_below(dice, 41), letters);
        if (random_below(dice, 3) == 0)
            fprintf(out, "%c%.*s", "ab"[random_below(dice, 2)], (int)random_below(dice, 40), letters);
        static const char *const ends[] = {"", "", "b", "\\u0061", "a", "\\n", "\xc3\xa9"};
        fprintf(out, "%s\"", ends[random_below(dice, 7)]);
    }
    fputs("]", out);
}

static void strings_get_the_numbers_of_interning(void **state) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random dice = {seed};
        char *text = NULL;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        make_strings(file, &dice);
        fclose(file);
        struct source source;
        assert_int_equal(source_copy(&source, "text", text, size, NULL), SUTRA_OK);
        struct field_reader reader = {.source = &source};
        struct strings strings = {0}, plain = {0};
        struct string_cache seen = {0};
        assert_true(strings_init(&strings) && strings_init(&plain));
        struct json_walker walker = walk_from(&source, 0);
        for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
            struct json_span place = walk_string(&walker);
            uint32_t number = cached_string_intern(&seen, &reader, place, &strings);
            if (number != field_intern(&reader, place, &plain))
                fail_msg("seed %u: number %u for %.*s", (unsigned)seed, number, (int)(place.end - place.at + 1),
                         source.bytes + place.at);
        }
        assert_null(walker.expected);
        assert_int_equal(strings.n, plain.n);
        strings_free(&strings);
        strings_free(&plain);
        buffer_free(&reader.scratch);
        source_close(&source);
        free(text);
    }
}

/* Empty slots are zeros, like the text of the empty string. */
static void empty_string_differs_from_an_empty_slot(void **state) {
    static const char text[] = "\"a\" \"\" \"\\u0000\" \"a\\u0000\" \"\" \"a\"";
    static const uint32_t expected[] = {0, 1, 2, 3, 1, 0};
    struct source source;
    assert_int_equal(source_copy(&source, "text", text, sizeof text - 1, NULL), SUTRA_OK);
    struct field_reader reader = {.source = &source};
    struct strings strings = {0};
    struct string_cache seen = {0};
    assert_true(strings_init(&strings));
    struct json_walker walker = walk_from(&source, 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(cached_string_intern(&seen, &reader, walk_string(&walker), &strings), expected[i]);
    strings_free(&strings);
    buffer_free(&reader.scratch);
    source_close(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_get_the_numbers_of_interning),
        cmocka_unit_test(empty_string_differs_from_an_empty_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
