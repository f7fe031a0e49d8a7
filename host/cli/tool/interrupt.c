/*
 * interrupt.c - remove half-written outputs when a signal ends the program.
 *
 * The only globals of the program: a signal handler has no other way to know the names. The handler may run at any
 * moment and on any thread, so a name is only written while `armed` is 0, and the handler only makes system calls that
 * are safe in a signal handler: it lists folders with getdents64, because opendir() allocates. Other threads may still
 * create files in the folder, so the handler repeats until the folder is gone; later creations fail.
 */
#include "cli/tool/interrupt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sutra/error.h"

#define DEPTH_MAX 8    /* folders in folders */
#define ATTEMPTS  1000 /* to empty a folder that other threads fill */

struct guarded {
    atomic_int armed;
    char path[PATH_MAX];
};

enum run_state { RUNNING, HELD, ENDING };

static struct guarded guarded[INTERRUPT_PLACES], guarded_folder, guarded_outer;
static atomic_int interrupt_state; /* enum run_state */
static atomic_int held_signal;     /* the signal that arrived while held, or 0 */

/* ---- Removal, safe in a signal handler ---- */

static void remove_folder(int parent, const char *name, int depth);

/* Removes the entries of one getdents64 call. */
static void remove_entries(int list, const char *entries, long size, int depth) {
    for (long at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(list, entry->d_name, 0))
            remove_folder(list, entry->d_name, depth + 1);
    }
}

static void remove_folder(int parent, const char *name, int depth) {
    _Alignas(struct dirent64) char entries[4096];
    int list = depth < DEPTH_MAX ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (list < 0)
        return;
    bool removed = false;
    for (int i = 0; i < ATTEMPTS && !removed; i++) {
        long size;
        lseek(list, 0, SEEK_SET);
        while ((size = syscall(SYS_getdents64, list, entries, sizeof entries)) > 0)
            remove_entries(list, entries, size, depth);
        removed = unlinkat(parent, name, AT_REMOVEDIR) == 0;
        if (!removed && errno != ENOTEMPTY && errno != EEXIST)
            break;
    }
    close(list);
}

static void remove_guarded(void) {
    for (size_t i = 0; i < INTERRUPT_PLACES; i++)
        if (atomic_exchange(&guarded[i].armed, 0))
            unlink(guarded[i].path);
    if (atomic_exchange(&guarded_folder.armed, 0))
        remove_folder(AT_FDCWD, guarded_folder.path, 0);
    if (atomic_exchange(&guarded_outer.armed, 0))
        rmdir(guarded_outer.path);
}

/* ---- Signals ---- */

/* Whether this thread is the one that ends the program. Other threads wait; while held, the signal waits. */
static bool begin_ending(int signal_number) {
    for (;;) {
        int expected = RUNNING;
        if (atomic_compare_exchange_strong(&interrupt_state, &expected, ENDING))
            return true;
        while (expected == ENDING)
            pause();
        atomic_store(&held_signal, signal_number);
        if (atomic_load(&interrupt_state) == HELD)
            return false;
    }
}

static void remove_and_end(int signal_number) {
    int error_number = errno;
    if (begin_ending(signal_number)) {
        remove_guarded();
        signal(signal_number, SIG_DFL);
        raise(signal_number); /* delivered when this handler returns */
    }
    errno = error_number;
}

/* An input is mapped, so another program that cuts it short takes pages away that we read, maybe on many threads at
 * once: the first one ends the program, and the others wait for that. */
static void end_cut_short(int signal_number) {
    static const char text[] = "sutra: another program truncated an input while sutra read it\n";
    (void)signal_number;
    while (atomic_exchange(&interrupt_state, ENDING) == ENDING)
        pause();
    remove_guarded();
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(SUTRA_INTERNAL);
    _exit(SUTRA_IO);
}

void interrupt_guard_start(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction end = {.sa_handler = remove_and_end, .sa_flags = SA_RESTART};
    struct sigaction cut_short = {.sa_handler = end_cut_short}, ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&end.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&end.sa_mask, signals[i]);
    cut_short.sa_mask = end.sa_mask;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &end, NULL);
    }
    sigaction(SIGBUS, &cut_short, NULL);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGXFSZ, &ignore, NULL);
}

void interrupt_hold(void) {
    int expected = RUNNING;
    if (!atomic_compare_exchange_strong(&interrupt_state, &expected, HELD))
        interrupt_wait_if_ending();
}

void interrupt_release(void) {
    int expected = HELD;
    atomic_compare_exchange_strong(&interrupt_state, &expected, RUNNING);
    int signal_number = atomic_exchange(&held_signal, 0);
    if (signal_number)
        raise(signal_number);
}

void interrupt_wait_if_ending(void) {
    while (atomic_load(&interrupt_state) == ENDING)
        pause();
}

/* ---- Names ---- */

static void arm(struct guarded *at, const char *path) {
    atomic_store(&at->armed, 0);
    if (!path || strlen(path) >= sizeof at->path)
        return;
    memcpy(at->path, path, strlen(path) + 1);
    atomic_store(&at->armed, 1);
}

void interrupt_guard_set_at(unsigned place, const char *path) {
    arm(&guarded[place], path);
}

void interrupt_guard_set(const char *path) {
    interrupt_guard_set_at(0, path);
}

void interrupt_guard_set_folder(const char *path, const char *outer) {
    arm(&guarded_folder, path);
    arm(&guarded_outer, outer);
}
