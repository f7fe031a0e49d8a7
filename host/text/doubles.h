/*
 * doubles.h - adds nanoseconds to the text of a time; the first digits of all scripts; powers of ten.
 */
#ifndef TEXT_DOUBLES_H
#define TEXT_DOUBLES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The text of microseconds plus nanoseconds: decimals are added as decimals, so that no digit is lost.
 *
 *     4391163258924.761  + 1,500 ns  ->  4391163258926.261
 *     12.5               - 1 ns      ->  12.499
 */

/* Room for the result, in addition to the length of the text. */
#define DECIMAL_SHIFT_ROOM 64

/* Writes the sum of the JSON number at `text`, of `length` bytes, and ns / 1000 to `out`, and returns its length.
 * Copies the text if ns is 0 or the text is no time (NaN, 2^62 ns or more). Rounds numbers with more than 15 decimals
 * or an exponent to nanoseconds. O(length). */
size_t decimal_shift(const char *text, size_t length, int64_t ns, char *out);

/* Digit zero of each script: Unicode 14.0.0, category Nd, ascending. Made by
 * python3 -c "import unicodedata as u; print([hex(c) for c in range(1114112) if u.decimal(chr(c), None) == 0])" */
// clang-format off
static const uint32_t decimal_zeros[] = {
    0x00030, 0x00660, 0x006f0, 0x007c0, 0x00966, 0x009e6, 0x00a66, 0x00ae6, 0x00b66, 0x00be6,
    0x00c66, 0x00ce6, 0x00d66, 0x00de6, 0x00e50, 0x00ed0, 0x00f20, 0x01040, 0x01090, 0x017e0,
    0x01810, 0x01946, 0x019d0, 0x01a80, 0x01a90, 0x01b50, 0x01bb0, 0x01c40, 0x01c50, 0x0a620,
    0x0a8d0, 0x0a900, 0x0a9d0, 0x0a9f0, 0x0aa50, 0x0abf0, 0x0ff10, 0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
    0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2,
    0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
};
// clang-format on

/*
 * Powers of ten as 128-bit binary fractions, for reading and writing doubles.
 *
 * power_of_ten(k) is p with p * 2^e <= 10^k < (p + 1) * 2^e, where e = power_exponent(k) puts p's highest bit at 127.
 * It is exact for 0 <= k <= 55.
 */

/* Below the first, 19 digits round to zero; above 308 they overflow, and shortest digits need up to the last. */
#define POWER_LEAST (-342)
#define POWER_MOST  324

typedef unsigned __int128 wide;

struct power {
    uint64_t high, low;
};

extern const struct power power_table[POWER_MOST - POWER_LEAST + 1];

static inline struct power power_of_ten(int k) {
    return power_table[k - POWER_LEAST];
}

/* floor(log2(10^k)); the generator of the table checks it for every k. */
static inline int power_log2(int k) {
    return (k * 217706) >> 16;
}

static inline int power_exponent(int k) {
    return power_log2(k) - 127;
}

#endif
