/*
 * run_figures.h - time, bytes and memory of a finished command, for closing lines and --stats, in one format for all
 * commands.
 */
#ifndef CLI_RUN_FIGURES_H
#define CLI_RUN_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/tool/watch.h"
#include "sutra/link.h"

struct run_figures {
    const struct sutra_stage *stages;
    size_t n_stages;
    double seconds;        /* from start to end, all stages and what is between them */
    uint64_t input_bytes;  /* of the files as they lie on the disk; 0 if one of them is a pipe */
    bool compressed;       /* one of them is */
    uint64_t output_bytes; /* of JSON, before compression */
    uint64_t peak_memory;  /* see memory.h */
    uint64_t peak_rss;
    unsigned n_threads;
    const char *engine;
    const struct sutra_stage *device_stages; /* of a CUDA device, if one was taken */
    size_t n_device_stages;
    const char *output; /* the output's name */
};

/* Takes the figures, but for input_bytes and output_bytes, at the end of a command that began at `begin` and mapped
 * files of so many bytes at a time. */
void run_figures_take(struct run_figures *figures, struct watch *watch, double begin, struct sutra_context *context,
                      uint64_t n_mapped_bytes);

/* The closing lines on standard error: bytes read and written, seconds, memory. */
void run_figures_print(const struct run_figures *figures);

/* A line of a summary: a number and what it counts. */
struct summary_row {
    uint64_t count;
    const char *words;
    bool always; /* it stands there even if the count is 0 */
};

/* Prints lines on standard error, those that count something or always stand there. */
void summary_print(const struct summary_row *rows, size_t n);

struct named_count {
    const char *name;
    uint64_t count;
};

/* What --stats begins with: the version, and "counts" with both lists, of which the second may be none. The latter also
 * alone. */
void run_counts_print_json(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more);
void run_counts_print_list(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more);

/* What --stats writes behind the counts: the rest of a JSON object, from its "seconds" to its end. */
void run_figures_print_json(FILE *file, const struct run_figures *figures);

/* Has `print` write to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status stats_write(const char *path, void (*print)(FILE *file, const void *result), const void *result);

#endif
