/*
 * python_int.c - what Python's int() makes of a string.
 *
 * One pass over the characters: spaces, sign, digits with single underscores between them, spaces. As in CPython, the
 * ASCII separators 1C-1F are no white space here although str.strip() takes them, and leading zeros count as digits.
 */
#include "base/bisect.h"
#include "text/decimal_digits.h"
#include "text/number_text.h"
#include "text/string_text.h"
#include "text/utf8.h"

static bool is_space(uint32_t c) {
    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* 0 to 9, or something above for what is not a digit. */
static uint32_t digit_value(uint32_t c) {
    if (c < 0x80)
        return c - '0';
    struct bisection at = {1, sizeof decimal_zeros / sizeof *decimal_zeros};
    while (at.low < at.high)
        bisect(&at, decimal_zeros[bisect_middle(at)] <= c);
    return c - decimal_zeros[at.low - 1];
}

static const char *skip_spaces(const char *text, const char *end) {
    while (text < end) {
        uint32_t c;
        const char *next = utf8_read(text, &c);
        if (!is_space(c))
            break;
        text = next;
    }
    return text;
}

/* Digits from `text` on, without underscores and leading zeros, go to `out`; returns where they end, or NULL if there
 * are none, too many, or an underscore is not between two of them. */
static const char *read_number(const char *text, const char *end, char *out, size_t *length) {
    size_t n_digits = 0, n = 0;
    bool digit_due = true;
    while (text < end) {
        uint32_t c;
        const char *next = utf8_read(text, &c);
        uint32_t digit = digit_value(c);
        if (digit < 10) {
            n -= n == 1 && out[0] == '0';
            out[n++] = (char)('0' + digit);
            n_digits++;
        } else if (c != '_' || digit_due) {
            break;
        }
        digit_due = digit >= 10;
        text = next;
    }
    *length = n;
    return digit_due || n_digits > INTEGER_DIGITS_MAX ? NULL : text;
}

size_t python_int(const char *decoded, size_t length, char *out) {
    const char *end = decoded + length;
    const char *text = skip_spaces(decoded, end);
    bool negative = text < end && *text == '-';
    text += text < end && (*text == '-' || *text == '+');
    size_t n_digits;
    text = read_number(text, end, out + negative, &n_digits);
    if (!text || skip_spaces(text, end) != end)
        return 0;
    if (!negative)
        return n_digits;
    out[0] = '-';
    if (n_digits > 1 || out[1] != '0')
        return n_digits + 1;
    out[0] = '0';
    return 1;
}
