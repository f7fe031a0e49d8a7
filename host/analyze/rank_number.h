/*
 * rank_number.h - which rank a trace is of.
 */
#ifndef ANALYZE_RANK_NUMBER_H
#define ANALYZE_RANK_NUMBER_H

#include <stdbool.h>

#include "read/device_trace.h"
#include "sutra/trace.h"

/* "rank" of the trace's "distributedInfo", else the number behind the last "rank" of the name of the file, else
 * `position`. */
int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source);

/* The rank that the beginning of a file tells, as "distributedInfo" stands there before the events; false: it tells
 * none, or is no file that can be looked at twice. */
bool rank_number_of_file(const char *path, int64_t *rank);

#endif
