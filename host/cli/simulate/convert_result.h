/*
 * convert_result.h - closing lines and --stats of `sutra convert`.
 */
#ifndef CLI_CONVERT_RESULT_H
#define CLI_CONVERT_RESULT_H

#include "cli/tool/run_figures.h"
#include "sutra/convert.h"

struct convert_result {
    struct sutra_convert_report report;
    const struct run_figures *figures;
    const struct sutra_faithful_report *faithful; /* NULL: the file has no measured times */
};

/* Prints a few aligned lines on standard error. */
void convert_summary_print(const struct convert_result *result);

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status convert_stats_write(const struct convert_result *result, const char *path);

#endif
