/*
 * trace_head.h - reads the head of a trace (file_kind.h) from its file, plain or compressed; ranks in names of files.
 */
#ifndef READ_TRACE_HEAD_H
#define READ_TRACE_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "read/device_trace.h"
#include "read/file_kind.h"
#include "sutra/trace.h"

/* Inspects a file. If `lenient`, text without a side and a process is repaired and inspected again. SUTRA_NO_INPUT: not
 * a regular file (pipes are not read), or not readable. Cost: reads about 256 kB. */
enum sutra_status trace_head_read(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error);

/* The number after the last "rank" of a file name: "rank3", "Rank-3", "rank_03"; or NOT_RECORDED. */
int64_t trace_name_rank(const char *path);

/* The same; else the number after the last "worker", or the only number between dots, dashes and underscores. */
int64_t trace_name_number(const char *path);

/* The rank of a trace: "rank" of its "distributedInfo", else the number after the last "rank" of the file name, else
 * `position`. */
int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source);

#endif
