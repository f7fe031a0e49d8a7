/*
 * progress.h - a bar on the terminal for work that takes a while.
 *
 *     reading host trace [##############..........................]  35%
 *
 * One line, drawn over itself, one stage at a time; nothing is drawn in the first half second, nor when standard error
 * is not a terminal. Clear it before other lines are printed.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool wanted;
    bool drawn; /* a bar stands on the terminal */
    double begin, last;
};

/* `wanted`: false draws nothing ever. */
struct progress progress_start(bool wanted);
void progress_update(struct progress *progress, const char *stage, uint64_t done, uint64_t total);
void progress_clear(struct progress *progress);

/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

#endif
