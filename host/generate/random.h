/*
 * random.h - random numbers of synthetic traces and tests.
 *
 * The splitmix64 sequence, the same on every machine: a 64-bit counter, stepped by the golden ratio and mixed. A number
 * costs two multiplications.
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

#endif
