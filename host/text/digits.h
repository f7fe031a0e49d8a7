/*
 * digits.h - decimal digits, eight at a time in one 64-bit word.
 *
 * A word holds text in its order: the first character in the lowest byte, on machines of either byte order.
 */
#ifndef TEXT_DIGITS_H
#define TEXT_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* The value of a number's digits and, behind them, the first n characters of a word, which are digits; n is 1 to 8. */
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

#endif
