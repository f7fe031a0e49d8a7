/*
 * aside.c - see aside.h.
 */
#include "base/aside.h"

static _Thread_local bool is_here;

bool aside_is_here(void) {
    return is_here;
}

static void *run(void *arg) {
    struct aside *aside = arg;
    is_here = true;
    aside->work(aside->arg);
    return NULL;
}

void aside_begin(struct aside *aside, bool threads, void (*work)(void *arg), void *arg) {
    *aside = (struct aside){.work = work, .arg = arg};
    aside->runs = threads && pthread_create(&aside->thread, NULL, run, aside) == 0;
}

void aside_end(struct aside *aside) {
    if (aside->runs)
        pthread_join(aside->thread, NULL);
    else
        aside->work(aside->arg);
}
