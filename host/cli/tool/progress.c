/*
 * progress.c - a bar on the terminal for work that takes a while; a redraw costs one write, at most 20 times a second.
 */
#include "cli/tool/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS  0.5
#define REDRAW_SECONDS 0.05
#define LABEL_MAX      24
#define BAR_MAX        40
#define BAR_MIN        8

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct progress progress_start(bool wanted) {
    return (struct progress){.wanted = wanted && isatty(STDERR_FILENO), .begin = clock_seconds()};
}

static int terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Label, brackets, bar and percentage fit in one column less than the terminal has, so that the line never wraps; a
 * narrow terminal gets the percentage alone. */
static void draw(const char *stage, unsigned percent) {
    static const char full[] = "########################################";
    static const char empty[] = "........................................";
    int length = (int)strnlen(stage, LABEL_MAX);
    int width = terminal_width() - 1 - length - (int)strlen(" []  100%");
    if (width > BAR_MAX)
        width = BAR_MAX;
    if (width < BAR_MIN) {
        dprintf(STDERR_FILENO, "\r\x1b[K%3u%%", percent);
        return;
    }
    int filled = width * (int)percent / 100;
    dprintf(STDERR_FILENO, "\r\x1b[K%.*s [%.*s%.*s] %3u%%", length, stage, filled, full, width - filled, empty,
            percent);
}

void progress_update(struct progress *progress, const char *stage, uint64_t done, uint64_t total) {
    if (!progress->wanted)
        return;
    double now = clock_seconds();
    if (now - progress->begin < QUIET_SECONDS || now - progress->last < REDRAW_SECONDS)
        return;
    progress->last = now;
    progress->drawn = true;
    double part = total == 0 ? 1 : (double)done / (double)total;
    draw(stage, part < 1 ? (unsigned)(part * 100) : 100);
}

void progress_clear(struct progress *progress) {
    if (progress->drawn)
        dprintf(STDERR_FILENO, "\r\x1b[K");
    progress->drawn = false;
}
