/*
 * numbers.c - decimal digits to an integer of nanoseconds; in comes text, no floating point takes part.
 *
 * The number is digits * 10^exponent, The first 19 significant digits are kept: with an exponent above 0 more
 * digits are too large a time, with one below 0 what was cut off only matters by not being zero.
 */
#include <string.h>

#include "base/shared.h"
#include "text/doubles.h"
#include "text/numbers.h"
#include "text/strings.h"

/*
 * Recognising JSON numbers, 64-bit integers, and the text of a number as Python would write it again.
 *
 * Rewriting comes once per number of the output, so it avoids doubles where the text shows that Python's repr has the
 * same digits: a plain decimal of up to 15 digits, or thousandths below 2^43 (as time stamps in microseconds are),
 * reads as a double that no other decimal of so few digits reads as.
 */

/* ---- recognising ---- */

static enum number_form scan_word(const char *text, const char *word, size_t *length) {
    size_t common = 0;
    while (word[common] && text[common] == word[common])
        common++;
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

bool integer_find_last(const char *text, size_t length, int64_t *value) {
    while (length > 0 && !is_digit(text[length - 1]))
        length--;
    size_t begin = length;
    while (begin > 0 && is_digit(text[begin - 1]))
        begin--;
    return length - begin <= 9 && integer_parse(text + begin, length - begin, value);
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

/* The length of the beginning of the text that is the repr of its double; 0: unknown without parsing. */
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
    /* Whether no other decimal of as many digits has this double. */
    const char *whole = text + sign;
    bool only =
        n_whole + n_fraction <= 15 || (n_whole == 13 && n_fraction <= 3 && memcmp(whole, "8796093022208", 13) < 0);
    if (*whole == '0') /* repr has an exponent below 0.0001; zeros do not count as digits */
        only = n_fraction <= 15 && memcmp(whole + 2, "0000", 4) != 0;
    return only ? sign + n_whole + 1 + n_fraction : 0;
}

size_t number_rewrite(const char *text, size_t length, enum number_form form, char *out) {
    if (form == NUMBER_FORM_INTEGER) {
        bool minus_zero = length == 2 && text[0] == '-' && text[1] == '0';
        return copy(text + minus_zero, length - minus_zero, out);
    }
    size_t known = repr_prefix(text, length);
    return known ? copy(text, known, out) : double_format(double_parse(text, length), out);
}

/*
 * ---- Python's int() of a string ----
 *
 * One pass over the characters: spaces, sign, digits with single underscores between them, spaces. As in CPython, the
 * ASCII separators 1C-1F are not white space here, unlike in str.strip(), and leading zeros count as digits.
 */

/* 0 to 9, or above 9 for other characters. */
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
        bool space = c < 0x80 ? c == ' ' || (c >= '\t' && c <= '\r')
                              : c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
                                    c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
        if (!space)
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

#define DIGITS_KEPT    19
#define EXPONENT_LIMIT 100000 /* no text of a time has the digits to bring more back into range */
#define NS_LIMIT       ((uint64_t)1 << 62)

struct read_decimal {
    uint64_t digits;
    int64_t exponent;
    int n_digits; /* from the first nonzero digit on */
    bool cut;     /* nonzero digits were cut off */
};

static int64_t read_exponent(const char *text, const char *end) {
    bool minus = text < end && *text == '-';
    int64_t exponent = 0;
    for (text += text < end && (*text == '-' || *text == '+'); text < end && exponent < EXPONENT_LIMIT; text++)
        exponent = exponent * 10 + (*text - '0');
    return minus ? -exponent : exponent;
}

/* digits * 10^exponent, rounded; false: too large. */
static bool scale(const struct read_decimal *decimal, uint64_t *value) {
    uint64_t result = decimal->digits, rest = 0, unit = 1;
    if (result == 0) {
        *value = 0;
        return true;
    }
    for (int64_t i = decimal->exponent; i > 0; i--)
        if (__builtin_mul_overflow(result, (uint64_t)10, &result))
            return false;
    for (int64_t i = decimal->exponent; i < 0; i++) {
        if (i < -DIGITS_KEPT) { /* below a half for any digits */
            *value = 0;
            return true;
        }
        unit *= 10;
    }
    rest = result % unit;
    result /= unit;
    bool above = rest > unit / 2 || (unit > 1 && rest == unit / 2 && (decimal->cut || (result & 1)));
    *value = result + above;
    return *value < NS_LIMIT;
}

bool decimal_ns(const char *text, size_t length, int64_t *ns) {
    const char *end = text + length;
    bool minus = text < end && *text == '-', fraction = false;
    struct read_decimal decimal = {.exponent = 3}; /* microseconds to nanoseconds */
    uint64_t value;
    for (text += minus; text < end; text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        if (*text == 'e' || *text == 'E')
            break;
        if (!is_digit(*text))
            return false;
        unsigned digit = (unsigned)(*text - '0');
        if (decimal.n_digits == 0 && digit == 0) {
            decimal.exponent -= fraction;
        } else if (decimal.n_digits < DIGITS_KEPT) {
            decimal.digits = decimal.digits * 10 + digit;
            decimal.exponent -= fraction;
            decimal.n_digits++;
        } else {
            decimal.cut |= digit != 0;
            decimal.exponent += !fraction;
        }
    }
    if (text < end)
        decimal.exponent += read_exponent(text + 1, end);
    if (!scale(&decimal, &value))
        return false;
    *ns = minus ? -(int64_t)value : (int64_t)value;
    return true;
}
