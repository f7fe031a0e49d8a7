/*
 * test_event_places.c - walking events with what was learned from those before gives what walking each of them alone
 * gives: the same places, the same end, the same mistakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "generate/random.h"
#include "read/event_places.h"

static void add(struct buffer *text, const char *string) {
    buffer_append(text, string, strlen(string));
}

static const char *one_of(struct random *dice, const char *const *list, uint32_t n) {
    return list[random_below(dice, n)];
}
#define ONE_OF(dice, list) one_of(dice, list, (uint32_t)(sizeof(list) / sizeof *(list)))

static void add_value(struct buffer *text, struct random *dice) {
    static const char *const values[] = {
        "1",
        "0",
        "12345.678",
        "-3",
        "1e5",
        "1234567890123456789",
        "0.1234567890123456789",
        "null",
        "true",
        "false",
        "NaN",
        "\"\"",
        "\"a\\\"b\"",
        "\"}, {\"",
        "[]",
        "[[1, 2], [3]]",
        "[[1, 2], [3]] ",
        "[[1, 2], [3, 4, 5, 6, 7, 8, 9]]",
        "[[1, 2], [3, 4, 5, 6, 7, 8, 10]]",
        "{\"ts\": 1, \"args\": {\"stream\": 2}}",
        "{}",
        "{ }",
        "12 ",
        "\"a long string that goes on for more than a block of sixty-four bytes, and on\""};
    add(text, ONE_OF(dice, values));
}

static void add_member(struct buffer *text, struct random *dice, bool inside) {
    static const char *const outer[] = {"ts", "dur", "name", "cat", "ph", "pid", "tid", "id", "bp", "t\\u0073", "args"};
    static const char *const inner[] = {"External id", "correlation", "stream",     "args",
                                        "ts",          "Input dims",  "external id"};
    char key[100];
    if (random_below(dice, 60) == 0)
        snprintf(key, sizeof key, "a key that nobody knows, number %u", (unsigned)random_below(dice, 40));
    else
        snprintf(key, sizeof key, "%s", inside ? ONE_OF(dice, inner) : ONE_OF(dice, outer));
    add(text, "\"");
    add(text, key);
    static const char *const colons[] = {"\":", "\":  ", "\" :\n            "};
    add(text, random_below(dice, 20) ? "\": " : ONE_OF(dice, colons));
    add_value(text, dice);
}

/* Members of few orders, so that many events are alike; `kind` chooses. */
static void add_members(struct buffer *text, uint64_t kind, struct random *values, bool inside) {
    struct random order = {kind};
    for (size_t n = random_below(&order, 7); n > 0; n--) {
        struct random *dice = random_below(values, 40) ? &order : values;
        if (!inside && random_below(dice, 5) == 0) {
            add(text, random_below(dice, 4) ? "\"args\": {" : "\"args\":{ ");
            add_members(text, kind + random_below(values, 3), values, true);
            add(text, random_below(values, 50) ? "}" : " } ");
        } else {
            add_member(text, dice, inside);
        }
        if (n > 1)
            add(text, random_below(values, 50) ? ", " : ",");
    }
}

/* A list of events; most texts are well-formed, and in some a byte is changed. */
static void make_events(struct buffer *text, uint64_t seed) {
    static const char wrong[] = "\"{}[],:0 x";
    struct random dice = {seed};
    add(text, "[");
    for (size_t n = 1 + random_below(&dice, 300); n > 0; n--) {
        add(text, "{");
        add_members(text, seed * 1000 + random_below(&dice, 8), &dice, false);
        add(text, n > 1 ? "},\n  " : "}]");
    }
    if (seed % 3 == 0)
        text->bytes[random_below(&dice, (uint32_t)text->length)] = wrong[random_below(&dice, sizeof wrong - 1)];
    assert_false(text->failed);
}

static void check_places(const struct event_places *places, const struct event_places *expected, uint64_t seed,
                         size_t n) {
    for (enum event_field field = 0; field < FIELD_NONE; field++) {
        struct json_place place = places->field[field], wanted = expected->field[field];
        if (place.at != wanted.at || (place.at && place.end != wanted.end))
            fail_msg("seed %u, event %zu: %s is at %zu, expected %zu", (unsigned)seed, n, event_field_name(field),
                     place.at, wanted.at);
    }
}

/* Walks the list with and without learning; returns the number of events. */
static size_t check_walks(const struct source *source, const struct json_index *index, uint64_t seed) {
    struct events_learned *known = calloc(1, sizeof *known);
    struct json_walker plain = walk_from(source, index, 0), learned = plain;
    size_t n = 0;
    assert_non_null(known);
    for (bool more = walk_array(&plain) && walk_array(&learned); more && walk_char(&plain) == '{'; n++) {
        struct event_places expected, places;
        walk_event(&plain, NULL, &expected);
        walk_event(&learned, known, &places);
        if (plain.expected) {
            assert_non_null(learned.expected);
            assert_string_equal(learned.expected, plain.expected);
            assert_int_equal(learned.failed_at, plain.failed_at);
            break;
        }
        if (learned.expected || learned.at != plain.at)
            fail_msg("seed %u, event %zu: ends at %zu, expected %zu", (unsigned)seed, n, learned.at, plain.at);
        check_places(&places, &expected, seed, n);
        more = walk_element_end(&plain);
        assert_int_equal(walk_element_end(&learned), more);
    }
    event_forms_free(&known->forms);
    free(known);
    return n;
}

static void learning_changes_nothing(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    size_t n_events = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct buffer text = {0};
        struct source source;
        struct json_index index;
        struct sutra_error error;
        make_events(&text, seed);
        assert_int_equal(source_copy(&source, "text", text.bytes, text.length, &error), SUTRA_OK);
        if (!json_index_build(&index, &source, pool, &error)) {
            n_events += check_walks(&source, &index, seed);
            json_index_free(&index);
        }
        source_close(&source);
        buffer_free(&text);
    }
    assert_true(n_events > 50000);
    pool_free(pool);
}

/* More forms, and more beside each other, than are kept. */
static void what_is_too_much_is_not_learned(void **state) {
    (void)state;
    struct pool *pool = pool_create(1);
    struct buffer text = {0};
    struct source source;
    struct json_index index;
    struct sutra_error error;
    add(&text, "[");
    for (unsigned i = 0; i < 4000; i++) {
        char event[200];
        snprintf(event, sizeof event,
                 "%s{\"ts\": %u, \"a%u\": 1, \"b%u\": 2, \"dur\": 3, \"args\": {\"c%u\": [%u], \"stream\": 7}}",
                 i ? ", " : "", i, i % 20, i % 300, i, i % 9);
        add(&text, event);
    }
    add(&text, "]");
    assert_int_equal(source_copy(&source, "text", text.bytes, text.length, &error), SUTRA_OK);
    assert_int_equal(json_index_build(&index, &source, pool, &error), SUTRA_OK);
    assert_int_equal(check_walks(&source, &index, 0), 4000);
    json_index_free(&index);
    source_close(&source);
    buffer_free(&text);
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_changes_nothing),
        cmocka_unit_test(what_is_too_much_is_not_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
