/*
 * bits.h - how many bits numbers take, for sorts that go through no more bits than they must.
 */
#ifndef CUDA_BITS_H
#define CUDA_BITS_H

#include <stdint.h>

/* Bits of a number; 0 for 0. */
static inline unsigned bits_of(uint64_t value) {
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

#endif
