/*
 * trace_head.h - side, process, rank and start time of a trace, from the beginning of its file.
 *
 *     host trace     {"schema": ..., "pid": 8123, "time": "2026-11-21 08:03:09", ..., "nodes": [ ...
 *     device trace   {..., "distributedInfo": {"rank": 3, "world_size": 8, ...}, ..., "traceEvents": [{"pid": 8123, ...
 *
 * The text may be truncated or malformed: values before the error count. Cost: reads about 256 kB per file.
 */
#ifndef READ_TRACE_HEAD_H
#define READ_TRACE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/device_trace.h"
#include "sutra/trace.h"

enum trace_side { SIDE_UNKNOWN, SIDE_HOST, SIDE_DEVICE };

/* Not recorded. */
#define NOT_RECORDED (-1)

struct trace_head {
    enum trace_side side;
    int64_t pid;              /* of the process that recorded it */
    int64_t rank, world_size; /* from the device trace */
    double begin;             /* seconds since 1970, in a host trace in an unknown time zone; 0: not recorded */
    uint64_t bytes;           /* of the file */
    uint64_t text_bytes;      /* estimated size when decompressed */
    int64_t modified_ns;
};

/* Inspects a file. If `lenient`, text without a side and a process is repaired and inspected again. SUTRA_NO_INPUT: not
 * a regular file (pipes are not read), or not readable. */
enum sutra_status trace_head_read(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error);

/* Inspects a text. */
void trace_head_inspect(const char *bytes, size_t size, struct trace_head *head);

/* The number after the last "rank" of a file name: "rank3", "Rank-3", "rank_03"; or NOT_RECORDED. */
int64_t trace_name_rank(const char *path);

/* The same; else the number after the last "worker", or the only number between dots, dashes and underscores. */
int64_t trace_name_number(const char *path);

/* The rank of a trace: "rank" of its "distributedInfo", else the number after the last "rank" of the file name, else
 * `position`. */
int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source);

#endif
