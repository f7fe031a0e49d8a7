/*
 * log.c - putting lines together.
 */
#include "legacy/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "text/number_text.h"

static void add_text(struct legacy_log *log, const char *format, va_list list) {
    char text[512];
    int n = vsnprintf(text, sizeof text, format, list);
    if (n > 0)
        buffer_append(&log->text, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void log_text(struct legacy_log *log, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (log->line)
        add_text(log, format, list);
    va_end(list);
}

void log_info(struct legacy_log *log, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (log->line)
        add_text(log, format, list);
    va_end(list);
    log_end(log, SUTRA_LEGACY_INFO);
}

void log_bytes(struct legacy_log *log, const char *bytes, size_t n) {
    if (log->line)
        buffer_append(&log->text, bytes, n);
}

void log_number(struct legacy_log *log, struct number number) {
    char text[NUMBER_TEXT_MAX];
    if (number.kind == NUMBER_BOOLEAN)
        log_text(log, "%s", number.bits ? "True" : "False");
    else
        log_bytes(log, text,
                  number.kind == NUMBER_DOUBLE ? double_format(number_as_double(number), text)
                                               : integer_format((int64_t)number.bits, text));
}

void log_end(struct legacy_log *log, enum sutra_legacy_line kind) {
    if (log->line && !log->text.failed)
        log->line(log->arg, kind, log->text.bytes, log->text.length);
    log->text.length = 0;
    log->text.failed = false;
}
