/*
 * bench.h - time and errors of the benchmark programs.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds of a clock: CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID. */
static inline double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

_Noreturn static inline void fail(const char *message) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, message);
    exit(2);
}

#endif
