/*
 * bits.h - bit width of numbers, to limit radix sorts to significant bits.
 */
#ifndef CUDA_BITS_H
#define CUDA_BITS_H

#include <stdint.h>

/* Returns the bit width; 0 for 0. */
static inline unsigned bits_of(uint64_t value) {
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

#endif
