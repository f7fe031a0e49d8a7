/*
 * link_result.h - what is told about a finished `sutra link`: to people (link_summary.c) and to machines
 * (link_stats.c).
 */
#ifndef CLI_LINK_RESULT_H
#define CLI_LINK_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/link.h"

struct link_result {
    struct sutra_link_report report;
    const struct sutra_stage *stages;
    size_t n_stages;
    double seconds;        /* from start to end, all stages and what is between them */
    uint64_t input_bytes;  /* of the two files as they lie on the disk; 0 if one of them is a pipe */
    uint64_t output_bytes; /* of JSON, before compression */
    uint64_t peak_memory;  /* see memory.h */
    uint64_t peak_rss;
    unsigned n_threads;
    const char *engine;
    const char *output;
};

/* Prints a few aligned lines on standard error. */
void link_summary_print(const struct link_result *result);

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status link_stats_write(const struct link_result *result, const char *path);

#endif
