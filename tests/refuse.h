/*
 * refuse.h - allocations that fail when a test wants them to.
 *
 * The linker sends the allocations of our objects (not those inside of other libraries) to the functions __wrap_...
 * below, which refuse the n-th one, or all from the n-th on. One program includes this once.
 */
#ifndef TESTS_REFUSE_H
#define TESTS_REFUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Allocations until one is refused; 0: none is. */
static atomic_long countdown;
static atomic_bool refused;
static atomic_bool lasting; /* all later ones are refused too */

static inline bool refuse(void) {
    if (atomic_load(&countdown) == 0)
        return false;
    long left = atomic_fetch_sub(&countdown, 1);
    if (left > 1)
        return false;
    atomic_store(&countdown, atomic_load(&lasting) ? 1 : 0);
    atomic_store(&refused, true);
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size) {
    return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return refuse() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size) {
    return refuse() ? NULL : __real_reallocarray(old, n, size);
}

char *__wrap_strdup(const char *text) {
    return refuse() ? NULL : __real_strdup(text);
}

static inline void refuse_from(long n, bool all) {
    atomic_store(&refused, false);
    atomic_store(&lasting, all);
    atomic_store(&countdown, n);
}

#endif
