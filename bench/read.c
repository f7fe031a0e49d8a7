/*
 * read.c - measures reading traces into columns, compared with a sum over their bytes; prints Markdown rows.
 *
 *     build/bench_read ROUNDS THREADS TRACE...         device and host traces, plain or compressed
 *
 * Each round reads every trace with one thread and with THREADS, and sums its bytes with one thread, alternating, so
 * that other load slows all. Reported: wall time of the fastest round and its CPU time. On N threads with CPU time P, a
 * program with serial share s takes T = P s + P (1 - s) / N: s = (T / P - 1 / N) / (1 - 1 / N). The increase of P over
 * the CPU time P1 of one thread is contention for memory or for a shared core. Amdahl's law on T / T1 includes both.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "read/source.h"
#include "sutra/sutra.h"

/* One way of going through a trace. */
struct timing {
    double began, cpu_began;
    double least, cpu; /* of the fastest round */
};

enum way { READ_ALONE, READ_TOGETHER, SUM, N_WAYS };

static void begin(struct timing *timing) {
    timing->began = seconds(CLOCK_MONOTONIC);
    timing->cpu_began = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void end(struct timing *timing) {
    double wall = seconds(CLOCK_MONOTONIC) - timing->began, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - timing->cpu_began;
    if (timing->least == 0 || wall < timing->least) {
        timing->least = wall;
        timing->cpu = cpu;
    }
}

static void read_once(struct sutra_context *context, const char *path, bool host, struct timing *timing) {
    struct sutra_host_trace *nodes = NULL;
    struct sutra_device_trace *events = NULL;
    struct sutra_error error;
    begin(timing);
    if (host ? sutra_host_trace_read(context, path, &nodes, &error)
             : sutra_device_trace_read(context, path, &events, &error))
        fail(error.message);
    end(timing);
    sutra_host_trace_free(nodes);
    sutra_device_trace_free(events);
}

/* The serial share by Amdahl's law of work that takes `whole` on one thread and `took` on N threads. */
static double serial_share(double took, double whole, unsigned n_threads) {
    return n_threads > 1 ? (took / whole - 1.0 / n_threads) / (1 - 1.0 / n_threads) : 1;
}

/* Sums the words of a file; returns its size in bytes. */
static size_t sum_once(const char *path, struct timing *timing) {
    static volatile uint64_t kept;
    struct source source;
    struct sutra_error error;
    uint64_t sum = 0, word;
    begin(timing);
    if (source_open(&source, path, 0, &error))
        fail(error.message);
    for (size_t at = 0; at < source.size; at += sizeof word) {
        memcpy(&word, source.bytes + at, sizeof word);
        sum += word;
    }
    kept = sum;
    end(timing);
    (void)kept;
    size_t size = source.size;
    source_close(&source);
    return size;
}

static void measure(struct sutra_context *alone, struct sutra_context *together, const char *path, int rounds,
                    unsigned n_threads) {
    struct timing timings[N_WAYS] = {0};
    enum sutra_trace_kind kind;
    struct sutra_error error;
    size_t size = 0;
    if (sutra_trace_kind_of(alone, path, &kind, &error))
        fail(error.message);
    for (int round = 0; round < rounds; round++) {
        read_once(alone, path, kind == SUTRA_TRACE_HOST, &timings[READ_ALONE]);
        read_once(together, path, kind == SUTRA_TRACE_HOST, &timings[READ_TOGETHER]);
        size = sum_once(path, &timings[SUM]);
    }
    const struct timing *one = &timings[READ_ALONE], *more = &timings[READ_TOGETHER], *sum = &timings[SUM];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    printf("| %s | %.1f | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f | %.1f %% | %.0f %% | %.0f %% |\n", name,
           (double)size / 1e6, one->least, one->cpu, more->least, more->cpu, sum->least, (double)size / one->cpu / 1e9,
           100 * serial_share(more->least, more->cpu, n_threads), 100 * (more->cpu / one->cpu - 1),
           100 * serial_share(more->least, one->least, n_threads));
    fflush(stdout);
}

int main(int argc, char **argv) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *alone, *together;
    struct sutra_error error;
    if (argc < 4)
        fail("usage: bench_read ROUNDS THREADS TRACE...");
    if (sutra_context_create(&options, &alone, &error))
        fail(error.message);
    options.n_threads = (unsigned)atoi(argv[2]);
    if (options.n_threads == 0 || sutra_context_create(&options, &together, &error))
        fail("so many threads cannot be had");
    printf(
        "| trace | MB | one thread, s | of processors, s | %u threads, s | of processors, s | sum of bytes, s | GB/s on "
        "one thread | serial | more work | by Amdahl |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        options.n_threads);
    for (int i = 3; i < argc; i++)
        measure(alone, together, argv[i], atoi(argv[1]), options.n_threads);
    sutra_context_free(alone);
    sutra_context_free(together);
    return 0;
}
