/*
 * legacy_result.h - closing lines and --stats of `sutra link-legacy`.
 */
#ifndef CLI_LEGACY_RESULT_H
#define CLI_LEGACY_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tool/run_figures.h"
#include "sutra/legacy.h"

struct legacy_result {
    struct sutra_legacy_report report;
    const struct run_figures *figures;
};

/* Prints a few aligned lines on standard error. */
void legacy_summary_print(const struct legacy_result *result);

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status legacy_stats_write(const struct legacy_result *result, const char *path);

#endif
