/*
 * fuzz.h - what fuzz targets share: stopping at a broken promise, and inputs with the padding that text functions need.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_PADDING 64 /* text functions may read so far past the end */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds, const char *promise) {
    if (holds)
        return;
    fprintf(stderr, "broken promise: %s\n", promise);
    abort();
}

/* Room for `size` bytes and not one more, so that AddressSanitizer sees the first that is too many. */
static inline char *new_bytes(size_t size) {
    char *bytes = malloc(size ? size : 1);
    check(bytes, "memory");
    return bytes;
}

/* A copy that is followed by zeros; to be freed. */
static inline char *padded_copy(const void *bytes, size_t size) {
    char *copy = new_bytes(size + FUZZ_PADDING);
    if (size)
        memcpy(copy, bytes, size);
    memset(copy + size, 0, FUZZ_PADDING);
    return copy;
}

static inline bool same_bytes(const char *a, size_t a_length, const char *b, size_t b_length) {
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

#endif
