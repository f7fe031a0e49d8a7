/*
 * interrupt.h - no half-written file is left when the program is interrupted.
 *
 * One temporary file at a time can be registered; SIGINT, SIGTERM and SIGHUP remove it and then end the program as they
 * would have (so that a shell sees 130 or 143). SIGPIPE is left as it is: `sutra link ... -o - | head` ends quietly.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* Installs the handlers; a signal that the caller of the program had ignored stays ignored. */
void interrupt_guard_start(void);

/* Registers the file to remove, or none (NULL). The name is copied; one that is too long is not registered. Call it
 * after the file was made, and with NULL before it is renamed. */
void interrupt_guard_set(const char *path);

#endif
