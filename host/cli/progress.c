/*
 * progress.c - removes incomplete outputs at a signal, and draws a progress bar: one write per redraw, at most 20 times
 * per second.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/threads.h"
#include "cli/progress.h"
#include "sutra/error.h"

/*
 * Remove half-written outputs when a signal ends the program.
 *
 * The only globals of the program: a signal handler has no other way to know the names. The handler may run at any
 * moment and on any thread, so a name is only written while `armed` is 0, and the handler only makes system calls that
 * are safe in a signal handler: it lists folders with getdents64, because opendir() allocates. Other threads may still
 * create files in the folder, so the handler repeats until the folder is gone; later creations fail.
 */

#define FOLDER_DEPTH_MAX 8    /* folders in folders */
#define ATTEMPTS         1000 /* to empty a folder that other threads fill */
#define CREATED_MAX      8    /* folders that a run creates: outputs, and folders in them */

struct file_to_remove {
    atomic_int armed;
    char path[PATH_MAX];
};

enum run_state { RUNNING, HELD, ENDING };

static struct file_to_remove file_to_remove[INTERRUPT_SLOTS], guarded_folder, created[CREATED_MAX];
static unsigned n_created;
static atomic_int interrupt_state; /* enum run_state */
static atomic_int held_signal;     /* the signal that arrived while held, or 0 */
static atomic_int n_holds;         /* calls of interrupt_hold() without a release */

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
    int list = depth < FOLDER_DEPTH_MAX ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
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

/* Folders in folders are created last. */
void interrupt_guard_remove_empty(void) {
    for (size_t i = CREATED_MAX; i-- > 0;)
        if (atomic_exchange(&created[i].armed, 0))
            rmdir(created[i].path);
}

static void remove_guarded(void) {
    for (size_t i = 0; i < INTERRUPT_SLOTS; i++)
        if (atomic_exchange(&file_to_remove[i].armed, 0))
            unlink(file_to_remove[i].path);
    if (atomic_exchange(&guarded_folder.armed, 0))
        remove_folder(AT_FDCWD, guarded_folder.path, 0);
    interrupt_guard_remove_empty();
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

/* Inputs are mapped: if another program truncates one, reading its pages raises SIGBUS, possibly on many threads at
 * once. The first thread ends the program, the others wait. */
static void end_on_truncation(int signal_number) {
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
    struct sigaction truncated = {.sa_handler = end_on_truncation}, ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&end.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&end.sa_mask, signals[i]);
    truncated.sa_mask = end.sa_mask;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &end, NULL);
    }
    sigaction(SIGBUS, &truncated, NULL);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGXFSZ, &ignore, NULL);
}

void interrupt_hold(void) {
    int expected = RUNNING;
    if (atomic_fetch_add(&n_holds, 1) == 0 && !atomic_compare_exchange_strong(&interrupt_state, &expected, HELD))
        interrupt_wait_if_ending();
}

void interrupt_release(void) {
    int expected = HELD;
    if (atomic_fetch_sub(&n_holds, 1) > 1)
        return;
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

static void arm(struct file_to_remove *at, const char *path) {
    atomic_store(&at->armed, 0);
    if (!path || strlen(path) >= sizeof at->path)
        return;
    memcpy(at->path, path, strlen(path) + 1);
    atomic_store(&at->armed, 1);
}

void interrupt_guard_set_at(unsigned slot, const char *path) {
    arm(&file_to_remove[slot], path);
}

void interrupt_guard_set(const char *path) {
    interrupt_guard_set_at(0, path);
}

void interrupt_guard_callback(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set(path);
}

void interrupt_guard_set_folder(const char *path) {
    arm(&guarded_folder, path);
}

void interrupt_guard_add_created(const char *path) {
    if (n_created < CREATED_MAX)
        arm(&created[n_created++], path);
}

/* ---- Progress ---- */

#define QUIET_SECONDS    0.5
#define REDRAW_SECONDS   0.05
#define LABEL_MAX        24
#define ESTIMATE_SECONDS 1.0  /* the remaining time is not estimated earlier, */
#define ESTIMATE_PART    0.05 /* or before this part of the work is done */
#define BAR_MAX          40
#define BAR_MIN          8

struct progress progress_start(bool enabled, const struct stage_share *stages, size_t n_inputs) {
    const char *terminal = getenv("TERM");
    bool can_redraw = isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    return (struct progress){.is_enabled = enabled && can_redraw,
                             .begin = clock_seconds(),
                             .stages = stages,
                             .n_inputs = n_inputs > 0 ? n_inputs : 1};
}

/* The share of the work that is done, if a part of the stage is done; -1: the stage is not in the table. */
static double part_done(struct progress *progress, const char *stage, uint64_t done, uint64_t total) {
    const struct stage_share *stages = progress->stages;
    double part = total == 0 ? 0 : done < total ? (double)done / (double)total : 1;
    if (!stages)
        return part;

    /* Move to the stage, which is the current one or a later one. */
    size_t current = progress->current;
    while (stages[current].stage && strcmp(stages[current].stage, stage) != 0)
        current++;
    if (!stages[current].stage)
        return -1;
    if (current < 64)
        progress->begun |= (uint64_t)1 << current;
    if (current != progress->current) {
        progress->current = current;
        progress->n_ended = 0;
        progress->has_ended = false;
    }
    bool has_ended = total > 0 && done >= total;
    progress->n_ended += has_ended && !progress->has_ended;
    progress->has_ended = has_ended;

    double before = 0, all = 0;
    for (size_t i = 0; stages[i].stage; i++) {
        bool has_begun = i < 64 && progress->begun >> i & 1;
        before += i < current && has_begun ? stages[i].share : 0;
        all += i >= current || has_begun ? stages[i].share : 0;
    }
    if (stages[current].each) {
        size_t n = progress->n_ended - (has_ended && progress->n_ended > 0);
        part = fmin(((double)n + part) / (double)progress->n_inputs, 1);
    }
    return all > 0 ? (before + stages[current].share * part) / all : 1;
}

static int terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* ", 12 s left"; "" if it is too early for an estimate. */
static void time_left(char *text, size_t size, double seconds, double part) {
    double left = seconds * (1 - part) / part;
    *text = '\0';
    if (seconds < ESTIMATE_SECONDS || part < ESTIMATE_PART)
        return;
    if (left < 100)
        snprintf(text, size, ", %.0f s left", left);
    else if (left < 6000)
        snprintf(text, size, ", %.0f min left", left / 60);
    else
        snprintf(text, size, ", %.1f h left", left / 3600);
}

/* Draws the bar one column narrower than the terminal, so that the line never wraps; on a narrow terminal only the
 * percentage. */
static void draw(const char *stage, double part, const char *left) {
    static const char full[] = "########################################";
    static const char empty[] = "........................................";
    char words[80];
    unsigned percent = part < 1 ? (unsigned)(part * 100) : 100;
    int length = snprintf(words, sizeof words, "%s: %.*s", left, LABEL_MAX, stage);
    int width = terminal_width() - 1 - length - (int)strlen("[] 100%");
    if (width > BAR_MAX)
        width = BAR_MAX;
    if (width < BAR_MIN) {
        dprintf(STDERR_FILENO, "\r\x1b[K%3u%%", percent);
        return;
    }
    int filled = width * (int)percent / 100;
    dprintf(STDERR_FILENO, "\r\x1b[K[%.*s%.*s] %3u%%%s", filled, full, width - filled, empty, percent, words);
}

/* Whether the bar is due for a redraw. */
static bool is_due(struct progress *progress, double now) {
    if (!progress->is_enabled || now - progress->begin < QUIET_SECONDS || now - progress->last < REDRAW_SECONDS)
        return false;
    progress->last = now;
    progress->is_drawn = true;
    return true;
}

void progress_line(struct progress *progress, const char *words) {
    if (is_due(progress, clock_seconds()))
        dprintf(STDERR_FILENO, "\r\x1b[K%.*s", terminal_width() - 1, words);
}

void progress_update(struct progress *progress, const char *stage, uint64_t done, uint64_t total) {
    if (!progress->is_enabled)
        return;
    double part = part_done(progress, stage, done, total), now = clock_seconds();
    if (part < 0 || !is_due(progress, now))
        return;
    char left[24];
    time_left(left, sizeof left, now - progress->begin, part);
    draw(stage, part, left);
}

void progress_clear(struct progress *progress) {
    if (progress->is_drawn)
        dprintf(STDERR_FILENO, "\r\x1b[K");
    progress->is_drawn = false;
}
