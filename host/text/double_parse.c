/*
 * double_parse.c - the double nearest to a decimal number, ties to even, whatever the number's length.
 *
 * Three ways, each tried only where the one before cannot be sure:
 * 1. digits below 2^53 and a power of ten that is a double: one exact operand each, so one rounding (Clinger);
 * 2. up to 19 digits times a 128-bit power of ten, after Eisel and Lemire: the product is known to within two units of
 *    its 128 bits, and both ends of that range nearly always round to the same double. Of a longer number the first 19
 *    digits are taken, which widens the range by one unit of the last digit;
 * 3. else the two candidates are neighbours, and the number is compared exactly with the middle between them. Digits
 *    beyond the 770th matter only by not being zero, so the integers of that comparison have a fixed size.
 * Linear in the length, no memory, no locale.
 */
#include "text/digits.h"
#include "text/number_text.h"
#include "text/powers.h"

#include <math.h>
#include <string.h>

/* More significant digits than the middle of two neighbouring doubles has (768). */
#define DIGITS_KEPT 770

/* Decimal digits that always fit 64 bits. */
#define DIGITS_MAX 19

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

/* The exponent behind an "e"; what exceeds EXPONENT_ENOUGH may come out as anything else that does. */
static int64_t read_exponent(const char *text, const char *end) {
    bool negative = text < end && *text == '-';
    int64_t value = 0;
    for (text += text < end && (*text == '-' || *text == '+'); text < end && is_digit(*text); text++)
        if (value < EXPONENT_ENOUGH)
            value = value * 10 + (*text - '0');
    return negative ? -value : value;
}

/* More than 19 digits: leading zeros do not count, and those behind the 19th move the exponent. */
static void read_first_digits(struct decimal *x, int64_t n_digits) {
    const char *text = x->first;
    for (; text < x->end && (*text == '0' || *text == '.'); text++)
        n_digits -= *text == '0';
    x->first = text;
    if (n_digits <= DIGITS_MAX)
        return;
    x->digits = 0;
    for (int n = 0; n < DIGITS_MAX; text++) {
        if (*text == '.')
            continue;
        x->digits = x->digits * 10 + (uint64_t)(*text - '0');
        n++;
    }
    x->exponent += n_digits - DIGITS_MAX;
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
    if (n_digits > DIGITS_MAX)
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
    return (int)x->exponent + DIGITS_MAX - n;
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

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double nearest(const struct decimal *x) {
    if (x->exponent < POWER_LEAST)
        return 0;
    if (x->exponent > 308)
        return (double)INFINITY;
    struct product least = multiply(x->digits, (int)x->exponent), most = least;
    if (x->truncated)
        most = multiply(x->digits + 1, (int)x->exponent);
    most.top += 2;
    uint64_t low = round_product(least), high = round_product(most);
    if (low == high)
        return from_bits(low);
    int order = compare_with_middle(x, low);
    return from_bits(order < 0 || (order == 0 && !(low & 1)) ? low : high);
}

/* The powers of ten that are doubles. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double double_of_digits(uint64_t digits, int exponent) {
    struct decimal x = {.digits = digits, .exponent = exponent};
    return nearest(&x);
}

static double magnitude_parse(const char *text, const char *end) {
    struct decimal x = read_decimal(text, end);
    if (x.digits == 0)
        return 0;
    if (x.digits <= (uint64_t)1 << 53 && !x.truncated && x.exponent >= -22 && x.exponent <= 22)
        return x.exponent < 0 ? (double)x.digits / tens[-x.exponent] : (double)x.digits * tens[x.exponent];
    return nearest(&x);
}

double double_parse(const char *text, size_t length) {
    const char *end = text + length;
    bool negative = length && *text == '-';
    text += negative;
    if (text < end && (*text == 'N' || *text == 'I'))
        return *text == 'N' ? (double)NAN : negative ? -(double)INFINITY : (double)INFINITY;
    double magnitude = magnitude_parse(text, end);
    return negative ? -magnitude : magnitude;
}
