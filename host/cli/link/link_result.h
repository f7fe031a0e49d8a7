/*
 * link_result.h - closing lines and --stats of `sutra link`.
 */
#ifndef CLI_LINK_RESULT_H
#define CLI_LINK_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "cli/tool/run_figures.h"
#include "sutra/link.h"

struct link_result {
    struct sutra_link_report report;
    const struct run_figures *figures;
};

/* Prints a few aligned lines on standard error. */
void link_summary_print(const struct link_result *result);

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status link_stats_write(const struct link_result *result, const char *path);

#endif
