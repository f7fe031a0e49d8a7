/*
 * progress.h - progress bar of a command on the terminal.
 *
 *     [##############..........................]  35%, 12 s left: read host trace
 *
 * One line for all stages of a command, redrawn in place. The command's table has each stage's usual share of the time.
 * Finished stages and these shares give the progress; progress and elapsed time give the remaining time. Nothing is
 * drawn in the first 0.5 s, or if standard error is not a terminal that can redraw lines (TERM is dumb or unset). Clear
 * the bar before printing other lines.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Remove half-written outputs when a signal ends the program.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGPIPE remove the registered temporary files, the registered folder, and created folders
 * that are empty, then end the program with their default action: a shell sees 130, 143, 129 or 141. A write that
 * exceeds the file size limit (SIGXFSZ) is an error of that write.
 *
 *     running --hold--> held (a signal waits) --release--> running --signal--> ending (all other threads wait)
 */

/* Installs the handlers; a signal that the caller of the program had ignored stays ignored. */
void interrupt_guard_start(void);

/* Registers the file to remove in one of these slots, or none (NULL). The name is copied; a name that is too long is
 * not registered. */
enum { INTERRUPT_SLOTS = 257 };
void interrupt_guard_set_at(unsigned slot, const char *path);
void interrupt_guard_set(const char *path); /* in slot 0 */
/* The same as a callback for temporary files of the library. */
void interrupt_guard_callback(void *arg, const char *path);

/* Registers the folder to remove with its contents, or none (NULL). The name is copied. */
void interrupt_guard_set_folder(const char *path);

/* Registers a folder that this run has created: it is removed if the run ends without a result in it, by a signal or by
 * command_run() with interrupt_guard_remove_empty(). Folders beyond a limit are not registered. */
void interrupt_guard_add_created(const char *path);
void interrupt_guard_remove_empty(void);

/* Between these calls a signal waits: for steps that must be complete or not begun. They nest. */
void interrupt_hold(void);
void interrupt_release(void);

/* Never returns while a signal ends the program, so that no other thread reports an error about a removed file or
 * changes the exit status. */
void interrupt_wait_if_ending(void);

/* A stage of a command. Tables list stages in their order and end without a name; skipped stages do not count. */
struct stage_share {
    const char *stage;
    double share; /* of the time, in any unit */
    bool each;    /* runs once per input */
};

/* The stages that read a "host trace" or "device trace". */
#define STAGES_READ(trace, share)                                                                                      \
    {"open " trace, (share)*0.05, false}, {"index " trace, (share)*0.15, false}, {"read " trace, (share)*0.7, false},  \
    {                                                                                                                  \
        "join " trace, (share)*0.1, false                                                                              \
    }

struct progress {
    bool is_enabled;
    bool is_drawn; /* the terminal shows a bar */
    double begin, last;
    const struct stage_share *stages; /* NULL: only the current stage is shown */
    size_t n_inputs;
    uint64_t begun;          /* a bit for each of the first 64 stages */
    size_t current, n_ended; /* current stage, and how often it has ended */
    bool has_ended;          /* the current stage has ended */
};

/* `enabled`: false never draws. */
struct progress progress_start(bool enabled, const struct stage_share *stages, size_t n_inputs);
void progress_update(struct progress *progress, const char *stage, uint64_t done, uint64_t total);
/* Prints words in place of the bar. */
void progress_line(struct progress *progress, const char *words);
void progress_clear(struct progress *progress);

#endif
