/*
 * decimal_shift.c - digits in 128 bits, in units of the last decimal.
 */
#include "text/decimal_shift.h"

#include <stdbool.h>
#include <string.h>

#include "text/decimal_ns.h"

__extension__ typedef __int128 shifted_digits;
__extension__ typedef unsigned __int128 written_digits;

#define DECIMALS_MAX 15
#define DIGITS_MAX   20 /* before the point */

/* A number as digits * 10^-decimals. */
struct shifted_number {
    shifted_digits digits;
    unsigned decimals;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* False: too long, or no plain decimal number. */
static bool read_plain(const char *text, size_t length, struct shifted_number *number) {
    size_t at = length > 0 && *text == '-', begin = at;
    *number = (struct shifted_number){0};
    for (; at < length && is_digit(text[at]) && at - begin <= DIGITS_MAX; at++)
        number->digits = number->digits * 10 + (text[at] - '0');
    if (at == begin || at - begin > DIGITS_MAX)
        return false;
    if (at < length && text[at] == '.')
        for (at++; at < length && is_digit(text[at]) && number->decimals <= DECIMALS_MAX; at++, number->decimals++)
            number->digits = number->digits * 10 + (text[at] - '0');
    number->digits = begin ? -number->digits : number->digits;
    return at == length && number->decimals <= DECIMALS_MAX;
}

static size_t write_plain(const struct shifted_number *number, char *out) {
    char reversed[DECIMAL_SHIFT_ROOM];
    size_t n = 0, length = 0;
    bool negative = number->digits < 0;
    written_digits rest = negative ? -(written_digits)number->digits : (written_digits)number->digits;
    for (unsigned i = 0; rest > 0 || i <= number->decimals; i++, rest /= 10) {
        if (i > 0 && i == number->decimals)
            reversed[n++] = '.';
        reversed[n++] = (char)('0' + (int)(rest % 10));
    }
    if (negative)
        out[length++] = '-';
    while (n > 0)
        out[length++] = reversed[--n];
    return length;
}

/* Whether the text is that of a time, which is then read. */
static bool read_time(const char *text, size_t length, struct shifted_number *number) {
    int64_t ns;
    if (read_plain(text, length, number))
        return true;
    if (!decimal_ns(text, length, &ns))
        return false;
    *number = (struct shifted_number){ns, 3};
    return true;
}

size_t decimal_shift(const char *text, size_t length, int64_t ns, char *out) {
    struct shifted_number number;
    if (ns == 0 || !read_time(text, length, &number)) {
        memcpy(out, text, length);
        return length;
    }
    for (unsigned least = ns % 1000 ? 3 : 0; number.decimals < least; number.decimals++)
        number.digits *= 10;
    bool whole_us = number.decimals < 3;
    shifted_digits moved = whole_us ? ns / 1000 : ns;
    for (unsigned i = whole_us ? 0 : 3; i < number.decimals; i++)
        moved *= 10;
    number.digits += moved;
    return write_plain(&number, out);
}
