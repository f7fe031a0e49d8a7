/*
 * log.h - the lines that the older program logs, put together piece by piece and handed to the caller.
 *
 * A line is begun by its first piece and ended by log_end(). Without a callback nothing is done at all.
 */
#ifndef LEGACY_LOG_H
#define LEGACY_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "columns/numbers.h"
#include "sutra/legacy.h"

/* The text is the owner's to free. */
struct legacy_log {
    void (*line)(void *arg, enum sutra_legacy_line kind, const char *text, size_t length);
    void *arg;
    struct buffer text;
};

__attribute__((format(printf, 2, 3))) void log_text(struct legacy_log *log, const char *format, ...);
void log_bytes(struct legacy_log *log, const char *bytes, size_t n);

/* A number as Python's str() has it. */
void log_number(struct legacy_log *log, struct number number);

/* Hands the line over. Lines that found no memory are left out. */
void log_end(struct legacy_log *log, enum sutra_legacy_line kind);

/* Ends a line with this text, and hands it over as SUTRA_LEGACY_INFO. */
__attribute__((format(printf, 2, 3))) void log_info(struct legacy_log *log, const char *format, ...);

#endif
