/*
 * interrupt.h - remove half-written outputs when a signal ends the program.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGPIPE remove the registered temporary files and the registered folder, then end the
 * program with their default action: a shell sees 130, 143, 129 or 141. A write that exceeds the file size limit
 * (SIGXFSZ) is an error of that write.
 *
 *     running --hold--> held (a signal waits) --release--> running --signal--> ending (all other threads wait)
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* Installs the handlers; a signal that the caller of the program had ignored stays ignored. */
void interrupt_guard_start(void);

/* Registers the file to remove at one of these places, or none (NULL). The name is copied; one that is too long is not
 * registered. */
enum { INTERRUPT_PLACES = 257 };
void interrupt_guard_set_at(unsigned place, const char *path);
void interrupt_guard_set(const char *path); /* at place 0 */

/* Registers the folder to remove with its contents, or none (NULL). `outer` (may be NULL) is the folder to remove
 * afterwards if it is empty. Both names are copied. */
void interrupt_guard_set_folder(const char *path, const char *outer);

/* Between these calls a signal waits: for steps that must be complete or not begun. They do not nest. */
void interrupt_hold(void);
void interrupt_release(void);

/* Never returns while a signal ends the program, so that no other thread reports an error about a removed file or
 * changes the exit status. */
void interrupt_wait_if_ending(void);

#endif
