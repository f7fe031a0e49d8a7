/*
 * nccl_inspector.h - reads a log of NCCL Inspector, NCCL's profiler plugin: collectives and messages with durations.
 *
 *     {"header": {"id": "0x7f8c", "comm_name": "DP", "rank": 2, "n_ranks": 8, "nnodes": 1},
 *      "metadata": {"inspector_output_format_version": "v4.0", "hostname": "node1", "pid": 163, ...},
 *      "coll_perf": {"coll": "AllReduce", "coll_sn": 14, "coll_msg_size_bytes": 8388608, "coll_exec_time_us": 61, ...}}
 *
 *     lines --> members: a rank of a communicator in a process;  records: member, type, number, bytes, duration
 *
 * Each line is one object. A line that is no record is skipped and counted. NCCL writes a file per process, with
 * records of all its communicators; files that contain several processes are read, too. A log records no start times:
 * "dump_timestamp_us" is the time of writing.
 *
 * Cost: O(bytes). Memory: 48 bytes per record.
 */
#ifndef READ_NCCL_INSPECTOR_H
#define READ_NCCL_INSPECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "read/source.h"

/* A rank of a communicator, in a process. Texts are ids of the log's strings. */
struct inspector_member {
    uint32_t id;   /* hash of the communicator: "0x7f8c" */
    uint32_t name; /* STRING_NONE: not recorded, or "unknown" */
    uint32_t host;
    int64_t pid;
    int64_t rank, n_ranks; /* in the communicator */
    int64_t n_nodes;       /* of the communicator; 0: not recorded */
};

#define INSPECTOR_NO_PEER (-1)

struct inspector_record {
    uint32_t member, type; /* "AllReduce", "Send" */
    int64_t number;        /* of a collective: in the communicator and type; of a message: on its rank */
    int64_t bytes;         /* of the rank */
    int64_t duration_ns;
    int32_t peer;  /* of a message: rank in the communicator; else INSPECTOR_NO_PEER */
    bool is_timed; /* by the GPU, not by the CPU */
};

struct inspector_log {
    struct strings strings;
    struct inspector_member *members;
    struct inspector_record *records; /* in file order */
    uint64_t n_members, members_capacity, n_records, records_capacity;
    uint64_t n_malformed, first_malformed; /* skipped lines; the first one, counted from 1 */
};

/* Reads a file, plain or compressed; `most` limits its bytes in memory, 0: the default. The log needs
 * inspector_log_free() in any case. SUTRA_DATA: no line is a record, or an unsupported version of the format. */
enum sutra_status inspector_log_read(struct inspector_log *log, const char *path, uint64_t most,
                                     struct sutra_error *error);

/* The same for an open source. */
enum sutra_status inspector_log_parse(struct inspector_log *log, const struct source *source,
                                      struct sutra_error *error);
void inspector_log_free(struct inspector_log *log);

#endif
