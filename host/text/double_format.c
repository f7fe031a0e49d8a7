/*
 * double_format.c - the shortest decimal digits that read back as the same double, laid out as Python's repr does.
 *
 * Most doubles of a trace are whole or have up to three decimals; a multiplication and a division find those. The
 * others take Raffaello Giulietti's Schubfach method: the double and the borders of the interval that rounds to it are
 * multiplied by one 128-bit power of ten, so that the shortest decimal within is one of four neighbours; the closest to
 * the double wins, at equal distance the even one. Three 64x128-bit products, no loop but that for trailing zeros.
 */
#include "text/digits.h"
#include "text/number_text.h"
#include "text/powers.h"

#include <string.h>

struct short_decimal {
    uint64_t digits;
    int exponent; /* digits * 10^exponent */
};

/* Below this, thousandths lie more than one step of a double apart, so at most one of them reads back as the double,
 * and a number with fewer digits would be a thousandth too. Times 1000 it stays below 2^53. */
#define THOUSANDTHS_LIMIT ((double)((int64_t)1 << 43))

/* Doubles from here on may have whole neighbours that read back as the same. */
#define WHOLE_LIMIT ((double)((int64_t)1 << 53))

/* The upper 64 bits of power * factor / 2^64, the lowest of them set too if any of the next 64 is. The power's error
 * adds less than 1 to those, so an exact product stays even. */
static inline uint64_t multiply_to_odd(wide power, uint64_t factor) {
    wide low = (wide)(uint64_t)power * factor;
    wide product = (wide)(uint64_t)(power >> 64) * factor + (uint64_t)(low >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product != 0);
}

/* The decimal closest to `scaled` / 4 among its whole neighbours, `scaled` being the double in units of 10^exponent. */
static struct short_decimal closest(uint64_t scaled, int exponent) {
    uint64_t below = scaled / 4, rest = scaled % 4;
    bool up = rest > 2 || (rest == 2 && (below & 1));
    return (struct short_decimal){below + up, exponent};
}

/* Shortest digits of significand * 2^exponent; `narrow`: the next double below is only half a step away. */
static struct short_decimal shortest(uint64_t significand, int exponent, bool narrow) {
    int k = narrow ? (exponent * 1262611 - 524031) >> 22 : (exponent * 1262611) >> 22;
    struct power entry = power_of_ten(-k);
    wide power = ((wide)entry.high << 64 | entry.low) + 1; /* from above, as the method wants it */
    int shift = exponent + power_log2(-k) + 1;
    uint64_t odd = significand & 1; /* then the borders belong to the neighbours */
    uint64_t scaled = multiply_to_odd(power, significand * 4 << shift);
    uint64_t lower = multiply_to_odd(power, (significand * 4 - (narrow ? 1 : 2)) << shift) + odd;
    uint64_t upper = multiply_to_odd(power, (significand * 4 + 2) << shift) - odd;
    if (scaled >= 40) {
        uint64_t tens = scaled / 40;
        bool below_fits = lower <= tens * 40, above_fits = tens * 40 + 40 <= upper;
        if (below_fits != above_fits)
            return (struct short_decimal){tens + above_fits, k + 1};
    }
    uint64_t below = scaled / 4;
    bool below_fits = lower <= below * 4, above_fits = below * 4 + 4 <= upper;
    if (below_fits != above_fits)
        return (struct short_decimal){below + above_fits, k};
    return closest(scaled, k);
}

static struct short_decimal strip_zeros(struct short_decimal x) {
    if (x.digits % 100000000 == 0) {
        x.digits /= 100000000;
        x.exponent += 8;
    }
    while (x.digits % 10 == 0) {
        x.digits /= 10;
        x.exponent++;
    }
    return x;
}

static size_t write_zeros(char *out, size_t n) {
    memset(out, '0', n);
    return n;
}

/* d.ddde+xx */
static size_t write_scientific(const char *digits, size_t n, int exponent, char *out) {
    char *to = out;
    *to++ = digits[0];
    if (n > 1) {
        *to++ = '.';
        memcpy(to, digits + 1, n - 1);
        to += n - 1;
    }
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    unsigned magnitude = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (magnitude < 10)
        *to++ = '0';
    to += integer_format(magnitude, to);
    return (size_t)(to - out);
}

/* ddd00.0, dd.ddd or 0.00ddd; `point` is the place of the decimal point among the digits. */
static size_t write_plain(const char *digits, size_t n, int point, char *out) {
    char *to = out;
    if (point <= 0) {
        *to++ = '0';
        *to++ = '.';
        to += write_zeros(to, (size_t)-point);
        memcpy(to, digits, n);
        return (size_t)(to - out) + n;
    }
    size_t whole = (size_t)point < n ? (size_t)point : n;
    memcpy(to, digits, whole);
    to += whole + write_zeros(to + whole, (size_t)point - whole);
    *to++ = '.';
    if (whole == n) {
        *to++ = '0';
        return (size_t)(to - out);
    }
    memcpy(to, digits + whole, n - whole);
    return (size_t)(to - out) + n - whole;
}

static size_t write_decimal(struct short_decimal x, char *out) {
    char digits[24];
    x = strip_zeros(x);
    size_t n = digits_write(x.digits, digits);
    int point = x.exponent + (int)n;
    if (point > 16 || point < -3)
        return write_scientific(digits, n, point - 1, out);
    return write_plain(digits, n, point, out);
}

static size_t write_thousandths(uint64_t thousandths, char *out) {
    char *to = out + digits_write(thousandths / 1000, out);
    unsigned rest = (unsigned)(thousandths % 1000);
    *to++ = '.';
    *to++ = (char)('0' + rest / 100);
    *to = (char)('0' + rest / 10 % 10);
    to[1] = (char)('0' + rest % 10);
    return (size_t)(to - out) + (rest % 10 ? 2 : rest % 100 ? 1 : 0);
}

/* The double as a whole number of thousandths that reads back as it, if there is one. */
static inline bool as_thousandths(double magnitude, uint64_t *thousandths) {
    double scaled = magnitude * 1000.0;
    uint64_t nearest = (uint64_t)scaled;
    nearest += scaled - (double)nearest >= 0.5;
    *thousandths = nearest;
    return (double)nearest / 1000.0 == magnitude;
}

static size_t write_special(bool nan, char *out) {
    memcpy(out, nan ? "NaN" : "Infinity", nan ? 3 : 8);
    return nan ? 3 : 8;
}

static size_t write_magnitude(double magnitude, char *out) {
    uint64_t thousandths;
    if (magnitude < THOUSANDTHS_LIMIT && as_thousandths(magnitude, &thousandths))
        return write_thousandths(thousandths, out);
    if (magnitude < WHOLE_LIMIT && magnitude == (double)(uint64_t)magnitude) {
        size_t n = digits_write((uint64_t)magnitude, out);
        out[n] = '.';
        out[n + 1] = '0';
        return n + 2;
    }
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    int biased = (int)(bits >> 52);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (biased == 2047)
        return write_special(false, out);
    uint64_t significand = biased ? fraction | (uint64_t)1 << 52 : fraction;
    return write_decimal(shortest(significand, biased ? biased - 1075 : -1074, fraction == 0 && biased > 1), out);
}

size_t double_format(double value, char *out) {
    if (value != value)
        return write_special(true, out);
    if (!__builtin_signbit(value))
        return write_magnitude(value, out);
    *out = '-';
    return 1 + write_magnitude(-value, out + 1);
}
