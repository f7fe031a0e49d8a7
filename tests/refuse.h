/*
 * refuse.h - allocations that fail on request.
 *
 * The linker redirects the allocations of sutra's objects (not of other libraries) to the functions __wrap_... below.
 * They fail the n-th allocation, or all from the n-th on. Included once per program.
 *
 * refuse_each() repeats an operation, each time failing the next allocation; the operation must return SUTRA_OK or
 * SUTRA_SYSTEM.
 */
#ifndef TESTS_REFUSE_H
#define TESTS_REFUSE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sutra/error.h"

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

struct refusable {
    void *arg;
    enum sutra_status (*work)(void *arg, struct sutra_error *error);
    /* Looks at what the work left behind, without its n-th allocation, and takes that away. */
    void (*check)(void *arg, long n, enum sutra_status status);
};

/* Refuses each allocation in turn (or all from it on) until the work needs no more; returns how many there were. */
static inline long refuse_each(const struct refusable *refusable, bool all) {
    for (long n = 1;; n++) {
        struct sutra_error error = {0};
        refuse_from(n, all);
        enum sutra_status status = refusable->work(refusable->arg, &error);
        bool was_refused = atomic_load(&refused);
        refuse_from(0, false);
        if (status != SUTRA_OK && (status != SUTRA_SYSTEM || error.status != SUTRA_SYSTEM))
            fail_msg("allocation %ld: status %d, %s", n, status, error.message);
        refusable->check(refusable->arg, n, status);
        if (!was_refused)
            return n - 1;
    }
}

#endif
