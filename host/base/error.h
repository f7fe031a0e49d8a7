/*
 * error.h - fills struct sutra_error.
 *
 * Each function returns the status that it sets, so that a caller can `return error_set(...)`. `error` may be NULL.
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

/* A failed system call with this errno: "WHAT: No such file or directory", or without WHAT if it is "". */
enum sutra_status error_os(struct sutra_error *error, enum sutra_status status, const char *file, int os_error,
                           const char *what);

/* Adds the file name to an error about data without one; returns `status`. */
enum sutra_status error_name_file(struct sutra_error *error, enum sutra_status status, const char *file);

/* Copies an error of another thread; returns `status`, and does nothing for SUTRA_OK. */
static inline enum sutra_status error_copy(struct sutra_error *error, enum sutra_status status,
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

/* Returns the status of a call that failed. For functions that own nothing to release when they return: their memory is
 * in an arena, or the caller frees their outputs. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const enum sutra_status try_status = (call);                                                                   \
        if (try_status)                                                                                                \
            return try_status;                                                                                         \
    } while (0)

/* Returns SUTRA_SYSTEM, "out of memory", unless a pointer or a bool says that the memory could be had. For the same
 * functions as TRY(). */
#define TRY_ALLOC(ok, error)                                                                                           \
    do {                                                                                                               \
        if (!(ok))                                                                                                     \
            return error_memory(error);                                                                                \
    } while (0)

#endif
