/*
 * short_number.h - the numbers that traces are full of, found in one look at 32 bytes; the values of those that have
 * up to 16 digits, or those, a point and up to 4 more.
 *
 * Where the digits end is found first, without a loop, since all that is read next waits for it; the value comes from
 * at most three words, in the shadow of that. All other numbers are for number_scan() and those behind it.
 */
#ifndef TEXT_SHORT_NUMBER_H
#define TEXT_SHORT_NUMBER_H

#include "text/digits.h"
#include "text/number_text.h"
#include "text/scan.h"

#define SHORT_INTEGER_DIGITS  16
#define SHORT_FRACTION_DIGITS 4

/* Integers up to here are doubles, and so are digits that may be divided by a power of ten with one rounding. */
#define SHORT_EXACT ((uint64_t)1 << 53)

/* Digits before the point and behind it, and all characters; length 0: it is no such number, or longer than 31. */
struct short_number {
    size_t n_integer, n_fraction, length;
};

/* Where digits, and a point with digits behind it, end at `text`. What follows may belong to the number, too. */
static inline struct short_number short_number_at(const char *text) {
    uint64_t others = ~(uint64_t)digit_bits(text);
    struct short_number number = {.n_integer = (size_t)__builtin_ctzll(others)};
    size_t end = number.n_integer;
    if (text[end] == '.') {
        others &= others - 1;
        end = (size_t)__builtin_ctzll(others);
        number.n_fraction = end - number.n_integer - 1;
        if (number.n_fraction == 0)
            return number;
    }
    number.length = number.n_integer > 0 && end < 32 ? end : 0;
    return number;
}

/* The value of 1 to 16 digits. */
static inline uint64_t short_integer_value(const char *text, size_t n) {
    if (n <= 8)
        return word_value(word_load(text), n);
    return word_value(word_load(text), n - 8) * 100000000 + word_value(word_load(text + n - 8), 8);
}

/* The value of a number that was found; BAD where it is not exact as one of the two. */
static inline enum number_form short_number_value(const char *text, struct short_number number, int64_t *integer,
                                                  double *real) {
    static const uint64_t tens[SHORT_FRACTION_DIGITS + 1] = {1, 10, 100, 1000, 10000};
    if (number.n_integer > SHORT_INTEGER_DIGITS || number.n_fraction > SHORT_FRACTION_DIGITS)
        return NUMBER_FORM_BAD;
    uint64_t digits = short_integer_value(text, number.n_integer);
    if (number.n_fraction == 0) {
        *integer = (int64_t)digits;
        return digits <= SHORT_EXACT ? NUMBER_FORM_INTEGER : NUMBER_FORM_BAD;
    }
    if (number.n_integer + number.n_fraction > 19)
        return NUMBER_FORM_BAD;
    digits = digits * tens[number.n_fraction] + word_value(word_load(text + number.n_integer + 1), number.n_fraction);
    *real = digits <= SHORT_EXACT ? (double)digits / (double)tens[number.n_fraction]
                                  : double_of_digits(digits, -(int)number.n_fraction);
    return NUMBER_FORM_REAL;
}

/* The value and the length of a number's text, quickly, if it is one of these. Anything else is BAD, though it may be a
 * number. */
static inline enum number_form number_parse_short(const char *text, int64_t *integer, double *real, size_t *length) {
    struct short_number number = short_number_at(text);
    *length = number.length;
    if (number.length == 0 || (text[number.length] | 0x20) == 'e')
        return NUMBER_FORM_BAD;
    return short_number_value(text, number, integer, real);
}

#endif
