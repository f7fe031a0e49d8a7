/*
 * decimal_ns.c - decimal digits to an integer of nanoseconds; in comes text, no floating point takes part.
 *
 * The number is digits * 10^exponent, of which the first 19 digits that count are kept: with an exponent above 0 more
 * digits are too large a time, with one below 0 what was cut off only matters by not being zero.
 */
#include "text/decimal_ns.h"

#define DIGITS_KEPT    19
#define EXPONENT_LIMIT 100000 /* no text of a time has the digits to bring more back into range */
#define NS_LIMIT       ((uint64_t)1 << 62)

struct read_decimal {
    uint64_t digits;
    int64_t exponent;
    int n_digits; /* from the first that is not zero */
    bool cut;     /* digits that are not zero were cut off */
};

static void take_digit(struct read_decimal *decimal, char c, bool behind_point) {
    unsigned digit = (unsigned)(c - '0');
    if (decimal->n_digits == 0 && digit == 0) {
        decimal->exponent -= behind_point;
        return;
    }
    if (decimal->n_digits < DIGITS_KEPT) {
        decimal->digits = decimal->digits * 10 + digit;
        decimal->exponent -= behind_point;
        decimal->n_digits++;
    } else {
        decimal->cut |= digit != 0;
        decimal->exponent += !behind_point;
    }
}

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
        if (i < -DIGITS_KEPT) { /* below a half, whatever the digits are */
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
    bool minus = text < end && *text == '-', behind_point = false;
    struct read_decimal decimal = {.exponent = 3}; /* a thousand to the microsecond */
    uint64_t value;
    for (text += minus; text < end; text++) {
        if (*text == '.')
            behind_point = true;
        else if (*text == 'e' || *text == 'E')
            break;
        else if (*text >= '0' && *text <= '9')
            take_digit(&decimal, *text, behind_point);
        else
            return false;
    }
    if (text < end)
        decimal.exponent += read_exponent(text + 1, end);
    if (!scale(&decimal, &value))
        return false;
    *ns = minus ? -(int64_t)value : (int64_t)value;
    return true;
}
