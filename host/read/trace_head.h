/*
 * trace_head.h - what the beginning of a trace file tells about who recorded it, without reading the rest.
 *
 *     host trace     {"schema": ..., "pid": 8123, "time": "2026-11-21 08:03:09", ..., "nodes": [ ...
 *     device trace   {..., "distributedInfo": {"rank": 3, "world_size": 8, ...}, ..., "traceEvents": [{"pid": 8123, ...
 *
 * The text may end anywhere, also where it is malformed: what was found until then counts. Cost: some 256 kB a file.
 */
#ifndef READ_TRACE_HEAD_H
#define READ_TRACE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/error.h"

enum trace_side { SIDE_UNKNOWN, SIDE_HOST, SIDE_DEVICE };

/* There is no such number. */
#define NOT_TOLD (-1)

struct trace_head {
    enum trace_side side;
    int64_t pid;              /* of the process that recorded it */
    int64_t rank, world_size; /* as the device trace says */
    double begin;             /* seconds since 1970, in a host trace in a time zone that is not told; 0: not told */
    uint64_t bytes;           /* of the file */
    uint64_t text_bytes;      /* about how many these are when decompressed */
    int64_t modified_ns;
};

/* Looks at the file; one that does not tell its side and process at first is mended where it is `lenient`.
 * SUTRA_NO_INPUT: it cannot be read, or is a pipe and the like, which stays as it is. */
enum sutra_status trace_head_read(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error);

/* The same of a text; fills what it tells. */
void trace_head_look(const char *bytes, size_t size, struct trace_head *head);

/* The number in the name of a file: that behind the last "rank", or "worker", or the only one between dots, dashes and
 * underscores; or NOT_TOLD. */
int64_t trace_name_number(const char *path);

#endif
