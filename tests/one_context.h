/*
 * one_context.h - one context with one thread for all tests of a program.
 *
 *     cmocka_run_group_tests(tests, make_context, free_context)
 */
#ifndef TESTS_ONE_CONTEXT_H
#define TESTS_ONE_CONTEXT_H

#include "sutra/sutra.h"

static struct sutra_context *context;

static inline int make_context(void **state) {
    (void)state;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    return (int)sutra_context_create(&options, &context, NULL);
}

static inline int free_context(void **state) {
    (void)state;
    sutra_context_free(context);
    return 0;
}

#endif
