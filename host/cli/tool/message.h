/*
 * message.h - write errors ("sutra: ...") and warnings ("sutra: warning: ...") to standard error.
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "sutra/error.h"

/* Prints one line and returns `status`, so that a command can `return message_fail(...)`. */
__attribute__((format(printf, 2, 3))) int message_fail(enum sutra_status status, const char *format, ...);

/* The line of a library's error; returns its status. */
int message_error(const struct sutra_error *error);

__attribute__((format(printf, 1, 2))) void message_warn(const char *format, ...);
void message_note(const char *text);

#endif
