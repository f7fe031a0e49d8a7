/*
 * convert_lines.h - `sutra convert` of JSON lines, as written by `sutra jsonize --lines`, back to an .et file.
 */
#ifndef CLI_SIMULATE_CONVERT_LINES_H
#define CLI_SIMULATE_CONVERT_LINES_H

#include "cli/tool/job.h"

/* Whether a file, not a stream and not compressed, begins as such lines do. */
bool convert_lines_known(const char *input);

/* Makes the file; returns an exit code. */
int convert_lines(const struct job_values *values, const char *input);

#endif
