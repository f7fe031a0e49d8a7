/*
 * aside.h - one piece of work on a thread of its own, beside what the caller does meanwhile.
 *
 *     aside_begin(&aside, threads > 1, work, &arg);    ... what does not touch arg ...    aside_end(&aside);
 *
 * Where no thread is wanted, or the system has none, the work is done when it is waited for. Its thread takes no others
 * away: what it has a pool do it does alone.
 */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

struct aside {
    void (*work)(void *arg);
    void *arg;
    pthread_t thread;
    bool runs;
};

void aside_begin(struct aside *aside, bool threads, void (*work)(void *arg), void *arg);

/* Returns when the work is done; due once for each that began. */
void aside_end(struct aside *aside);

/* Whether the thread that calls is one of these. */
bool aside_is_here(void);

#endif
