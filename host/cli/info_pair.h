/*
 * info_pair.h - `sutra info HOST DEVICE`: the command that links two traces, and the reason.
 */
#ifndef CLI_INFO_PAIR_H
#define CLI_INFO_PAIR_H

#include "cli/tool/job.h"

/* Prints it; returns the exit code. */
int info_pair_show(const char *host, const char *device, const struct job_values *values, bool json);

#endif
