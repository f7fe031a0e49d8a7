/*
 * error.h - filling a struct sutra_error.
 *
 * All of them return the status that they set, so that a caller can `return error_set(...)`. `error` may be NULL.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/error.h"

/* An error without a position. */
__attribute__((format(printf, 3, 4))) enum sutra_status error_set(struct sutra_error *error, enum sutra_status status,
                                                                  const char *format, ...);

/* An error that concerns a file as a whole. */
__attribute__((format(printf, 4, 5))) enum sutra_status error_file(struct sutra_error *error, enum sutra_status status,
                                                                   const char *file, const char *format, ...);

/* Gives the file to an error about data that names none yet; returns `status`. */
enum sutra_status error_name_file(struct sutra_error *error, enum sutra_status status, const char *file);

/* Hands on what was noted elsewhere, as by another thread; returns `status`, and does nothing where that is
 * SUTRA_OK. */
static inline enum sutra_status error_hand_on(struct sutra_error *error, enum sutra_status status,
                                              const struct sutra_error *noted) {
    if (status && error)
        *error = *noted;
    return status;
}

/* SUTRA_SYSTEM, "out of memory". Inline, so that analysers see that it never is success. */
static inline enum sutra_status error_memory(struct sutra_error *error) {
    error_set(error, SUTRA_SYSTEM, "out of memory");
    return SUTRA_SYSTEM;
}

#endif
