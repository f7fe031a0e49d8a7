/*
 * number_text.c - recognising JSON numbers, 64-bit integers, and the text of a number as Python would write it again.
 *
 * Rewriting comes once per number of the output, so it avoids doubles where the text shows that Python's repr has the
 * same digits: a plain decimal of up to 15 digits, or thousandths below 2^43 (as time stamps in microseconds are),
 * reads as a double that no other decimal of so few digits reads as.
 */
#include "text/number_text.h"

#include "text/digits.h"

#include <string.h>

/* ---- recognising ---- */

/* Length of what `text` and `word` have in common. */
static size_t common_length(const char *text, const char *word) {
    size_t n = 0;
    while (word[n] && text[n] == word[n])
        n++;
    return n;
}

static enum number_form scan_word(const char *text, const char *word, size_t *length) {
    size_t common = common_length(text, word);
    *length += common;
    return word[common] ? NUMBER_FORM_BAD : NUMBER_FORM_REAL;
}

/* From the point or exponent at `text` on. */
static enum number_form scan_rest(const char *text, size_t *length) {
    const char *at = text;
    if (*at == '.') {
        size_t n = digit_run(++at);
        at += n;
        if (!n)
            goto bad;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        size_t n = digit_run(at);
        at += n;
        if (!n)
            goto bad;
    }
    *length += (size_t)(at - text);
    return NUMBER_FORM_REAL;
bad:
    *length += (size_t)(at - text);
    return NUMBER_FORM_BAD;
}

enum number_form number_scan(const char *text, size_t *length) {
    size_t sign = *text == '-';
    text += sign;
    *length = sign;
    if (!is_digit(*text)) {
        if (*text == 'I')
            return scan_word(text, "Infinity", length);
        return *text == 'N' && !sign ? scan_word(text, "NaN", length) : NUMBER_FORM_BAD;
    }
    size_t n = *text == '0' ? 1 : digit_run(text);
    *length += n;
    char after = text[n];
    if (after == '.' || after == 'e' || after == 'E')
        return scan_rest(text + n, length);
    return NUMBER_FORM_INTEGER;
}

/* ---- integers ---- */

bool integer_parse(const char *text, size_t length, int64_t *value) {
    bool negative = length && *text == '-';
    size_t n_digits = length - negative;
    if (n_digits == 0 || n_digits > 19)
        return false; /* 19 digits do not overflow 64 bits without sign */
    uint64_t magnitude = 0;
    for (size_t i = negative; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        magnitude = magnitude * 10 + (uint64_t)(text[i] - '0');
    }
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

size_t integer_format(int64_t value, char *out) {
    size_t sign = value < 0;
    *out = '-';
    return sign + digits_write(sign ? -(uint64_t)value : (uint64_t)value, out + sign);
}

/* ---- rewriting ---- */

static size_t copy(const char *text, size_t length, char *out) {
    if (length <= 32)
        memcpy(out, text, 32); /* padding on both sides makes a fixed size the faster one */
    else
        memcpy(out, text, length);
    return length;
}

static bool only_decimal_of_its_double(const char *whole, size_t n_whole, size_t n_fraction) {
    if (*whole == '0') /* repr turns to exponents below 0.0001; zeros do not count as digits */
        return n_fraction <= 15 && memcmp(whole + 2, "0000", 4) != 0;
    if (n_whole + n_fraction <= 15)
        return true;
    return n_whole == 13 && n_fraction <= 3 && memcmp(whole, "8796093022208", 13) < 0;
}

/* The length of the text's beginning that is the repr of its double; 0: that is not easily known. */
static size_t repr_prefix(const char *text, size_t length) {
    size_t sign = *text == '-';
    size_t n_whole = digit_run(text + sign);
    const char *point = text + sign + n_whole;
    if (n_whole == 0 || *point != '.')
        return 0;
    size_t n_fraction = digit_run(point + 1);
    if (sign + n_whole + 1 + n_fraction != length)
        return 0;
    while (n_fraction > 1 && point[n_fraction] == '0')
        n_fraction--;
    if (!only_decimal_of_its_double(text + sign, n_whole, n_fraction))
        return 0;
    return sign + n_whole + 1 + n_fraction;
}

size_t number_rewrite(const char *text, size_t length, enum number_form form, char *out) {
    if (form == NUMBER_FORM_INTEGER) {
        bool minus_zero = length == 2 && text[0] == '-' && text[1] == '0';
        return copy(text + minus_zero, length - minus_zero, out);
    }
    size_t known = repr_prefix(text, length);
    return known ? copy(text, known, out) : double_format(double_parse(text, length), out);
}
