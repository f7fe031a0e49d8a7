/*
 * progress.c - draws a progress bar. A redraw costs one write, at most 20 times per second.
 */
#include "cli/tool/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS  0.5
#define REDRAW_SECONDS 0.05
#define LABEL_MAX      24
/* What is told of the time left is not worth much earlier. */
#define ESTIMATE_SECONDS 1.0
#define ESTIMATE_PART    0.05
#define BAR_MAX          40
#define BAR_MIN          8

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Whether the terminal takes the sequences that draw over a line. */
static bool can_draw(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

struct progress progress_start(bool wanted, const struct stage_share *stages, size_t n_inputs) {
    return (struct progress){.wanted = wanted && can_draw(),
                             .begin = clock_seconds(),
                             .stages = stages,
                             .n_inputs = n_inputs > 0 ? n_inputs : 1};
}

/* ---- How far it is ---- */

/* Moves to the stage, which stands at the same place or further on; or it is none of the table's. */
static void find_stage(struct progress *progress, const char *stage) {
    const struct stage_share *stages = progress->stages;
    size_t i = progress->at;
    while (stages[i].stage && strcmp(stages[i].stage, stage) != 0)
        i++;
    progress->known = stages[i].stage != NULL;
    if (progress->known && i < 64)
        progress->begun |= (uint64_t)1 << i;
    if (!progress->known || i == progress->at)
        return;
    progress->at = i;
    progress->n_over = 0;
    progress->over = false;
}

static double part_of_all(const struct progress *progress, double part) {
    double before = 0, all = 0, at = part;
    for (size_t i = 0; progress->stages[i].stage; i++) {
        bool came = i < 64 && progress->begun >> i & 1;
        before += i < progress->at && came ? progress->stages[i].share : 0;
        all += i >= progress->at || came ? progress->stages[i].share : 0;
    }
    if (progress->stages[progress->at].each) {
        size_t n = progress->n_over - (progress->over && progress->n_over > 0);
        at = fmin(((double)n + part) / (double)progress->n_inputs, 1);
    }
    return all > 0 ? (before + progress->stages[progress->at].share * at) / all : 1;
}

/* The part of the work that is done; below 0 where nobody knows. */
static double part_done(struct progress *progress, const char *stage, uint64_t done, uint64_t total) {
    double part = total == 0 ? 0 : done < total ? (double)done / (double)total : 1;
    if (!progress->stages)
        return part;
    find_stage(progress, stage);
    if (!progress->known)
        return -1;
    bool over = total > 0 && done >= total;
    progress->n_over += over && !progress->over;
    progress->over = over;
    return part_of_all(progress, part);
}

/* ---- The line ---- */

static int terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* ", 12 s left"; nothing before there is something to tell it by. */
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

/* Brackets, bar, percentage and words fit in one column less than the terminal has, so that the line never wraps; a
 * narrow terminal gets the percentage alone. */
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

/* Whether it is time to draw. */
static bool is_due(struct progress *progress, double now) {
    if (!progress->wanted || now - progress->begin < QUIET_SECONDS || now - progress->last < REDRAW_SECONDS)
        return false;
    progress->last = now;
    progress->drawn = true;
    return true;
}

void progress_line(struct progress *progress, const char *words) {
    if (is_due(progress, clock_seconds()))
        dprintf(STDERR_FILENO, "\r\x1b[K%.*s", terminal_width() - 1, words);
}

void progress_update(struct progress *progress, const char *stage, uint64_t done, uint64_t total) {
    if (!progress->wanted)
        return;
    double part = part_done(progress, stage, done, total), now = clock_seconds();
    if (part < 0 || !is_due(progress, now))
        return;
    char left[24];
    time_left(left, sizeof left, now - progress->begin, part);
    draw(stage, part, left);
}

void progress_clear(struct progress *progress) {
    if (progress->drawn)
        dprintf(STDERR_FILENO, "\r\x1b[K");
    progress->drawn = false;
}
