/*
 * test_number_text.c - tests numbers as text against tables of Python's output and against slow implementations with
 * printf and strtod.
 */
#include "text/numbers.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define SEED         20240607u
#define PADDING      32

/* ---- help ---- */

static uint64_t next_random(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double double_from(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_from(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A copy of the text followed only by the documented padding. */
static char *padded(const char *text) {
    char *copy = calloc(1, strlen(text) + PADDING);
    assert_non_null(copy);
    memcpy(copy, text, strlen(text));
    return copy;
}

static double parse(const char *text) {
    char *copy = padded(text);
    double value = double_parse(copy, strlen(text)), real = 0;
    int64_t integer = 0;
    size_t length;
    enum number_form form = number_parse_short(copy, &integer, &real, &length);
    free(copy);
    if (form != NUMBER_FORM_BAD)
        assert_int_equal(length, strlen(text));
    if (form != NUMBER_FORM_BAD)
        assert_int_equal(bits_from(form == NUMBER_FORM_REAL ? real : (double)integer), bits_from(value));
    return value;
}

/* A static buffer is enough: each result is used before the next. */
static const char *format(double value) {
    static char out[NUMBER_TEXT_MAX + 1];
    out[double_format(value, out)] = '\0';
    return out;
}

static uint64_t seeded(void) {
    print_message("seed %u\n", SEED);
    return SEED;
}

/* ---- shortest digits by trial ---- */

/* 0.DIGITS * 10^exponent, without zeros at either end. */
struct decimal {
    char digits[1100];
    int exponent;
};

static struct decimal decimal_of(const char *text) {
    struct decimal x = {0};
    size_t n = 0;
    bool point = false;
    for (; *text && *text != 'e'; text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (n || *text != '0')
            x.digits[n++] = *text;
        x.exponent += n ? !point : -point;
    }
    while (n && x.digits[n - 1] == '0')
        x.digits[--n] = '\0';
    x.exponent += *text == 'e' ? atoi(text + 1) : 0;
    return x;
}

static struct decimal cut(const struct decimal *x, size_t n) {
    struct decimal y = *x;
    memset(y.digits + n, 0, sizeof y.digits - n);
    return y;
}

/* One more in the last of n digits. */
static struct decimal next_up(struct decimal x, size_t n) {
    while (strlen(x.digits) < n)
        strcat(x.digits, "0");
    while (n && x.digits[n - 1] == '9')
        x.digits[--n] = '\0';
    if (n) {
        x.digits[n - 1]++;
        return x;
    }
    return (struct decimal){.digits = "1", .exponent = x.exponent + 1};
}

static bool reads_as(const struct decimal *x, double value) {
    char text[1200];
    snprintf(text, sizeof text, "0.%se%d", x->digits, x->exponent);
    return strtod(text, NULL) == value;
}

/* The upper neighbour of `n` digits is closer than the lower one, or as close and even. */
static bool upper_is_closer(const struct decimal *exact, size_t n) {
    if (strlen(exact->digits) <= n)
        return false;
    int order = strcmp(exact->digits + n, "5");
    return order > 0 || (order == 0 && (exact->digits[n - 1] - '0') % 2);
}

/*
 * All decimals of 1, 2, 3... digits next to the exact value, until one reads back. Rounding the value to n digits
 * would not do: below a power of two doubles are twice as dense, so the nearest decimal of n digits may miss the double
 * where the one on the other side of it does not (as for 2^-44).
 */
static struct decimal shortest_by_trial(double value) {
    char text[1200];
    snprintf(text, sizeof text, "%.1080e", value);
    struct decimal exact = decimal_of(text);
    for (size_t n = 1;; n++) {
        assert_true(n <= 17);
        struct decimal lower = cut(&exact, n), upper = next_up(lower, n);
        bool lower_reads = reads_as(&lower, value), upper_reads = reads_as(&upper, value);
        if (lower_reads && (!upper_reads || !upper_is_closer(&exact, n)))
            return lower;
        if (upper_reads)
            return upper;
    }
}

static void check_shortest(double value) {
    if (!isfinite(value) || value == 0)
        return;
    value = fabs(value);
    struct decimal expected = shortest_by_trial(value), ours = decimal_of(format(value));
    assert_string_equal(ours.digits, expected.digits);
    assert_int_equal(ours.exponent, expected.exponent);
    assert_true(parse(format(value)) == value);
}

static void check_shortest_around(double value) {
    check_shortest(value);
    check_shortest(nextafter(value, 0));
    check_shortest(nextafter(value, (double)INFINITY));
}

static void powers_of_two_have_shortest_digits_that_read_back(void **state) {
    for (int e = -1074; e < 1024; e++)
        check_shortest_around(ldexp(1, e));
}

static void powers_of_ten_have_shortest_digits_that_read_back(void **state) {
    for (int e = -323; e < 309; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        check_shortest_around(strtod(text, NULL));
    }
}

static void subnormals_have_shortest_digits_that_read_back(void **state) {
    for (uint64_t bits = 1; bits < 300; bits++)
        check_shortest(double_from(bits));
    for (uint64_t bits = (uint64_t)1 << 52, i = 0; i < 100; i++)
        check_shortest(double_from(bits - 50 + i));
}

static void random_doubles_have_shortest_digits_that_read_back(void **state) {
    uint64_t random = seeded();
    for (int i = 0; i < 4000; i++) {
        check_shortest(double_from(next_random(&random)));
        check_shortest((double)(next_random(&random) >> (next_random(&random) & 31)));
        check_shortest((double)(next_random(&random) >> 11) / 1000);
        check_shortest((double)(next_random(&random) % 1000000) / 1024);
    }
}

/* ---- tables ---- */

static void doubles_are_laid_out_as_in_python(void **state) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.001, "0.001"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {0.00001, "1e-05"},
        {0.00000015, "1.5e-07"},
        {100.0, "100.0"},
        {3291.908, "3291.908"},
        {4391163258909.557, "4391163258909.557"},
        {8796093022207.999, "8796093022207.999"},
        {8796093022208.001, "8796093022208.002"},
        {1700000000000000.25, "1700000000000000.2"},
        {9007199254740991.0, "9007199254740991.0"},
        {9007199254740992.0, "9007199254740992.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {12345678901234567890.0, "1.2345678901234567e+19"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {1e100, "1e+100"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {-1.7976931348623157e308, "-1.7976931348623157e+308"},
        {5.684341886080802e-14, "5.684341886080802e-14"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(format(cases[i].value), cases[i].text);
    assert_string_equal(format((double)NAN), "NaN");
    assert_string_equal(format(-(double)NAN), "NaN");
    assert_string_equal(format((double)INFINITY), "Infinity");
    assert_string_equal(format(-(double)INFINITY), "-Infinity");
}

static void rewritten_numbers_equal_python_output(void **state) {
    static const char *const cases[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"-10", "-10"},
        {"123456789012345678901234567890123456789", "123456789012345678901234567890123456789"},
        {"1.50", "1.5"},
        {"100.0", "100.0"},
        {"100.000", "100.0"},
        {"1E5", "100000.0"},
        {"1e400", "Infinity"},
        {"-1e400", "-Infinity"},
        {"1e-400", "0.0"},
        {"-1e-400", "-0.0"},
        {"-0.0", "-0.0"},
        {"-0.00000", "-0.0"},
        {"0.00010", "0.0001"},
        {"0.00001", "1e-05"},
        {"4391163258909.550", "4391163258909.55"},
        {"8796093022207.999", "8796093022207.999"},
        {"8796093022208.001", "8796093022208.002"},
        {"9796093022207.999", "9796093022207.998"},
        {"123456789012.345", "123456789012.345"},
        {"0.1234567890123456789", "0.12345678901234568"},
        {"12345678901234567.0", "1.2345678901234568e+16"},
        {"1000000000000000.0", "1000000000000000.0"},
        {"NaN", "NaN"},
        {"Infinity", "Infinity"},
        {"-Infinity", "-Infinity"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = padded(cases[i][0]), out[NUMBER_TEXT_MAX + 64] = {0};
        size_t length;
        enum number_form form = number_scan(text, &length);
        assert_int_equal(length, strlen(text));
        out[number_rewrite(text, length, form, out)] = '\0';
        assert_string_equal(out, cases[i][1]);
        free(text);
    }
}

/* Decimals of any length and place of the point, so that the copied ones are among them. */
static void rewriting_equals_reading_and_writing_on_random_decimals(void **state) {
    uint64_t random = seeded();
    for (int i = 0; i < 100000; i++) {
        char plain[64] = {0}, out[NUMBER_TEXT_MAX + 64];
        unsigned whole = (unsigned)(next_random(&random) >> (next_random(&random) & 63));
        uint64_t fraction = next_random(&random) >> (next_random(&random) & 63);
        snprintf(plain, sizeof plain, "%u.%0*llu", whole, 1 + i % 17, (unsigned long long)fraction);
        size_t n = number_rewrite(plain, strlen(plain), NUMBER_FORM_REAL, out);
        out[n] = '\0';
        assert_string_equal(out, format(strtod(plain, NULL)));
    }
}

static void numbers_end_where_the_grammar_ends_them(void **state) {
    static const struct {
        const char *text;
        enum number_form form;
        size_t length;
    } cases[] = {
        {"0", NUMBER_FORM_INTEGER, 1},
        {"-0,", NUMBER_FORM_INTEGER, 2},
        {"01", NUMBER_FORM_INTEGER, 1},
        {"12345678901234567890]", NUMBER_FORM_INTEGER, 20},
        {"7a", NUMBER_FORM_INTEGER, 1},
        {"1.5}", NUMBER_FORM_REAL, 3},
        {"0.0", NUMBER_FORM_REAL, 3},
        {"1e5", NUMBER_FORM_REAL, 3},
        {"-1.25E-10 ", NUMBER_FORM_REAL, 9},
        {"1e+5", NUMBER_FORM_REAL, 4},
        {"1.5.5", NUMBER_FORM_REAL, 3},
        {"NaN", NUMBER_FORM_REAL, 3},
        {"Infinity", NUMBER_FORM_REAL, 8},
        {"-Infinity,", NUMBER_FORM_REAL, 9},
        {"", NUMBER_FORM_BAD, 0},
        {"-", NUMBER_FORM_BAD, 1},
        {"+1", NUMBER_FORM_BAD, 0},
        {".5", NUMBER_FORM_BAD, 0},
        {"1.", NUMBER_FORM_BAD, 2},
        {"1.e5", NUMBER_FORM_BAD, 2},
        {"1e", NUMBER_FORM_BAD, 2},
        {"1e+", NUMBER_FORM_BAD, 3},
        {"-NaN", NUMBER_FORM_BAD, 1},
        {"Nan", NUMBER_FORM_BAD, 2},
        {"-Infinitx", NUMBER_FORM_BAD, 8},
        {"\xff", NUMBER_FORM_BAD, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = padded(cases[i].text);
        size_t length;
        assert_int_equal(number_scan(text, &length), cases[i].form);
        assert_int_equal(length, cases[i].length);
        free(text);
    }
}

/* ---- reading ---- */

static void doubles_are_read_to_the_nearest(void **state) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0.0},
        {"0e99999999999999999999", 0.0},
        {"9007199254740993", 9007199254740992.0}, /* half way: to the even one, here and below */
        {"9007199254740995.0", 9007199254740996.0},
        {"9007199254740993.00000000000000000001", 9007199254740994.0},
        {"9007199254740992.99999999999999999999", 9007199254740992.0},
        {"4503599627370496.5", 4503599627370496.0},
        {"2.4703282292062327e-324", 0.0},
        {"2.4703282292062328e-324", 5e-324},
        {"1.7976931348623158e308", 1.7976931348623157e308},
        {"1.7976931348623159e308", (double)INFINITY},
        {"1e99999999999999999999", (double)INFINITY},
        {"1e-99999999999999999999", 0.0},
        {"0.000000000000000000000000000000123", 1.23e-31},
        {"123456789012345678901234567890", 1.2345678901234568e29},
        {"2.2250738585072011e-308", 2.225073858507201e-308},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(bits_from(parse(cases[i].text)) == bits_from(cases[i].value));
    assert_true(bits_from(parse("-0.0")) == bits_from(-0.0));
    assert_true(isnan(parse("NaN")) && parse("-Infinity") == -(double)INFINITY);
}

static void random_text(uint64_t *random, char *text, size_t room) {
    size_t n_digits = 1 + next_random(random) % 40, point = next_random(random) % n_digits, n = 0;
    for (size_t i = 0; i < n_digits; i++) {
        text[n++] = (char)('0' + (next_random(random) & 3 ? next_random(random) % 10 : 0));
        if (i == point && i + 1 < n_digits)
            text[n++] = '.';
    }
    snprintf(text + n, room - n, "e%d", (int)(next_random(random) % 700) - 360);
}

static void random_texts_are_read_as_strtod_reads_them(void **state) {
    uint64_t random = seeded();
    for (int i = 0; i < 100000; i++) {
        char text[80];
        random_text(&random, text, sizeof text);
        if (bits_from(parse(text)) != bits_from(strtod(text, NULL)))
            fail_msg("%s", text);
    }
}

/* The middle between a double and the next one up, exactly; then a little below and above it. */
static void check_middle(double low) {
    char text[2200], *exponent;
    double high = nextafter(low, (double)INFINITY);
    snprintf(text, sizeof text, "%.1100Le", (long double)low + ((long double)high - (long double)low) / 2);
    exponent = strchr(text, 'e');
    assert_non_null(exponent);
    assert_true(parse(text) == (bits_from(low) & 1 ? high : low));
    exponent[-1] = '1';
    assert_true(parse(text) == high);
    exponent[-1] = '0';
    char *last = exponent - 1;
    for (; *last == '0'; last--)
        *last = '9';
    (*last)--;
    assert_true(parse(text) == low);
}

/* Times of today: microseconds since 1970 with and without a fraction, and the middle of two doubles among them. */
static void times_since_1970_are_read_on_the_fast_path(void **state) {
    static const struct {
        const char *text;
        enum number_form form;
        double value;
    } cases[] = {
        {"1691234567890123", NUMBER_FORM_INTEGER, 1691234567890123.0},
        {"9007199254740992", NUMBER_FORM_INTEGER, 9007199254740992.0},
        {"9007199254740993", NUMBER_FORM_BAD, 0},
        {"16912345678901234", NUMBER_FORM_BAD, 0},
        {"1691234567890123.456", NUMBER_FORM_REAL, 1691234567890123.5},
        {"1691234567890123.1", NUMBER_FORM_REAL, 1691234567890123.0},
        {"1691234567890123.125", NUMBER_FORM_REAL, 1691234567890123.0},
        {"1691234567890123.375", NUMBER_FORM_REAL, 1691234567890123.5},
        {"9007199254740993.0", NUMBER_FORM_REAL, 9007199254740992.0},
        {"1691234567890123.4567", NUMBER_FORM_BAD, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *copy = padded(cases[i].text);
        int64_t integer = 0;
        double real = 0;
        size_t length;
        assert_int_equal(number_parse_short(copy, &integer, &real, &length), cases[i].form);
        if (cases[i].form != NUMBER_FORM_BAD)
            assert_true((cases[i].form == NUMBER_FORM_REAL ? real : (double)integer) == cases[i].value);
        free(copy);
    }
}

static void random_times_are_read_as_strtod_reads_them(void **state) {
    uint64_t random = seeded();
    for (int i = 0; i < 100000; i++) {
        char text[80];
        snprintf(text, sizeof text, "%" PRIu64 ".%0*u", next_random(&random) % UINT64_C(10000000000000000), 1 + i % 4,
                 (unsigned)(next_random(&random) % 10));
        if (bits_from(parse(text)) != bits_from(strtod(text, NULL)))
            fail_msg("%s", text);
    }
}

static void middles_of_two_doubles_go_to_the_even_one(void **state) {
    uint64_t random = seeded();
    if (sizeof(long double) == sizeof(double) || LDBL_MANT_DIG < 64)
        skip(); /* the middle has one binary digit more than a double */
    for (int i = 0; i < 2000; i++) {
        check_middle(double_from((uint64_t)i));
        check_middle(double_from(next_random(&random) % bits_from(1e300)));
        check_middle((double)(((uint64_t)1 << 53) + (next_random(&random) >> 8)));
    }
}

static void numbers_of_100000_digits_are_read_exactly(void **state) {
    enum { DIGITS = 100000 };
    char *text = calloc(1, DIGITS + 64);
    assert_non_null(text);
    memset(text, '0', DIGITS);
    memcpy(text, "9007199254740993.", 17);
    assert_true(double_parse(text, DIGITS) == 9007199254740992.0);
    text[DIGITS - 1] = '1';
    assert_true(double_parse(text, DIGITS) == 9007199254740994.0);
    memset(text, '0', DIGITS);
    text[1] = '.';
    memcpy(text + DIGITS - 2, "15e99998", 9);
    assert_true(double_parse(text, strlen(text)) == 15.0);
    free(text);
}

/* ---- integers ---- */

static void integers_are_read_if_they_fit(void **state) {
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-17", true, -17},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"10000000000000000000", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"12x", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 0;
        assert_int_equal(integer_parse(cases[i].text, strlen(cases[i].text), &value), cases[i].fits);
        assert_true(value == cases[i].value);
    }
}

static void last_integer_of_a_name_is_found(void **state) {
    static const struct {
        const char *text;
        bool found;
        int64_t value;
    } cases[] = {
        {"[TP00]", true, 0},        {"7", true, 7},     {"a12b345-c", true, 345},       {"", false, 0},
        {"none", false, 0},         {"x-12", true, 12}, {"999999999", true, 999999999}, {"1234567890", false, 0},
        {"5 1234567890", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 0;
        assert_int_equal(integer_find_last(cases[i].text, strlen(cases[i].text), &value), cases[i].found);
        assert_int_equal(value, cases[i].value);
    }
}

static void check_integer(int64_t value) {
    char expected[32], out[NUMBER_TEXT_MAX + 1];
    snprintf(expected, sizeof expected, "%lld", (long long)value);
    out[integer_format(value, out)] = '\0';
    assert_string_equal(out, expected);
}

static void integers_are_written_around_every_power_of_ten(void **state) {
    int64_t power = 1;
    for (int i = 0; i < 19; i++, power = i < 19 ? power * 10 : power)
        for (int64_t d = -2; d <= 2; d++) {
            check_integer(power + d);
            check_integer(-power + d);
        }
    check_integer(INT64_MAX);
    check_integer(INT64_MIN);
    uint64_t random = seeded();
    for (int i = 0; i < 10000; i++)
        check_integer((int64_t)(next_random(&random) >> (i & 63)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_laid_out_as_in_python),
        cmocka_unit_test(powers_of_two_have_shortest_digits_that_read_back),
        cmocka_unit_test(powers_of_ten_have_shortest_digits_that_read_back),
        cmocka_unit_test(subnormals_have_shortest_digits_that_read_back),
        cmocka_unit_test(random_doubles_have_shortest_digits_that_read_back),
        cmocka_unit_test(rewritten_numbers_equal_python_output),
        cmocka_unit_test(rewriting_equals_reading_and_writing_on_random_decimals),
        cmocka_unit_test(numbers_end_where_the_grammar_ends_them),
        cmocka_unit_test(doubles_are_read_to_the_nearest),
        cmocka_unit_test(random_texts_are_read_as_strtod_reads_them),
        cmocka_unit_test(times_since_1970_are_read_on_the_fast_path),
        cmocka_unit_test(random_times_are_read_as_strtod_reads_them),
        cmocka_unit_test(middles_of_two_doubles_go_to_the_even_one),
        cmocka_unit_test(numbers_of_100000_digits_are_read_exactly),
        cmocka_unit_test(integers_are_read_if_they_fit),
        cmocka_unit_test(last_integer_of_a_name_is_found),
        cmocka_unit_test(integers_are_written_around_every_power_of_ten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
