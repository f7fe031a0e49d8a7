/*
 * doubles.c - converts doubles to their shortest decimal text and back, and adds nanoseconds to decimal texts.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/shared.h"
#include "text/doubles.h"
#include "text/numbers.h"

/*
 * ---- The shortest decimal digits that read back as the same double, in the format of Python's repr ----
 *
 * Most doubles of a trace are integers or have up to three decimals; a multiplication and a division find those. All
 * others use Raffaello Giulietti's Schubfach method: the double and the borders of the interval that rounds to it are
 * multiplied by one 128-bit power of ten, so that the shortest decimal in the interval is one of four neighbours. The
 * result is the one closest to the double, at equal distance the even one. Three 64x128-bit products; the only loop
 * removes zeros.
 */

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
    /* The closest of the whole neighbours of scaled / 4. */
    uint64_t rest = scaled % 4;
    bool up = rest > 2 || (rest == 2 && (below & 1));
    return (struct short_decimal){below + up, k};
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

/* ddd00.0, dd.ddd or 0.00ddd; `point` is the position of the decimal point in the digits. */
static size_t write_fixed(const char *digits, size_t n, int point, char *out) {
    char *to = out;
    if (point <= 0) {
        *to++ = '0';
        *to++ = '.';
        memset(to, '0', (size_t)-point);
        to += -point;
        memcpy(to, digits, n);
        return (size_t)(to - out) + n;
    }
    size_t whole = MIN((size_t)point, n);
    memcpy(to, digits, whole);
    memset(to + whole, '0', (size_t)point - whole);
    to += point;
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
    if (x.digits % 100000000 == 0) {
        x.digits /= 100000000;
        x.exponent += 8;
    }
    while (x.digits % 10 == 0) {
        x.digits /= 10;
        x.exponent++;
    }
    size_t n = digits_write(x.digits, digits);
    int point = x.exponent + (int)n;
    if (point > 16 || point < -3)
        return write_scientific(digits, n, point - 1, out);
    return write_fixed(digits, n, point, out);
}

static size_t write_special(bool nan, char *out) {
    memcpy(out, nan ? "NaN" : "Infinity", nan ? 3 : 8);
    return nan ? 3 : 8;
}

static size_t write_magnitude(double magnitude, char *out) {
    if (magnitude < THOUSANDTHS_LIMIT) {
        double scaled = magnitude * 1000.0;
        uint64_t thousandths = (uint64_t)scaled;
        thousandths += scaled - (double)thousandths >= 0.5;
        if ((double)thousandths / 1000.0 == magnitude) {
            char *to = out + digits_write(thousandths / 1000, out);
            unsigned rest = (unsigned)(thousandths % 1000);
            *to++ = '.';
            *to++ = (char)('0' + rest / 100);
            *to = (char)('0' + rest / 10 % 10);
            to[1] = (char)('0' + rest % 10);
            return (size_t)(to - out) + (rest % 10 ? 2 : rest % 100 ? 1 : 0);
        }
    }
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

/*
 * ---- The double nearest to a decimal number of any length, ties to even ----
 *
 * Three methods, each used only if the previous one is not exact:
 * 1. digits below 2^53 and a power of ten that is a double: two exact operands, so one rounding (Clinger);
 * 2. up to 19 digits times a 128-bit power of ten, after Eisel and Lemire: the product is known to within two units of
 *    its 128 bits, and both ends of that range almost always round to the same double. Of a longer number the first 19
 *    digits are used, which widens the range by one unit of the last digit;
 * 3. else the two candidates are neighbours, and the number is compared exactly with the middle between them. Digits
 *    after the 770th matter only if they are not zero, so the integers of this comparison have a fixed size.
 * Linear in the length, no allocation, no locale.
 */

/* More significant digits than the middle of two neighbouring doubles has (768). */
#define DIGITS_KEPT 770

/* Decimal digits that always fit 64 bits. */
#define DOUBLE_PARSE_DIGITS_MAX 19

/* An exponent that no text in memory has the digits to bring back into range. */
#define EXPONENT_ENOUGH ((int64_t)1 << 56)

/* The largest power of five below 2^64. */
#define FIVE_TO_27 7450580596923828125u

/* value = digits * 10^exponent, or if `truncated` up to one more in the last digit. */
struct decimal {
    uint64_t digits;
    int64_t exponent;
    const char *first, *end; /* the mantissa's text from the first significant digit on, with its point */
    bool truncated;
};

/* ---- reading the text ---- */

/* Adds the digits from `text` up to the first other character, or to `end`, to a value before them (which may
 * overflow). Returns where they end; reads up to 8 bytes beyond that. */
static const char *read_digits(const char *text, const char *end, uint64_t *value) {
    while (text < end) {
        uint64_t word = word_load(text), others = word_not_digits(word);
        size_t n = others ? (size_t)__builtin_ctzll(others) / 8 : 8;
        if (n > (size_t)(end - text))
            n = (size_t)(end - text);
        if (n == 0)
            break;
        *value = digits_append(*value, word, n);
        text += n;
        if (n < 8)
            break;
    }
    return text;
}

/* The exponent after an "e"; values beyond EXPONENT_ENOUGH are not exact. */
static int64_t read_exponent(const char *text, const char *end) {
    bool negative = text < end && *text == '-';
    int64_t value = 0;
    for (text += text < end && (*text == '-' || *text == '+'); text < end && is_digit(*text); text++)
        if (value < EXPONENT_ENOUGH)
            value = value * 10 + (*text - '0');
    return negative ? -value : value;
}

/* More than 19 digits: leading zeros do not count, and digits after the 19th increase the exponent. */
static void read_first_digits(struct decimal *x, int64_t n_digits) {
    const char *text = x->first;
    for (; text < x->end && (*text == '0' || *text == '.'); text++)
        n_digits -= *text == '0';
    x->first = text;
    if (n_digits <= DOUBLE_PARSE_DIGITS_MAX)
        return;
    x->digits = 0;
    for (int n = 0; n < DOUBLE_PARSE_DIGITS_MAX; text++) {
        if (*text == '.')
            continue;
        x->digits = x->digits * 10 + (uint64_t)(*text - '0');
        n++;
    }
    x->exponent += n_digits - DOUBLE_PARSE_DIGITS_MAX;
    x->truncated = true;
}

static struct decimal read_decimal(const char *text, const char *end) {
    struct decimal x = {.first = text};
    const char *at = read_digits(text, end, &x.digits);
    int64_t n_digits = at - text;
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = read_digits(fraction, end, &x.digits);
        x.exponent = fraction - at;
        n_digits += at - fraction;
    }
    x.end = at;
    if (at < end)
        x.exponent += read_exponent(at + 1, end);
    if (n_digits > DOUBLE_PARSE_DIGITS_MAX)
        read_first_digits(&x, n_digits);
    return x;
}

/* ---- products of 128 bits ---- */

/* The upper 128 bits of digits * power: value = top * 2^exponent, too small by less than two units. */
struct product {
    wide top;
    int exponent;
};

static struct product multiply(uint64_t digits, int k) {
    struct power power = power_of_ten(k);
    int shift = __builtin_clzll(digits);
    digits <<= shift;
    wide low = (wide)digits * power.low;
    return (struct product){(wide)digits * power.high + (uint64_t)(low >> 64), 64 - shift + power_exponent(k)};
}

/* The bits of the double nearest to x. */
static uint64_t round_product(struct product x) {
    int zeros = x.top >> 127 ? 0 : 1;
    int binary = 127 - zeros + x.exponent; /* 2^binary <= value < 2^(binary + 1) */
    if (binary > 1023)
        return (uint64_t)2047 << 52;
    int kept = binary >= -1022 ? 53 : 53 + 1022 + binary;
    if (kept < 0)
        return 0;
    int dropped = 128 - zeros - kept;
    uint64_t significand = dropped < 128 ? (uint64_t)(x.top >> dropped) : 0;
    wide half = (wide)1 << (dropped - 1);
    wide rest = x.top & ((half << 1) - 1);
    significand += rest > half || (rest == half && (significand & 1));
    /* the hidden bit, and a carry out of the significand, add one to the exponent */
    return binary >= -1022 ? ((uint64_t)(binary + 1022) << 52) + significand : significand;
}

/* ---- exact comparison ---- */

/* Both sides of the comparison are nearly equal, and at most 10^771 or 2^54 * 5^1094: below 2^2700. */
#define BIG_LIMBS 48

struct big {
    size_t n;
    uint64_t limb[BIG_LIMBS]; /* lowest first, limb[n - 1] != 0 */
};

static void big_multiply_add(struct big *x, uint64_t factor, uint64_t carry) {
    for (size_t i = 0; i < x->n; i++) {
        wide sum = (wide)x->limb[i] * factor + carry;
        x->limb[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    if (carry)
        x->limb[x->n++] = carry;
}

static void big_multiply_power_of_5(struct big *x, int power) {
    for (; power >= 27; power -= 27)
        big_multiply_add(x, FIVE_TO_27, 0);
    uint64_t factor = 1;
    while (power-- > 0)
        factor *= 5;
    big_multiply_add(x, factor, 0);
}

static void big_shift(struct big *x, int shift) {
    size_t limbs = (size_t)shift / 64;
    big_multiply_add(x, (uint64_t)1 << shift % 64, 0);
    memmove(x->limb + limbs, x->limb, x->n * sizeof x->limb[0]);
    memset(x->limb, 0, limbs * sizeof x->limb[0]);
    x->n += limbs;
}

static int big_compare(const struct big *x, const struct big *y) {
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    for (size_t i = x->n; i-- > 0;)
        if (x->limb[i] != y->limb[i])
            return x->limb[i] < y->limb[i] ? -1 : 1;
    return 0;
}

/* All digits that matter, as an integer; returns the power of ten that it is to be multiplied with. */
static int big_from_decimal(struct big *big, const struct decimal *x) {
    *big = (struct big){.n = 1, .limb = {x->digits}};
    if (!x->truncated)
        return (int)x->exponent;
    *big = (struct big){0};
    int n = 0;
    const char *text = x->first;
    for (; text < x->end && n < DIGITS_KEPT; text++) {
        if (*text == '.')
            continue;
        big_multiply_add(big, 10, (uint64_t)(*text - '0'));
        n++;
    }
    while (text < x->end && (*text == '0' || *text == '.'))
        text++;
    if (text < x->end) {
        big_multiply_add(big, 10, 1);
        n++;
    }
    return (int)x->exponent + DOUBLE_PARSE_DIGITS_MAX - n;
}

/* Sign of x minus the middle between the double of `bits` and the next one up. */
static int compare_with_middle(const struct decimal *x, uint64_t bits) {
    int biased = (int)(bits >> 52);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    uint64_t significand = biased ? fraction | (uint64_t)1 << 52 : fraction;
    struct big number, middle = {.n = 1, .limb = {2 * significand + 1}};
    int ten = big_from_decimal(&number, x);
    int two = (biased ? biased : 1) - 1076; /* the middle is limb * 2^two */
    big_multiply_power_of_5(ten < 0 ? &middle : &number, ten < 0 ? -ten : ten);
    if (two >= ten)
        big_shift(&middle, two - ten);
    else
        big_shift(&number, ten - two);
    return big_compare(&number, &middle);
}

/* ---- putting it together ---- */

static double nearest(const struct decimal *x) {
    if (x->exponent < POWER_LEAST)
        return 0;
    if (x->exponent > 308)
        return (double)INFINITY;
    struct product lower = multiply(x->digits, (int)x->exponent), upper = lower;
    if (x->truncated)
        upper = multiply(x->digits + 1, (int)x->exponent);
    upper.top += 2;
    uint64_t low = round_product(lower), high = round_product(upper);
    if (low != high) {
        int order = compare_with_middle(x, low);
        low = order < 0 || (order == 0 && !(low & 1)) ? low : high;
    }
    double value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The powers of ten that are doubles. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double double_of_digits(uint64_t digits, int exponent) {
    struct decimal x = {.digits = digits, .exponent = exponent};
    return nearest(&x);
}

double double_parse(const char *text, size_t length) {
    const char *end = text + length;
    bool negative = length && *text == '-';
    text += negative;
    if (text < end && (*text == 'N' || *text == 'I'))
        return *text == 'N' ? (double)NAN : negative ? -(double)INFINITY : (double)INFINITY;
    struct decimal x = read_decimal(text, end);
    double magnitude = 0;
    if (x.digits == 0)
        magnitude = 0;
    else if (x.digits <= (uint64_t)1 << 53 && !x.truncated && x.exponent >= -22 && x.exponent <= 22)
        magnitude = x.exponent < 0 ? (double)x.digits / tens[-x.exponent] : (double)x.digits * tens[x.exponent];
    else
        magnitude = nearest(&x);
    return negative ? -magnitude : magnitude;
}

/* ---- Addition of nanoseconds to a decimal text ---- */

__extension__ typedef __int128 shifted_digits;
__extension__ typedef unsigned __int128 written_digits;

#define DECIMALS_MAX             15
#define DECIMAL_SHIFT_DIGITS_MAX 20 /* before the point */

/* A number as digits * 10^-decimals. */
struct shifted_number {
    shifted_digits digits;
    unsigned decimals;
};

/* False: too long, or not a plain decimal number. */
static bool read_plain(const char *text, size_t length, struct shifted_number *number) {
    size_t at = length > 0 && *text == '-', begin = at;
    *number = (struct shifted_number){0};
    for (; at < length && is_digit(text[at]) && at - begin <= DECIMAL_SHIFT_DIGITS_MAX; at++)
        number->digits = number->digits * 10 + (text[at] - '0');
    if (at == begin || at - begin > DECIMAL_SHIFT_DIGITS_MAX)
        return false;
    if (at < length && text[at] == '.')
        for (at++; at < length && is_digit(text[at]) && number->decimals <= DECIMALS_MAX; at++, number->decimals++)
            number->digits = number->digits * 10 + (text[at] - '0');
    number->digits = begin ? -number->digits : number->digits;
    return at == length && number->decimals <= DECIMALS_MAX;
}

size_t decimal_shift(const char *text, size_t length, int64_t ns, char *out) {
    struct shifted_number number;
    int64_t time_ns;
    bool is_time = ns != 0 && read_plain(text, length, &number);
    if (ns != 0 && !is_time && decimal_ns(text, length, &time_ns)) { /* an exponent, or too many decimals */
        number = (struct shifted_number){time_ns, 3};
        is_time = true;
    }
    if (!is_time) {
        memcpy(out, text, length);
        return length;
    }
    for (unsigned decimals = ns % 1000 ? 3 : 0; number.decimals < decimals; number.decimals++)
        number.digits *= 10;
    bool whole_us = number.decimals < 3;
    shifted_digits moved = whole_us ? ns / 1000 : ns;
    for (unsigned i = whole_us ? 0 : 3; i < number.decimals; i++)
        moved *= 10;
    number.digits += moved;
    /* Write the digits, from the last to the first. */
    char reversed[DECIMAL_SHIFT_ROOM];
    size_t n = 0, n_out = 0;
    bool negative = number.digits < 0;
    written_digits rest = negative ? -(written_digits)number.digits : (written_digits)number.digits;
    for (unsigned i = 0; rest > 0 || i <= number.decimals; i++, rest /= 10) {
        if (i > 0 && i == number.decimals)
            reversed[n++] = '.';
        reversed[n++] = (char)('0' + (int)(rest % 10));
    }
    if (negative)
        out[n_out++] = '-';
    while (n > 0)
        out[n_out++] = reversed[--n];
    return n_out;
}
