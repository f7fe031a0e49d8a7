/*
 * atomic.h - atomic updates from rows of a kernel: sums, minima, maxima and flags of integers, with results independent
 * of the order. On the CPU, where tests run kernel functions on threads, compiler builtins implement them.
 */
#ifndef CUDA_ATOMIC_H
#define CUDA_ATOMIC_H

#include <stdint.h>

#include "columns/number.h"

SHARED void add_to(uint64_t *place, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)place, (unsigned long long)value);
#else
    __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
#endif
}

SHARED void add_to(uint32_t *place, uint32_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd(place, value);
#else
    __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
#endif
}

/* Returns the current value, which other rows may change concurrently. */
SHARED uint32_t current(const uint32_t *place) {
#ifdef __CUDA_ARCH__
    return *(const volatile uint32_t *)place;
#else
    return __atomic_load_n(place, __ATOMIC_RELAXED);
#endif
}

/* Sets bits. Skips the atomic operation if they are already set, to avoid contention. */
SHARED void set_bits(uint32_t *place, uint32_t bits) {
#ifdef __CUDA_ARCH__
    if ((*(volatile uint32_t *)place & bits) != bits)
        atomicOr(place, bits);
#else
    __atomic_fetch_or(place, bits, __ATOMIC_RELAXED);
#endif
}

SHARED void set_flag(uint8_t *place) {
#ifdef __CUDA_ARCH__
    *(volatile uint8_t *)place = 1;
#else
    __atomic_store_n(place, 1, __ATOMIC_RELAXED);
#endif
}

SHARED void keep_least(uint64_t *place, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicMin((unsigned long long *)place, (unsigned long long)value);
#else
    uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (value < now && !__atomic_compare_exchange_n(place, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
#endif
}

/* Returns whether `value` is the new minimum. */
SHARED bool keep_least(uint32_t *place, uint32_t value) {
#ifdef __CUDA_ARCH__
    return value < *(volatile uint32_t *)place && value < atomicMin(place, value);
#else
    uint32_t now = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (value < now && !__atomic_compare_exchange_n(place, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return value < now;
#endif
}

SHARED void keep_most(uint64_t *place, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicMax((unsigned long long *)place, (unsigned long long)value);
#else
    uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (value > now && !__atomic_compare_exchange_n(place, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
#endif
}

#endif
