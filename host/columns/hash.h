/*
 * hash.h - a hash of bytes for our own tables: two multiplications for up to 16 bytes, one more for each further 16.
 *
 * Not meant to withstand an adversary beyond what tables need: they compare bytes after the hash, and grow by load.
 */
#ifndef COLUMNS_HASH_H
#define COLUMNS_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_fold(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_load(const void *bytes, size_t n) {
    uint64_t word = 0;
    memcpy(&word, bytes, n);
    return word;
}

static inline uint64_t hash_bytes(const void *bytes, size_t n) {
    const char *p = bytes;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ n;
    for (; n > 16; n -= 16, p += 16)
        hash = hash_fold(hash_load(p, 8) ^ 0xa0761d6478bd642fu, hash_load(p + 8, 8) ^ hash);
    uint64_t a, b = 0;
    if (n >= 8) {
        a = hash_load(p, 8);
        b = hash_load(p + n - 8, 8);
    } else {
        a = hash_load(p, n);
    }
    hash = hash_fold(a ^ 0xe7037ed1a0b428dbu, b ^ hash);
    return hash_fold(hash, 0x8ebc6af09c88c6e3u);
}

#endif
