/*
 * atomic.h - what rows may do to one place together: sums, extremes and flags of integers, which come out the same in
 * any order. On the CPU, where tests run the kernels' functions on threads, the compiler's own atomics do it.
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

/* What is there now, while other rows may change it. */
SHARED uint32_t current(const uint32_t *place) {
#ifdef __CUDA_ARCH__
    return *(const volatile uint32_t *)place;
#else
    return __atomic_load_n(place, __ATOMIC_RELAXED);
#endif
}

/* Sets bits; rows that find them set do not wait for each other. */
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

/* Whether the value is the least so far. */
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
