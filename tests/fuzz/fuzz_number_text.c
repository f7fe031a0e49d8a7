/*
 * fuzz_number_text.c - fuzzes numbers as text: the input is the text of a number, and its first 8 bytes a double;
 * checked against the C library.
 */
#include <inttypes.h>
#include <math.h>

#include "fuzz.h"
#include "text/numbers.h"

static bool same_double(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* The text of the number alone, without the following input, must give the same number. */
static void check_scan_alone(const char *text, size_t length, enum number_form form) {
    size_t length_alone;
    enum number_form form_alone = number_scan(text, &length_alone);
    check(form_alone == form, "the form does not depend on what follows");
    check(length_alone == length, "the length does not depend on what follows");
}

static void check_integer(const char *text, size_t length, const char *written, size_t n_written) {
    int64_t value;
    char formatted[2 * NUMBER_TEXT_MAX];
    if (!integer_parse(text, length, &value)) {
        check(n_written >= 19, "an integer that does not fit has 19 digits at least");
        return;
    }
    size_t n_formatted = integer_format(value, formatted);
    check(same_bytes(formatted, n_formatted, written, n_written), "an integer is written as its value");
}

static void check_rewrite(const char *text, size_t length, enum number_form form) {
    size_t limit = length > NUMBER_TEXT_MAX ? length : NUMBER_TEXT_MAX;
    char *once = new_bytes(limit + FUZZ_PADDING);
    size_t n_once = number_rewrite(text, length, form, once);
    check(n_once <= limit, "a rewritten number keeps within its bound");

    char *source = padded_copy(once, n_once);
    check_scan_alone(source, n_once, form);
    char *twice = new_bytes(limit + FUZZ_PADDING);
    size_t n_twice = number_rewrite(source, n_once, form, twice);
    check(same_bytes(once, n_once, twice, n_twice), "rewriting twice changes nothing");
    check(form == NUMBER_FORM_INTEGER || same_double(double_parse(source, n_once), double_parse(text, length)),
          "rewriting keeps the value");
    if (form == NUMBER_FORM_INTEGER)
        check_integer(text, length, once, n_once);
    free(once);
    free(source);
    free(twice);
}

static void check_text(const uint8_t *data, size_t size) {
    size_t length;
    char *input = padded_copy(data, size);
    enum number_form form = number_scan(input, &length);
    check(length <= size, "a number ends within its text");
    if (form != NUMBER_FORM_BAD) {
        char *text = padded_copy(data, length);
        check_scan_alone(text, length, form);
        check(same_double(double_parse(text, length), strtod(text, NULL)), "double_parse() is strtod()");
        check_rewrite(text, length, form);
        free(text);
    }
    free(input);
}

static size_t count_digits(const char *text) {
    size_t n = 0, n_zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (n == 0 && *text == '0'))
            continue;
        n++;
        n_zeros = *text == '0' ? n_zeros + 1 : 0;
    }
    return n - n_zeros;
}

/* No number of fewer digits may mean the same double. */
static void check_shortest(double value, const char *text) {
    char shorter[64];
    size_t n_digits = count_digits(text);
    if (!isfinite(value) || n_digits < 2)
        return;
    snprintf(shorter, sizeof shorter, "%.*e", (int)n_digits - 2, value);
    check(!same_double(strtod(shorter, NULL), value), "double_format() writes the fewest digits");
}

static void check_values(const uint8_t *data) {
    char text[NUMBER_TEXT_MAX + FUZZ_PADDING] = {0}, expected[64];
    double value, back;
    int64_t integer, integer_back;
    memcpy(&value, data, sizeof value);
    memcpy(&integer, data, sizeof integer);

    size_t length = double_format(value, text);
    check(length <= NUMBER_TEXT_MAX, "double_format() keeps within its bound");
    memset(text + length, 0, sizeof text - length);
    back = double_parse(text, length);
    check(same_double(back, value), "double_parse() reads what double_format() wrote");
    check_shortest(value, text);

    length = integer_format(integer, text);
    check(length <= NUMBER_TEXT_MAX, "integer_format() keeps within its bound");
    memset(text + length, 0, sizeof text - length);
    size_t n_expected = (size_t)snprintf(expected, sizeof expected, "%" PRId64, integer);
    check(same_bytes(text, length, expected, n_expected), "integer_format() is printf()");
    check(integer_parse(text, length, &integer_back) && integer_back == integer, "integer_parse() reads it back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_text(data, size);
    if (size >= sizeof(double))
        check_values(data);
    return 0;
}
