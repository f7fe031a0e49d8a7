/*
 * unit.h - cmocka with the headers that it requires, standard headers of most tests, contexts, temporary files, and
 * JSON with ' for ".
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
#include <unistd.h>

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

/* Creates a file of this text; `path` ends with XXXXXX. */
static inline void make_temp_file(char *path, const char *text) {
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

/* The bytes of a file, and a 0, which the caller frees. `length` may be NULL. */
static inline char *file_text(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t n = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(n + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, n, file), n);
    fclose(file);
    if (length)
        *length = n;
    return text;
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
