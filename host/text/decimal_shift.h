/*
 * decimal_shift.h - the text of microseconds, moved by nanoseconds: decimals are added as decimals, so that no digit
 * that stands there is lost.
 *
 *     4391163258924.761  + 1,500 ns  ->  4391163258926.261
 *     12.5               - 1 ns      ->  12.499
 */
#ifndef TEXT_DECIMAL_SHIFT_H
#define TEXT_DECIMAL_SHIFT_H

#include <stddef.h>
#include <stdint.h>

/* Room for the text of any time that is moved: beside that of the text itself. */
#define DECIMAL_SHIFT_ROOM 64

/* Writes the sum of the JSON number at `text`, which has `length` bytes, and ns / 1000 to `out`, and returns its
 * length. With 0 ns, and where it is no time (NaN, 2^62 ns or more), the text stays as it is. More than 15 decimals, or
 * an exponent, make whole nanoseconds of it. O(length). */
size_t decimal_shift(const char *text, size_t length, int64_t ns, char *out);

#endif
