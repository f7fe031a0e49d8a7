/*
 * interrupt.h - remove temporary files when a signal ends the program.
 *
 * Each thread can register one temporary file at a time. SIGINT, SIGTERM and SIGHUP remove these files and then end the
 * program with their default action (exit codes 130 and 143 in a shell). SIGPIPE is unchanged, so `sutra link ... -o -
 * | head` ends without a message. A file that exceeds the size limit (SIGXFSZ) makes that write fail.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* Installs the handlers; a signal that the caller of the program had ignored stays ignored. */
void interrupt_guard_start(void);

/* Registers the file to remove at one of these places, or none (NULL). The name is copied; one that is too long is not
 * registered. */
enum { INTERRUPT_PLACES = 257 };
void interrupt_guard_set_at(unsigned place, const char *path);
void interrupt_guard_set(const char *path); /* at place 0 */

#endif
