/*
 * unit.h - cmocka with the headers that it requires, standard headers of most tests, contexts, and JSON with ' for ".
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sutra/context.h"

/* A context with some members of struct sutra_context_options: NEW_CONTEXT(.n_threads = 2). */
#define NEW_CONTEXT(...)                                                                                               \
    create_context(&(struct sutra_context_options){.size = sizeof(struct sutra_context_options), __VA_ARGS__})

static inline struct sutra_context *create_context(const struct sutra_context_options *options) {
    struct sutra_context *made = NULL;
    assert_int_equal(sutra_context_create(options, &made, NULL), SUTRA_OK);
    return made;
}

/* A copy with " for each ', so that JSON in C strings needs no escapes; the caller frees it. */
static inline char *double_quotes(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    return copy;
}

#endif
