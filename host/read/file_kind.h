/*
 * file_kind.h - the kind of a file, by its first bytes, for errors that name the kind and the command that reads it;
 * and the head of a trace: side, process, rank and start time.
 *
 *     host trace     {"schema": ..., "pid": 8123, "time": "2026-11-21 08:03:09", ..., "nodes": [ ...
 *     device trace   {..., "distributedInfo": {"rank": 3, "world_size": 8, ...}, ..., "traceEvents": [{"pid": 8123, ...
 */
#ifndef READ_FILE_KIND_H
#define READ_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

/* Whether text that begins with these bytes may be JSON in UTF-8: an object, an array, white space only, or a byte
 * order mark, which readers report. A log of NCCL Inspector is JSON lines, not JSON. */
bool may_be_json(const char *bytes, size_t size);

/* Whether bytes begin an SQLite database; and whether they may be a trace: JSON, or a profiler's database (nsys.h). */
bool is_sqlite(const char *bytes, size_t size);
bool may_be_trace(const char *bytes, size_t size);

/* Whether bytes begin a log of NCCL Inspector (nccl_inspector.h): one of the first lines is a record. */
bool is_inspector_log(const char *bytes, size_t size);

/* The same for a file, plain or compressed; false for other paths. Cost of trace_head_read(). */
bool is_inspector_log_file(const char *path);

/* Whether the name ends as names of logs: .log or .jsonl, followed by .gz, .zst or nothing. */
bool has_log_name(const char *path);

/* Whether a file is a report of Nsight Systems that is not exported, by its name; and the command that exports it. */
bool is_unexported_report(const char *path);
#define NSYS_EXPORT "'nsys export --type sqlite REPORT.nsys-rep'"

enum file_format {
    FILE_UNKNOWN,
    FILE_OTHER,
    FILE_ET, /* a Chakra .et file */
    FILE_DEVICE_TRACE,
    FILE_HOST_TRACE,
    FILE_LINKED_TRACE, /* ET+ */
    FILE_SNAPSHOT,     /* of memory, as JSON; of heads, also as a pickle */
    FILE_DUMP,         /* of the flight recorder, as a pickle or JSON */
    FILE_REPORT,       /* of heads: an SQLite database */
    FILE_ET_JSON,      /* an .et file as JSON, which no command reads */
    FILE_INSPECTOR_LOG,
    FILE_JSON,       /* of another kind */
    FILE_UNREADABLE, /* of heads, set by callers: no permission, or removed meanwhile */
};

struct file_kind {
    enum file_format format;
    const char *name;   /* such as "an SQLite database" */
    const char *remedy; /* ": " and advice to the user, or "" */
};

/* The kind of a file that begins with these bytes; of a report that only its profiler reads, by the file's name. Cost:
 * O(size), at most 1 MB. */
struct file_kind file_kind(const char *path, const char *bytes, size_t size);

/* Whether a host trace, from its nodes on, is ET+: its first nodes have durations. O(1). */
bool has_node_durations(const char *bytes, size_t size);

enum trace_side { SIDE_UNKNOWN, SIDE_HOST, SIDE_DEVICE };

/* Not recorded. */
#define NOT_RECORDED (-1)

struct trace_head {
    enum trace_side side;
    int64_t pid;              /* of the process that recorded it */
    int64_t rank, world_size; /* from the device trace */
    double begin;             /* seconds since 1970, in a host trace in an unknown time zone; 0: not recorded */
    bool is_merged;           /* sutra merge has written it */
    bool has_merged_pids;     /* pids such as "[TP00] 4000": another tool has merged several ranks */
    bool is_dump;             /* of the flight recorder */
    char trace_id[40];        /* of the device trace; "": not recorded */
    char host_name[80];       /* of the machine; "": not recorded */

    /* Set by trace_head_read() only. */
    enum file_format format;
    uint64_t bytes;      /* of the file */
    uint64_t text_bytes; /* estimated size when decompressed */
    int64_t modified_ns;
};

/* Inspects a text, which may be truncated or malformed: values before the error count. */
void trace_head_inspect(const char *bytes, size_t size, struct trace_head *head);

/* ---- The head of a trace from its file, plain or compressed, and ranks in names of files ---- */

/* Inspects a file. If `lenient`, text without a side and a process is repaired and inspected again. SUTRA_NO_INPUT: not
 * a regular file (pipes are not read), or not readable. Cost: reads 16 kB, or 256 kB if they are not enough. */
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
