/*
 * test_known_nodes.c - tests nodes of a host trace that are parsed by the layout of earlier nodes: they give the same
 * rows and errors as nodes that are parsed alone, in any number of parts.
 */
#include "parse_case.h"
#include "plain_nodes.h"
#include "sutra/sutra.h"
#include "unit.h"

/* clang-format off */
static const char *const values[] = {
    "7", "0", "-3", "1.5", "null", "true", "[]", "[1, 2]", "\"\"", "\"x\"", "\"a\\\"]\"", "{\"id\": 9}",
    "[{\"name\": \"rf_id\"}]", "12 "
};
/* clang-format on */

/* Attributes: most as they should be, some with members in another order, repeated, missing, or no objects. */
static void add_attributes(struct buffer *text, struct random *order, struct random *dice) {
    static const char *const forms[] = {
        "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": ",
        "{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": ",
        "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": ", "{\"name\": \"tid\", \"value\": "};
    static const char *const odd[] = {"{\"value\": 5, \"name\": \"rf_id\"}",
                                      "{\"name\": \"tid\", \"value\": 1, \"name\": \"rf_id\"}",
                                      "{\"name\": \"rf_id\", \"value\": 1, \"value\": 2}",
                                      "{\"name\": \"rf_i\\u0064\", \"value\": 3}",
                                      "{\"name\": 1, \"value\": 4}",
                                      "{\"name\": \"rf_id\"}",
                                      "{}",
                                      "5",
                                      "[]"};
    add(text, "[");
    for (size_t n = random_below(order, 4); n > 0; n--) {
        if (random_below(dice, 30) == 0) {
            add(text, ONE_OF(dice, odd));
        } else {
            add(text, ONE_OF(order, forms));
            add(text, random_below(dice, 3) ? "12" : ONE_OF(dice, values));
            add(text, "}");
        }
        add(text, n > 1 ? ", " : "");
    }
    add(text, "]");
}

static void add_node(struct buffer *text, uint64_t kind, struct random *dice) {
    static const char *const keys[] = {"name",    "parent", "ctrl_deps", "rf_id",   "inputs",
                                       "outputs", "attrs",  "x",         "i\\u0064"};
    struct random order = {kind};
    char number[40];
    snprintf(number, sizeof number, "{\"id\": %u", (unsigned)random_below(dice, 1000));
    add(text, number);
    for (size_t n = random_below(&order, 6); n > 0; n--) {
        const char *key = random_below(dice, 60) ? ONE_OF(&order, keys) : ONE_OF(dice, keys);
        add(text, random_below(dice, 60) ? ", \"" : ",  \"");
        add(text, key);
        add(text, "\": ");
        if (*key == 'a' && random_below(dice, 30))
            add_attributes(text, &order, dice);
        else if ((*key == 'i' || *key == 'o') && key[1] != '\\' && random_below(dice, 10))
            add(text, random_below(dice, 20) ? "{\"values\": [1, \"a\"], \"id\": 3, \"types\": []}" : "{}");
        else
            add(text, *key == 'i' || random_below(dice, 3) ? "11" : ONE_OF(dice, values));
    }
    add(text, "}");
}

static void make_trace(struct buffer *text, uint64_t seed) {
    static const char wrong[] = "\"{}[],:0 x";
    struct random dice = {seed};
    add(text, seed % 2 ? "{\"schema\": \"1.0.1\", \"nodes\": [" : "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [");
    for (size_t n = 1 + random_below(&dice, 120); n > 0; n--) {
        add_node(text, seed * 100 + random_below(&dice, 4), &dice);
        add(text, n > 1 ? ",\n" : "]}");
    }
    if (seed % 3 == 0)
        text->bytes[60 + random_below(&dice, (uint32_t)text->length - 60)] =
            wrong[random_below(&dice, sizeof wrong - 1)];
    assert_false(text->failed);
}

static void known_nodes_are_read_as_alone(void **state) {
    size_t n_rows = 0, n_failed = 0;
    for (uint64_t seed = 1; seed <= 90; seed++) {
        struct sutra_context *one = make_parts_context(1, SIZE_MAX / 2, seed % 3),
                             *many = make_parts_context(3, 200, seed % 3);
        struct sutra_host_trace *whole = NULL, *parts = NULL;
        struct sutra_error error = {0}, parts_error = {0};
        struct buffer text = {0};
        make_trace(&text, seed);
        enum sutra_status status = sutra_host_trace_parse(one, "host", text.bytes, text.length, &whole, &error);
        assert_int_equal(sutra_host_trace_parse(many, "host", text.bytes, text.length, &parts, &parts_error), status);
        n_failed += status != SUTRA_OK;
        if (status) {
            assert_string_equal(error.message, parts_error.message);
            assert_int_equal(error.offset, parts_error.offset);
        }
        for (row_t row = 0; whole && row < whole->nodes.n; row++, n_rows++) {
            const char *what = node_difference(one, whole, row);
            what = what ? what : node_difference(many, parts, row);
            if (what)
                fail_msg("seed %u, node %u: %s", (unsigned)seed, row, what);
        }
        sutra_host_trace_free(whole);
        sutra_host_trace_free(parts);
        sutra_context_free(one);
        sutra_context_free(many);
        buffer_free(&text);
    }
    assert_true(n_rows > 2000 && n_failed > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_nodes_are_read_as_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
