/*
 * nsys.h - reports of profilers in SQLite databases: Nsight Systems (nsys export --type sqlite), rocprofv3 (rocpd), and
 * rocmProfileData (.rpd).
 *
 *     report.sqlite --tables, in parallel--> events, GPU activities, NVTX ranges --one rank--> text of a Kineto trace
 *                                                      |
 *                                                      --> summaries (analyze/nsys)
 *
 * A rank is a process with GPU activity. Ranks are numbered by (lowest device, process), or as NCCL numbers them. Times
 * are integers of nanoseconds. Strings are interned. All commands read the text of a rank as they read Kineto's files.
 */
#ifndef READ_NSYS_H
#define READ_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/shared.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/source.h"

/* A number that is not recorded. */
#define NSYS_NONE INT64_MIN

/* All ranks. */
#define NSYS_ALL_RANKS SOURCE_ALL_RANKS

enum nsys_category {
    NSYS_RUNTIME,
    NSYS_DRIVER,
    NSYS_KERNEL,
    NSYS_MEMCPY,
    NSYS_MEMSET,
    NSYS_SYNC,
    NSYS_OS_RUNTIME,
    NSYS_OVERHEAD,
    NSYS_CPU_OP,
    NSYS_ANNOTATION,
    NSYS_HIP_RUNTIME,
    NSYS_HIP_DRIVER,
    NSYS_N_CATEGORIES
};

/* Names of the categories in Kineto's files. */
extern const char *const nsys_category_names[NSYS_N_CATEGORIES];

/* GPU activity: kernels, memcpy and memset. */
static inline bool nsys_is_gpu(uint8_t category) {
    return category >= NSYS_KERNEL && category <= NSYS_MEMSET;
}

/* Calls that launch GPU activity. */
static inline bool nsys_is_call(uint8_t category) {
    return category == NSYS_RUNTIME || category == NSYS_DRIVER || category >= NSYS_HIP_RUNTIME;
}

/* X(type, name) for each column of an event:
 *     start, dur     nanoseconds
 *     process        process as the report identifies it, with zeros in the low 24 bits; NSYS_NONE: not recorded
 *     tid            thread, or stream of GPU activity
 *     correlation    NSYS_NONE: not recorded
 *     name           interned
 *     detail         row of its struct nsys_gpu or struct nsys_range
 *     category       enum nsys_category */
#define NSYS_EVENT_COLUMNS(X)                                                                                          \
    X(int64_t, start)                                                                                                  \
    X(int64_t, dur)                                                                                                    \
    X(int64_t, process)                                                                                                \
    X(int64_t, tid)                                                                                                    \
    X(int64_t, correlation)                                                                                            \
    X(uint32_t, name)                                                                                                  \
    X(row_t, detail)                                                                                                   \
    X(uint8_t, category)

struct nsys_events {
    uint64_t n, capacity;
#define X(type, name) type *name;
    NSYS_EVENT_COLUMNS(X)
#undef X
};

/* What a GPU activity records besides the columns of its event, whose tid is the stream. */
enum nsys_gpu_form {
    NSYS_PLAIN,  /* memcpy or memset */
    NSYS_LAUNCH, /* a kernel with grid and block */
    NSYS_GRAPH,  /* a complete CUDA graph in one record */
    NSYS_WAIT,   /* a synchronizing call; waits for the call that recorded an event, if wait_stream is recorded */
};

struct nsys_gpu {
    int64_t context, graph, graph_node; /* NSYS_NONE: not recorded */
    int64_t bytes;                      /* of memcpy and memset; shared memory of kernels */
    union {
        struct {
            int32_t grid[3], block[3];
        };
        struct {
            int64_t wait_stream, wait_correlation;
        };
    };
    int32_t device;
    int32_t registers;   /* -1: not recorded */
    uint32_t collective; /* row of struct nsys_collective + 1; 0: none */
    uint8_t form;
};

/* The call of a kernel of NCCL whose range has a payload. */
struct nsys_collective {
    const char *name;
    int64_t communicator, group_size; /* NSYS_NONE: not recorded */
    int64_t bytes;
};

/* An NVTX range. */
struct nsys_range {
    int64_t start, end, thread; /* process and thread as the report identifies them */
    int64_t sequence, record;   /* of emit_nvtx(), or NSYS_NONE */
    int64_t domain_id;
    uint32_t label, domain; /* interned; "" for the default domain */
    uint32_t sizes;         /* JSON list, or STRING_NONE */
    uint32_t payload;       /* row of struct nccl_payload + 1; 0: none */
    bool is_emitted;        /* by emit_nvtx(): the label is the complete text, or the name, see nsys_options.labels */
    bool is_start_end;      /* StartEnd, not PushPop */
    bool is_nested;         /* ends on its thread: may enclose calls */
};

struct nsys_rank {
    int64_t rank, process;
    int64_t pid;
    const int64_t *devices; /* ascending; of ranks that were read */
    uint32_t n_devices;
};

struct nsys_step {
    int64_t rank, step, tid, start, dur;
};

/* Data that is skipped or has a reduced meaning. */
enum nsys_skip { SKIP_NO_TIME, SKIP_MARK, SKIP_NO_END, SKIP_OTHER_THREAD, SKIP_NO_LAUNCH, SKIP_BARRIER, NSYS_N_SKIPS };
extern const char *const nsys_skip_names[NSYS_N_SKIPS];

/* The profiler that wrote a report. */
enum nsys_format { NSYS_SYSTEMS, NSYS_ROCPD, NSYS_RPD, NSYS_N_FORMATS };

struct nsys_report {
    enum nsys_format format;
    struct strings names;
    struct nsys_events events;
    struct nsys_gpu *gpus;
    struct nsys_range *ranges;
    struct nccl_payload *payloads;
    uint64_t n_gpus, n_ranges, n_payloads;
    uint64_t skipped[NSYS_N_SKIPS];
    int64_t first_start; /* of all processes; NSYS_NONE without events */
    int64_t utc_offset;  /* nanoseconds to add for UTC, or NSYS_NONE */
    /* In the arena. */
    struct nsys_rank *ranks;      /* ascending */
    struct nsys_rank *by_process; /* the same, ascending by process */
    uint32_t n_ranks;
    row_t *rank_first, *rank_events; /* events of rank i of `ranks`, in `order`: rank_events[rank_first[i]] .. */
    row_t *step_first, *rank_steps;  /* steps of rank i, likewise */
    struct nsys_step *steps;
    uint64_t n_steps;
    struct nsys_collective *collectives;
    uint64_t n_collectives;
    row_t *order;   /* events by start, longest first */
    row_t *launch;  /* by row of `gpus`: the event of the call that launched the activity, or ROW_NONE */
    row_t *forward; /* by row of `ranges`: the event of the forward operator, or ROW_NONE */
    uint64_t n_pairs;
    struct arena arena;
};

struct nsys_options {
    int64_t rank;           /* read only this rank, or NSYS_ALL_RANKS */
    const char *annotation; /* the ranges with this text are the steps; NULL: ranges named like steps */
    bool labels;            /* keep the complete texts of ranges of emit_nvtx() */
    bool ranks_only;        /* read only the tables that number the ranks */
};

/* Reads a report from the source of a database. The caller frees the report, also on failure. SUTRA_DATA: corrupt, an
 * unknown schema, an open write-ahead log, or without events; SUTRA_USAGE: no such rank; SUTRA_UNAVAILABLE: built
 * without SQLite. */
enum sutra_status nsys_report_read(struct nsys_report *report, struct sutra_context *context,
                                   const struct source *source, const struct nsys_options *options,
                                   struct sutra_error *error);
void nsys_report_free(struct nsys_report *report);

/* The position of a rank in `ranks`, or n_ranks. O(log ranks). */
uint32_t nsys_find_rank(const struct nsys_report *report, int64_t rank);

/* The rank of a process, or NSYS_NONE. O(log ranks). */
int64_t nsys_rank_of(const struct nsys_report *report, int64_t process);

/* Orders rows of ranges by start, end, thread and text, for qsort_r() with the report. */
int nsys_compare_ranges(const void *left, const void *right, void *arg);

/* The payload of a range, which may have no fields. */
const struct nccl_payload *nsys_payload_of(const struct nsys_report *report, const struct nsys_range *range);

/* Finds the collective of each kernel of NCCL, whose launches are known. O(n log n). */
enum sutra_status nsys_match_collectives(struct nsys_report *report, struct sutra_error *error);

/* Appends the JSON text of one rank, as Kineto writes it, of a report that contains at least this rank. SUTRA_SYSTEM:
 * out of memory. O(events). */
enum sutra_status nsys_write_kineto(const struct nsys_report *report, struct sutra_context *context, int64_t rank,
                                    struct buffer *text, struct sutra_error *error);

/* Replaces the bytes of a database by the text of the rank that the options select, or of the only rank. SUTRA_USAGE:
 * the report has several ranks. */
enum sutra_status nsys_source_convert(struct source *source, struct sutra_context *context,
                                      const struct nsys_options *options, struct sutra_error *error);

/*
 * A report that several tasks read, each one rank: it is read once, by the first task, and freed by the last one.
 */
struct nsys_shared;
struct nsys_shared *nsys_shared_new(size_t n_tasks); /* NULL: out of memory */
void nsys_shared_free(struct nsys_shared *shared);

/* Opens a source whose path names a rank of the report, with the text of this rank; or opens it as source_read(), if
 * the file is not a report. */
enum sutra_status nsys_shared_read(struct nsys_shared *shared, struct source *source, struct sutra_context *context,
                                   const char *stage, const struct source_input *input, struct sutra_error *error);

/* ---- For the readers of the tables ---- */

/* Rows of a part of a table, which one thread reads: into columns of its own, or into a range of the report's columns,
 * if their number is known before. Names are numbers of report->names, or with NSYS_LOCAL of the
 * part's own strings. */
#define NSYS_LOCAL 0x80000000u

struct nsys_domain {
    int64_t process, domain;
    uint64_t row; /* of repeated domains the first counts */
    uint32_t name;
};

struct nsys_part {
    struct nsys_events events;
    struct nsys_gpu *gpus;
    struct nsys_range *ranges;
    struct nsys_domain *domains;
    struct nccl_payload *payloads;
    uint64_t n_gpus, gpus_capacity, n_ranges, ranges_capacity, n_domains, domains_capacity;
    uint64_t n_payloads, payloads_capacity;
    bool is_shared; /* events, gpus and ranges are the report's */
    struct strings names;
    struct buffer scratch;
    uint64_t skipped[NSYS_N_SKIPS];
    int64_t first_start, last_end; /* of all processes; last_end: of NVTX */
    int64_t call_process;          /* of the calls, or NSYS_NONE; */
    bool has_call_processes;       /* they have several */
    int64_t process;               /* read only this one and unknown ones, or NSYS_NONE: all */
    bool failed;                   /* out of memory */
};

void nsys_part_free(struct nsys_part *part);

/* The nearest number of 32 bits. */
static inline int32_t nsys_int32(int64_t value) {
    return (int32_t)CLAMP(value, INT32_MIN, INT32_MAX);
}

/* Interns text of a database, in which bytes that are not UTF-8 are escaped. */
uint32_t nsys_intern(struct strings *names, struct buffer *scratch, const char *text, size_t n, bool *failed);

/* The rows that parts can have at most. */
struct nsys_rows {
    uint64_t n;
    bool are_gpus, are_ranges; /* each row has a struct nsys_gpu, or a struct nsys_range */
};

/* Reserves the report's columns for n empty parts, which then share them. False: out of memory. */
bool nsys_share_columns(struct nsys_report *report, struct nsys_part *parts, const struct nsys_rows *rows, size_t n);

/* Appends an event, unless its process is not read or its time is not valid; false: it is not appended. */
bool nsys_add_event(struct nsys_part *part, uint8_t category, int64_t start, int64_t end, int64_t process, int64_t tid,
                    int64_t correlation, uint32_t name);

/* The same with a GPU activity. */
void nsys_add_gpu(struct nsys_part *part, uint8_t category, int64_t start, int64_t end, int64_t process, int64_t stream,
                  uint32_t name, int64_t correlation, const struct nsys_gpu *gpu);

/* The same with a range. */
void nsys_add_range(struct nsys_part *part, uint8_t category, uint32_t name, const struct nsys_range *range);

/* Splits the text of a range, if it is an operator of emit_nvtx(): sets the fields of the range and the category, and
 * returns the name, a string of the part. STRING_NONE: any other text, an annotation. */
uint32_t nsys_split_label(struct nsys_part *part, struct nsys_range *range, const char *text, size_t n,
                          uint8_t *category);

/* Joins the parts, in their order, in the report. */
enum sutra_status nsys_join_parts(struct nsys_report *report, struct nsys_part *parts, size_t n,
                                  struct sutra_error *error);

/* Read the tables into the report; rows of `process` and of unknown processes only, or all if it is NSYS_NONE. */
struct database_file;
struct database_table;
enum sutra_status nsys_read_tables(struct nsys_report *report, struct sutra_context *context,
                                   struct database_file *file, const struct database_table *tables, size_t n_tables,
                                   const struct nsys_options *options, int64_t process, struct sutra_error *error);
enum sutra_status rocpd_read_tables(struct nsys_report *report, struct sutra_context *context,
                                    struct database_file *file, const struct database_table *tables, size_t n_tables,
                                    int64_t process, struct sutra_error *error);

/*
 * ---- Texts and payloads of NVTX ranges (nvtx.c): operators of emit_nvtx(), steps, NCCL calls ----
 *
 *     aten::addmm, seq = 7, op_id = 41, sizes = [[8, 16], [16, 4]], input_op_ids = [(39,0), (3,1)]
 *     iteration_12        ProfilerStep#12        step 12
 *     ncclAllGather  with the payload  NCCL communicator ID, Message size [bytes]
 */

/* A number that is not recorded. */
#define NVTX_NONE INT64_MIN

/* The text of a range, split as emit_nvtx() joins it. */
struct nvtx_label {
    size_t name_length;  /* of the name, with which the text begins */
    int64_t sequence;    /* sequence number of the autograd node, or NVTX_NONE */
    int64_t record;      /* op_id: record-function id, or NVTX_NONE */
    const char *sizes;   /* JSON list of the shapes of the inputs, or NULL */
    size_t sizes_length; /* 0, if the list is malformed */
    bool is_annotation;  /* of record_function(), which names parts of a program, not operators */
};

/* Splits a text; false: emit_nvtx() has not written it. O(n). */
bool nvtx_label_read(const char *text, size_t n, struct nvtx_label *label);

/* Whether a text names a step: ProfilerStep, iteration, iter, step, batch, train_step or global_step in any letter
 * case, then spaces, _ : # or -, then the number. */
bool nvtx_step_read(const char *text, size_t n, int64_t *step);

/* Whether a kernel of a report communicates between GPUs, by its name. */
bool nsys_kernel_communicates(const char *name, size_t n);

/* Fields of the payloads of NCCL. */
enum nccl_payload_field { NCCL_COMMUNICATOR, NCCL_N_RANKS, NCCL_RANK, NCCL_BYTES, NCCL_N_FIELDS };

struct nccl_payload {
    int64_t field[NCCL_N_FIELDS];
    unsigned has; /* bit 1 << field: recorded */
};

/* One field of a payload's schema. */
struct nvtx_schema_entry {
    int64_t domain, schema, index, type, offset; /* offset NVTX_NONE: after the previous field */
    unsigned field;                              /* enum nccl_payload_field, or NCCL_N_FIELDS for any other */
    uint64_t row;                                /* of repeated entries the last one counts */
};

struct nvtx_schemas {
    struct nvtx_schema_entry *list;
    size_t n;
};

/* The field of this name, or NCCL_N_FIELDS. */
unsigned nccl_field_named(const char *name);

/* Sorts the entries and removes repeated ones. O(n log n). */
void nvtx_schemas_sort(struct nvtx_schemas *schemas);

/* Decodes an extended payload: domain, schema, size and offset as 64-bit numbers, then the bytes. O(fields). */
struct nccl_payload nvtx_payload_read(const struct nvtx_schemas *schemas, const void *bytes, size_t n);

#endif
