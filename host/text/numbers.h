/*
 * numbers.h - decimal digits, eight at a time in one 64-bit word.
 *
 * A word holds text in its order: the first character in the lowest byte, on machines of either byte order.
 */
#ifndef TEXT_NUMBERS_H
#define TEXT_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "text/strings.h"

/*
 * Numbers between their JSON text, doubles and the text that Python's json module writes.
 *
 * Text pointers (except of integer_parse() and integer_find_last()) may be read up to 32 bytes past the end that is
 * given; sources keep that padding (zeros).
 */

/* Most bytes that double_format() and integer_format() write. */
#define NUMBER_TEXT_MAX 32

/* Digits that Python reads in one integer. */
#define INTEGER_DIGITS_MAX 4300

enum number_form { NUMBER_FORM_INTEGER, NUMBER_FORM_REAL, NUMBER_FORM_BAD };

/* Length of the JSON number at `text` (NaN, Infinity and -Infinity too, as reals); reads on to the first character that
 * cannot belong to it. BAD: not a number; the length is then the offset of the offending character. Whether what
 * follows may follow a number is for the caller to check. */
enum number_form number_scan(const char *text, size_t *length);

/* The value of an integer's text, if it fits 64 bits. */
bool integer_parse(const char *text, size_t length, int64_t *value);

/* The last run of digits in a text, if there is one of at most nine digits. */
bool integer_find_last(const char *text, size_t length, int64_t *value);

/* The nearest double (ties to even) to a number's text of either form; overflow gives infinity, as in Python. */
double double_parse(const char *text, size_t length);

/* The nearest double to digits * 10^exponent; digits are not 0. */
double double_of_digits(uint64_t digits, int exponent);

/* Python's repr of a double, "NaN", "Infinity" or "-Infinity"; decimal integers. No NUL is written. */
size_t double_format(double value, char *out);
size_t integer_format(int64_t value, char *out);

/* The text of a number as Python would write it after reading `text`: an integer is kept (but -0 is 0), a real is the
 * repr of its double. Writes at most max(length, NUMBER_TEXT_MAX) bytes, though up to 32 beyond may be scribbled on. */
size_t number_rewrite(const char *text, size_t length, enum number_form form, char *out);

/*
 * Nanoseconds from the text of microseconds, exactly: the value of a double would not do above 2^53 ns.
 */

#define NS_PER_US 1000

/* The nearest integer (ties to even) to 1000 times the JSON number at `text`, which has `length` bytes. False: 2^62 or
 * more in magnitude, or no decimal number. O(length). */
bool decimal_ns(const char *text, size_t length, int64_t *ns);

#define EACH_BYTE(b) ((uint64_t)(b)*0x0101010101010101u)

static inline uint64_t word_order(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

static inline uint64_t word_load(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word_order(word);
}

static inline void word_store(char *text, uint64_t word) {
    word = word_order(word);
    memcpy(text, &word, sizeof word);
}

/* Non-zero in the first byte that is not a digit, and in none before it; later bytes may be disturbed by a carry. */
static inline uint64_t word_not_digits(uint64_t word) {
    uint64_t values = word ^ EACH_BYTE('0');
    return (values | (values + EACH_BYTE(6))) & EACH_BYTE(0xf0);
}

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* Digits at the start of `text`, which ends in something else; reads up to 7 bytes beyond that. */
static inline size_t digit_run(const char *text) {
    size_t n = 0;
    uint64_t others;
    while (!(others = word_not_digits(word_load(text + n))))
        n += 8;
    return n + (size_t)__builtin_ctzll(others) / 8;
}

/* The value of the first n characters of a word, which are digits; n is 1 to 8. Zeros are put before fewer than eight;
 * then neighbours are joined to pairs, pairs to fours, fours to the eight. */
static inline uint64_t word_value(uint64_t word, size_t n) {
    uint64_t digits = (word ^ EACH_BYTE('0')) << (64 - 8 * n);
    digits = digits * 10 + (digits >> 8);
    uint64_t first = (digits & 0x000000ff000000ff) * (100 + ((uint64_t)1000000 << 32));
    uint64_t second = ((digits >> 16) & 0x000000ff000000ff) * (1 + ((uint64_t)10000 << 32));
    return (first + second) >> 32;
}

/* The value of a number's digits, followed by the first n characters of a word, which are digits; n is 1 to 8. */
static inline uint64_t digits_append(uint64_t value, uint64_t word, size_t n) {
    static const uint32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    return value * tens[n] + word_value(word, n);
}

/* The eight digits (0 to 9, no text yet) of a value below 10^8: word_value backwards, division by multiplication. */
static inline uint64_t digits_of(uint32_t value) {
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007f;
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = ((pairs * 103) >> 10) & 0x000f000f000f000f;
    return tens | (pairs - tens * 10) << 8;
}

static inline size_t digits_write_8(uint32_t value, char *out) {
    word_store(out, digits_of(value) | EACH_BYTE('0'));
    return 8;
}

/* A value below 10^8 without leading zeros ("0" for zero); scribbles on 8 bytes. */
static inline size_t digits_write_short(uint32_t value, char *out) {
    uint64_t digits = digits_of(value);
    size_t zeros = digits ? (size_t)__builtin_ctzll(digits) / 8 : 7;
    word_store(out, (digits | EACH_BYTE('0')) >> 8 * zeros);
    return 8 - zeros;
}

/* Any value; returns the number of digits, at most 20, and scribbles on up to 24 bytes. */
static inline size_t digits_write(uint64_t value, char *out) {
    if (value < 100000000)
        return digits_write_short((uint32_t)value, out);
    uint64_t above = value / 100000000;
    size_t n = above < 100000000 ? digits_write_short((uint32_t)above, out)
                                 : digits_write_short((uint32_t)(above / 100000000), out);
    if (above >= 100000000)
        n += digits_write_8((uint32_t)(above % 100000000), out + n);
    return n + digits_write_8((uint32_t)(value % 100000000), out + n);
}

/*
 * ---- The most frequent numbers of traces: up to 16 digits, or a point and up to 4 more digits ----
 *
 * The end of the digits is found first, in one comparison of 32 bytes, since the following reads depend on it; the
 * value is computed from at most three words in parallel. All other numbers use number_scan() and the functions that
 * follow it.
 */

#define SHORT_INTEGER_DIGITS  16
#define SHORT_FRACTION_DIGITS 4

/* Integers up to here are doubles, and so are digits that may be divided by a power of ten with one rounding. */
#define SHORT_EXACT ((uint64_t)1 << 53)

/* Digits before and after the point, and all characters; length 0: no such number, or longer than 31 bytes. */
struct short_number {
    size_t n_integer, n_fraction, length;
};

/* The end of digits, or of digits, a point and digits. The following byte may belong to the number, too. */
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

/* The value of a number; BAD: it is not exact in either type. */
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

/* The value and the length of a number's text, if it is one of these; BAD: another number, or no number. */
static inline enum number_form number_parse_short(const char *text, int64_t *integer, double *real, size_t *length) {
    struct short_number number = short_number_at(text);
    *length = number.length;
    if (number.length == 0 || (text[number.length] | 0x20) == 'e')
        return NUMBER_FORM_BAD;
    return short_number_value(text, number, integer, real);
}

#endif
