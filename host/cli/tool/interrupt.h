/*
 * interrupt.h - no half-written file is left when the program is interrupted.
 *
 * A temporary file for each thread at a time can be registered; SIGINT, SIGTERM and SIGHUP remove them and then end the
 * program as they would have (so that a shell sees 130 or 143). SIGPIPE is left as it is: `sutra link ... -o - | head`
 * ends quietly. A file that grows beyond what is allowed (SIGXFSZ) is an error of that write.
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
