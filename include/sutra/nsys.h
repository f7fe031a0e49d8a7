/*
 * nsys.h - reports of Nsight Systems (nsys export --type sqlite), rocprofv3 (rocpd) and rocmProfileData (.rpd):
 * contents, summaries as `nsys stats` computes them, and conversion to Kineto's format.
 *
 * All functions that read device traces also read such a report, if it has one rank. REPORT/rankN is rank N of a report
 * with several ranks. A rank is a process with GPU activity.
 */
#ifndef SUTRA_NSYS_H
#define SUTRA_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"
#include "sutra/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_nsys;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_nsys_options {
    size_t size;
    const char *annotation; /* NVTX ranges with this text are the steps; NULL: ranges named like iteration_3 */
    int64_t min_gap_ns;     /* of the tables of gaps; 0: 1,000,000 */
    bool no_tables;         /* make no tables */
};

/* Tables. Times are nanoseconds; each summary has total, instances, average, median, minimum, maximum and standard
 * deviation. */
enum sutra_nsys_table {
    SUTRA_NSYS_KERNELS,         /* kernel name: durations (cuda_gpu_kern_sum) */
    SUTRA_NSYS_API,             /* CUDA call: durations (cuda_api_sum) */
    SUTRA_NSYS_NVTX_PROJECTION, /* NVTX range: from its first to its last GPU activity (nvtx_gpu_proj_sum) */
    SUTRA_NSYS_MEMORY_TIMES,    /* direction of memcpy, or memset: durations (cuda_gpu_mem_time_sum) */
    SUTRA_NSYS_MEMORY_SIZES,    /* the same: bytes (cuda_gpu_mem_size_sum) */
    SUTRA_NSYS_GPU_GAPS,        /* time of at least min_gap_ns in which a GPU of a rank is idle */
    SUTRA_NSYS_STREAM_GAPS,     /* longer time than min_gap_ns between two kernels of a stream */
    SUTRA_NSYS_EXPOSED,         /* rank, device: compute, communication, memory, their exposed times, idle time */
    SUTRA_NSYS_STEPS,           /* rank, step: thread, start, duration */
    SUTRA_NSYS_N_TABLES
};

/* Whether a file is an SQLite database, which only a profiler's report can be. Errors: SUTRA_NO_INPUT. */
enum sutra_status sutra_is_nsys(const char *path, bool *is_nsys, struct sutra_error *error);

/* Reads a report with all ranks. The caller frees *nsys, before the context. Errors: SUTRA_DATA: corrupt, an unknown
 * schema, an open write-ahead log, or without events; SUTRA_UNAVAILABLE: the library was built without SQLite;
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_nsys_read(struct sutra_context *context, const char *path,
                                  const struct sutra_nsys_options *options, struct sutra_nsys **nsys,
                                  struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` is the file name in errors. */
enum sutra_status sutra_nsys_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                   const struct sutra_nsys_options *options, struct sutra_nsys **nsys,
                                   struct sutra_error *error);
void sutra_nsys_free(struct sutra_nsys *nsys);

/* Contents of a report. `size` is sizeof the caller's struct. */
struct sutra_nsys_info {
    size_t size;
    const char *kind; /* "nsys", "rocpd" (rocprofv3) or "rpd" (rocmProfileData) */
    bool has_utc;
    int64_t utc_offset_ns; /* add to times of the report for UTC, since 1970 */
    uint32_t n_ranks;
    int64_t rank; /* the only one that was read, of REPORT/rankN; -1: all */
    uint64_t n_events, n_kernels, n_calls, n_ranges, n_steps;
    uint64_t n_forward_backward; /* pairs of forward and backward operators */
};
void sutra_nsys_info(const struct sutra_nsys *nsys, struct sutra_nsys_info *info);

struct sutra_nsys_rank {
    int64_t rank, pid;
    const int64_t *devices; /* ascending; live as long as the report */
    uint32_t n_devices;
};

/* Fills *rank with the i-th rank; returns 0 after the last one. */
int sutra_nsys_rank(const struct sutra_nsys *nsys, uint32_t i, struct sutra_nsys_rank *rank);

/* Counts skipped data: fills the i-th reason and its count, which may be 0; returns 0 after the last one. */
int sutra_nsys_skipped(const struct sutra_nsys *nsys, uint32_t i, const char **reason, uint64_t *count);

/* Lists the ranks of a report in ascending order, without reading more than needed: the caller frees *ranks with
 * free(). Errors as above. */
enum sutra_status sutra_nsys_list_ranks(struct sutra_context *context, const char *path, int64_t **ranks, size_t *n,
                                        struct sutra_error *error);

/* Writes one rank in Kineto's format, compressed if the name ends in .gz or .zst; "-" is standard output. *n_bytes (may
 * be NULL): uncompressed bytes. Errors: SUTRA_USAGE: no such rank; SUTRA_NO_OUTPUT, SUTRA_IO as sutra_table_write(). */
enum sutra_status sutra_nsys_write_trace(struct sutra_context *context, const struct sutra_nsys *nsys, int64_t rank,
                                         const char *path, uint64_t *n_bytes, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
