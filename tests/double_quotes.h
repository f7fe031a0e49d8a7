/*
 * double_quotes.h - JSON with ' for ", which reads better in C strings; included after cmocka.h.
 */
#ifndef TESTS_DOUBLE_QUOTES_H
#define TESTS_DOUBLE_QUOTES_H

#include <string.h>

/* A copy with " for each '; the caller frees it. */
static inline char *double_quotes(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    return copy;
}

#endif
