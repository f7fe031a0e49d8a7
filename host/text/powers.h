/*
 * powers.h - powers of ten as 128-bit binary fractions, for reading and writing doubles.
 *
 * power_of_ten(k) is p with p * 2^e <= 10^k < (p + 1) * 2^e, where e = power_exponent(k) puts p's highest bit at 127.
 * It is exact for 0 <= k <= 55.
 */
#ifndef TEXT_POWERS_H
#define TEXT_POWERS_H

#include <stdint.h>

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
