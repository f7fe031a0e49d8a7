/*
 * collectives.c - measures the analysis of collectives of several ranks, compared with reading their traces; prints one
 * line.
 *
 *     build/bench_collectives ROUNDS DEVICE...         one device trace per rank
 *
 * Both use as many threads as ranks are analyzed concurrently, and alternate, so that other load slows both. Seconds
 * are CPU time, which other processes disturb less; the minimum of the rounds counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/ranks.h"
#include "bench.h"
#include "sutra/sutra.h"

#define TARGET_RATIO 1.2

static enum sutra_status only_read(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                   struct sutra_device_trace *trace, struct sutra_error *error) {
    (void)arg, (void)run, (void)number, (void)context, (void)error;
    sutra_device_trace_free(trace);
    return SUTRA_OK;
}

static double time_reading(struct sutra_context *context, char **paths, size_t n) {
    static const struct rank_analysis reading = {.analyze = only_read};
    struct rank_tasks tasks = {0};
    struct sutra_error error;
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (rank_tasks_run(&tasks, &reading, context, (const char *const *)paths, n, NULL, &error))
        fail(error.message);
    rank_tasks_free(&tasks);
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

static double time_collectives(struct sutra_context *context, char **paths, size_t n) {
    struct sutra_collectives *collectives;
    struct sutra_error error;
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (sutra_collectives_run(context, (const char *const *)paths, n, NULL, &collectives, &error))
        fail(error.message);
    sutra_collectives_free(collectives);
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

int main(int argc, char **argv) {
    struct sutra_context *context;
    double reading = 1e9, all = 1e9;
    if (argc < 3 || sutra_context_create(NULL, &context, NULL))
        fail("usage: bench_collectives ROUNDS DEVICE...");
    for (int round = 0; round < atoi(argv[1]); round++) {
        double a = time_reading(context, argv + 2, (size_t)argc - 2),
               b = time_collectives(context, argv + 2, (size_t)argc - 2);
        reading = a < reading ? a : reading;
        all = b < all ? b : all;
    }
    sutra_context_free(context);
    printf("%d ranks: reading %.3f s, collectives with reading %.3f s, %.3f times (target %.1f)\n", argc - 2, reading,
           all, all / reading, TARGET_RATIO);
    return all / reading > TARGET_RATIO;
}
