/*
 * interrupt.c - removes temporary files when a signal ends the program.
 *
 * The file names are the program's only global variables: a signal handler has no other access to them. The handler may
 * run at any time on any thread. A name is therefore only written while `armed` is 0, and the handler only calls
 * async-signal-safe functions.
 */
#include "cli/tool/interrupt.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sutra/error.h"

struct guarded {
    atomic_int armed;
    char path[PATH_MAX];
};

static struct guarded guarded[INTERRUPT_PLACES];
static atomic_int is_ending;

static void remove_guarded(void) {
    for (size_t i = 0; i < INTERRUPT_PLACES; i++)
        if (atomic_exchange(&guarded[i].armed, 0))
            unlink(guarded[i].path);
}

static void remove_and_end(int signal_number) {
    remove_guarded();
    /* SA_RESETHAND has put the default action back; the signal is delivered when this handler returns. */
    raise(signal_number);
}

/* An input is mapped, so another program that cuts it short takes pages away that we read, maybe on many threads at
 * once: the first one ends the program, and the others wait for that. */
static void end_cut_short(int signal_number) {
    static const char text[] = "sutra: an input was cut short by another program while it was read\n";
    (void)signal_number;
    while (atomic_exchange(&is_ending, 1))
        pause();
    remove_guarded();
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(SUTRA_INTERNAL);
    _exit(SUTRA_IO);
}

void interrupt_guard_start(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old, action = {.sa_handler = remove_and_end, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    struct sigaction action = {.sa_handler = end_cut_short}, ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGXFSZ, &ignore, NULL);
}

void interrupt_guard_set_at(unsigned place, const char *path) {
    struct guarded *at = &guarded[place];
    atomic_store(&at->armed, 0);
    if (!path || strlen(path) >= sizeof at->path)
        return;
    memcpy(at->path, path, strlen(path) + 1);
    atomic_store(&at->armed, 1);
}

void interrupt_guard_set(const char *path) {
    interrupt_guard_set_at(0, path);
}
