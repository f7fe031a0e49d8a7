/*
 * message.c - writes lines to standard error, each with one call, so that lines of several programs do not mix.
 */
#include "cli/tool/message.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/tool/interrupt.h"

#define MESSAGE_MAX 4096

static void print(const char *kind, const char *format, va_list arguments) {
    char text[MESSAGE_MAX];
    interrupt_wait_if_ending();
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "sutra: %s%s\n", kind, text);
}

int message_fail(enum sutra_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print("", format, arguments);
    va_end(arguments);
    return (int)status;
}

int message_error(const struct sutra_error *error) {
    char text[sizeof error->file + sizeof error->message + 64];
    sutra_error_text(error, text, sizeof text);
    return message_fail(error->status, "%s", text);
}

void message_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print("warning: ", format, arguments);
    va_end(arguments);
}

void message_note(const char *text) {
    fprintf(stderr, "sutra: %s\n", text);
}
