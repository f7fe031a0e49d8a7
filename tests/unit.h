/*
 * unit.h - cmocka with the headers that it requires, standard headers of most tests, and JSON with ' for ".
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

/* A copy with " for each ', so that JSON in C strings needs no escapes; the caller frees it. */
static inline char *double_quotes(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    return copy;
}

#endif
