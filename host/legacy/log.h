/*
 * log.h - the log lines of the older program, assembled in pieces and passed to the caller.
 *
 * log_end() ends a line. Without a callback, the functions do nothing.
 */
#ifndef LEGACY_LOG_H
#define LEGACY_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "columns/numbers.h"
#include "sutra/legacy.h"

/* The owner frees the text. */
struct legacy_log {
    void (*line)(void *arg, enum sutra_legacy_line kind, const char *text, size_t length);
    void *arg;
    struct buffer text;
};

__attribute__((format(printf, 2, 3))) void log_text(struct legacy_log *log, const char *format, ...);
void log_bytes(struct legacy_log *log, const char *bytes, size_t n);

/* Appends a number as Python's str() formats it. */
void log_number(struct legacy_log *log, struct number number);

/* Passes the line to the callback. Lines without memory are skipped. */
void log_end(struct legacy_log *log, enum sutra_legacy_line kind);

/* Ends a line with this text, as SUTRA_LEGACY_INFO. */
__attribute__((format(printf, 2, 3))) void log_info(struct legacy_log *log, const char *format, ...);

#endif
