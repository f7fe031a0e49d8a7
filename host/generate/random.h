/*
 * random.h - random numbers of synthetic traces, tables and tests, the same on every machine: splitmix64, and
 * xorshift64* for tables of operators.
 *
 * splitmix64 steps a 64-bit counter by the golden ratio and mixes its bits. A number costs two multiplications.
 */
#ifndef GENERATE_RANDOM_H
#define GENERATE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A number in [0, n), n below 2^32; the bias of the multiplication does not matter here. */
static inline uint32_t random_below(struct random *random, uint32_t n) {
    return (uint32_t)((random_next(random) >> 32) * n >> 32);
}

/* A number in [low, high]. */
static inline int64_t random_between(struct random *random, uint32_t low, uint32_t high) {
    return (int64_t)low + random_below(random, high - low + 1);
}

/* xorshift64*; the state is not 0. */
static inline uint64_t xorshift_next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* A number in [0, limit), limit at most 2^31 for all values. */
static inline int64_t xorshift_below(uint64_t *state, int64_t limit) {
    return (int64_t)(xorshift_next(state) >> 33) % limit;
}

#endif
