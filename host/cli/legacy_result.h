/*
 * legacy_result.h - what is told about a finished `sutra link-legacy`: to people and to machines (legacy_result.c).
 */
#ifndef CLI_LEGACY_RESULT_H
#define CLI_LEGACY_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/legacy.h"
#include "sutra/link.h"

struct legacy_result {
    struct sutra_legacy_report report;
    const struct sutra_stage *stages;
    size_t n_stages;
    double seconds;
    uint64_t input_bytes;  /* as they lie on the disk; 0 if one of the files is a pipe */
    uint64_t output_bytes; /* of JSON, before compression */
    uint64_t peak_memory, peak_rss;
    unsigned n_threads;
    const char *engine;
    const char *output;
};

/* Prints a few aligned lines on standard error. */
void legacy_summary_print(const struct legacy_result *result);

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status legacy_stats_write(const struct legacy_result *result, const char *path);

#endif
