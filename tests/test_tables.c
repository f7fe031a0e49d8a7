/*
 * test_tables.c - tests the hash tables of strings, of irregular ids and of keys against linear searches.
 */
#include "base/threads.h"
#include "columns/strings.h"
#include "generate/random.h"
#include "match/key_index.h"
#include "unit.h"

#define N_STRINGS 3000

/* Random strings of few different bytes, so that many repeat, with zero bytes among them. */
static void equal_strings_have_equal_numbers(void **state) {
    struct random dice = {7};
    struct strings strings;
    static char texts[N_STRINGS][40];
    static size_t lengths[N_STRINGS];
    uint32_t n = 0;
    assert_true(strings_init(&strings));
    for (int round = 0; round < 2 * N_STRINGS; round++) {
        char text[40];
        size_t length = random_below(&dice, 3) ? random_below(&dice, 7) : random_below(&dice, 40);
        for (size_t i = 0; i < length; i++)
            text[i] = "ab\0"[random_below(&dice, 3)];
        uint32_t known = 0;
        while (known < n && (lengths[known] != length || memcmp(texts[known], text, length)))
            known++;
        assert_int_equal(strings_find(&strings, text, length), known < n ? known : STRING_NONE);
        if (known == N_STRINGS)
            continue;
        assert_int_equal(strings_intern(&strings, text, length), known);
        if (known == n) {
            memcpy(texts[n], text, length);
            lengths[n++] = length;
        }
    }
    assert_true(n > 1000);
    assert_int_equal(strings.n, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(strings_length(&strings, i), lengths[i]);
        assert_memory_equal(strings_text(&strings, i), texts[i], lengths[i]);
        assert_int_equal(strings_text(&strings, i)[lengths[i]], 0);
    }
    strings_free(&strings);
}

static void values_are_equal_as_in_python(void **state) {
    struct values values;
    assert_true(values_init(&values));
    value_key string = values_string(&values, "7", 1);
    assert_int_equal(values_double(&values, 7), 7);
    assert_int_equal(values_double(&values, -0.0), 0);
    assert_int_equal(values_integer(&values, "7", 1), 7);
    assert_int_not_equal(string, 7);
    assert_int_equal(values_string(&values, "7", 1), string);
    assert_int_not_equal(values_string(&values, "7.0", 3), string);
    assert_int_equal(values_double(&values, 7.5), values_double(&values, 7.5));
    assert_int_not_equal(values_double(&values, 7.5), values_string(&values, "7.5", 3));
    assert_int_equal(values_double(&values, 1e20), values_integer(&values, "100000000000000000000", 21));
    assert_int_not_equal(values_double(&values, 1e20), values_integer(&values, "100000000000000000001", 21));
    assert_int_not_equal(values_double(&values, __builtin_nan("")), values_double(&values, __builtin_nan("")));
    assert_int_equal(values_double(&values, __builtin_inf()), values_double(&values, __builtin_inf()));
    assert_false(key_is_integer(values_integer(&values, "-9223372036854775808", 20)));
    assert_int_equal(values_integer(&values, "-9223372036854775808", 20),
                     values_double(&values, -9223372036854775808.0));
    values_free(&values);
}

/* One way of making keys. */
struct key_case {
    const char *what;
    value_key base;
    uint32_t spread; /* different keys */
    value_key stride;
    bool odd; /* some are no integers */
    bool far; /* a few are far away */
};

#define FAR_AWAY ((value_key)1 << 50)

static void check_index(const struct key_case *how, const struct engine *engine, row_t n, enum key_choice choice,
                        struct random *dice) {
    value_key *keys = calloc((size_t)n + 1, sizeof *keys);
    assert_non_null(keys);
    row_t expected_second = ROW_NONE, second = 0;
    for (row_t i = 0; i < n; i++) {
        keys[i] = how->base + how->stride * random_below(dice, how->spread);
        if (how->odd && random_below(dice, 4) == 0)
            keys[i] = INT64_MIN + random_below(dice, 20);
        else if (how->far && random_below(dice, 10) == 0)
            keys[i] += FAR_AWAY;
        for (row_t k = 0; k < i && expected_second == ROW_NONE; k++)
            if (keys[k] == keys[i])
                expected_second = i;
    }
    struct key_index index;
    struct sutra_error error;
    assert_int_equal(key_index_build(&index, engine, keys, n, choice, &second, &error), SUTRA_OK);
    if (second != expected_second)
        fail_msg("%s, %u keys: the first repetition is at %u, not %u", how->what, n, expected_second, second);
    for (row_t i = 0; i < n + 50; i++) {
        value_key wanted = i < n ? keys[i] : how->base + how->stride * random_below(dice, how->spread);
        wanted += i >= n && how->far && random_below(dice, 2) ? FAR_AWAY : 0;
        wanted -= i >= n && wanted > KEY_INTEGERS ? random_below(dice, 2) : 0;
        row_t expected = ROW_NONE;
        for (row_t k = 0; k < n; k++)
            if (keys[k] == wanted && (expected == ROW_NONE || choice == KEY_LAST))
                expected = k;
        if (key_index_find(&index, wanted) != expected)
            fail_msg("%s, %u keys: key %lld is found at %u, not %u", how->what, n, (long long)wanted,
                     key_index_find(&index, wanted), expected);
    }
    static const value_key strange[] = {KEY_ABSENT, KEY_NULL, KEY_UNHASHABLE, KEY_VALUES + 900, KEY_INTEGERS, INT64_MAX,
                                        -1,         0};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        row_t expected = ROW_NONE;
        for (row_t k = 0; k < n; k++)
            if (keys[k] == strange[i] && (expected == ROW_NONE || choice == KEY_LAST))
                expected = k;
        assert_int_equal(key_index_find(&index, strange[i]), expected);
    }
    key_index_free(&index);
    free(keys);
}

static void keys_are_found_at_first_or_last_occurrence(void **state) {
    static const struct key_case cases[] = {
        {"close together", 1000, 500, 1, false, false},
        {"around 0", -250, 500, 1, false, false},
        {"far apart", 5, 500, 1000003, false, false},
        {"over all integers", -((value_key)1 << 62), 500, (value_key)1 << 54, false, false},
        {"at the lower end", KEY_INTEGERS, 100, 1, false, false},
        {"at the upper end", INT64_MAX - 99, 100, 1, false, false},
        {"one key", 42, 1, 1, false, false},
        {"some odd, close together", 10, 300, 1, true, false},
        {"some odd, far apart", 10, 300, (value_key)1 << 40, true, false},
        {"most close together", 1000, 500, 1, false, true},
        {"some odd, most of the others close together", -100, 300, 1, true, true},
    };
    static const row_t sizes[] = {0, 1, 2, 3, 10, 64, 300, 1000};
    struct pool *pool = pool_create(2);
    struct engine engine = engine_cpu(pool);
    struct random dice = {11};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            check_index(&cases[i], &engine, sizes[k], KEY_FIRST, &dice);
            check_index(&cases[i], &engine, sizes[k], KEY_LAST, &dice);
        }
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_have_equal_numbers),
        cmocka_unit_test(values_are_equal_as_in_python),
        cmocka_unit_test(keys_are_found_at_first_or_last_occurrence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
