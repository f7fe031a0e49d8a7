/*
 * rank_job.h - linking the ranks of a job, several at a time.
 *
 *     plan --next rank--> worker: record there? else read, link, write, record
 *                         worker: ...
 *
 * The file and the record of a rank are replaced atomically. A file that is current is not written again, so an
 * interrupted job continues where it stopped. A rank that cannot be linked gets a record too, and the job continues.
 *
 * There are as many workers as threads; with fewer ranks than threads, each worker uses several threads. A worker
 * starts a rank when the memory limit allows it. The estimate is the size of its files times the most memory per byte
 * that earlier ranks needed. At least one rank is always running.
 */
#ifndef JOB_RANK_JOB_H
#define JOB_RANK_JOB_H

#include "base/memory.h"
#include "job/record.h"

/* Maximum number of ranks that run in parallel. */
#define RANK_WORKERS_MAX 256

/* Progress of a job. */
struct job_progress {
    uint64_t n_ranks, n_done; /* ranks of this run; ranks linked by an earlier run count as done */
    uint64_t bytes, bytes_done;
    uint64_t n_before; /* linked by an earlier run */
};

struct rank_job_options {
    const char *folder, *ending, *words; /* extension of the outputs, such as ".json"; the options as text */
    const char *into;                    /* "", or the folder inside `folder` for the files: RECORD_FOLDER "/" */
    struct sutra_link_options link;
    struct link_output output;
    struct sutra_context_options context; /* threads, strict, lenient, force */
    struct sutra_context *device_of;      /* its CUDA device, if it has one, computes for all ranks */
    uint64_t memory;                      /* most bytes in flight; 0: any */
    bool again;                           /* link ranks again that are already linked */
    /* Selects the next pair for a worker; false: no pair is left. Called by one thread at a time. NULL: all pairs, in
     * the order of the plan. */
    bool (*next)(void *arg, size_t *pair);
    /* Called after each pair, by one thread at a time; `error`: why it cannot be linked, or NULL. May be NULL. */
    void (*done)(void *arg, size_t pair, const struct sutra_error *error, const struct job_progress *progress);
    /* As sutra_context_options.temporary, for each of RANK_WORKERS_MAX slots; by one thread at a time. May be NULL. */
    void (*temporary)(void *arg, unsigned slot, const char *path);
    void *arg;
};

/* Links pairs until none is left. Fails only if the job cannot continue, such as without threads; the error of a single
 * rank is in its record. */
enum sutra_status rank_job_run(const struct job_plan *plan, const struct rank_job_options *options,
                               struct sutra_error *error);

/* The name of a rank's file. */
#define RANK_FILE_MAX 72
void rank_file_name(int64_t rank, const char *ending, char name[RANK_FILE_MAX]);

/* The name of the file with its kernels for a resource per stream, in RECORD_FOLDER. */
void rank_streams_name(int64_t rank, const char *ending, char name[RANK_FILE_MAX]);

#endif
