/*
 * rank_job.h - linking the ranks of a job, several at a time.
 *
 *     plan --next rank--> worker: record there? else read, link, write, record
 *                         worker: ...
 *
 * A rank's file and its record appear whole; what is there already is left as it is, so that a job that was interrupted
 * goes on where it stopped. A rank that cannot be linked is recorded as well, and the others are done.
 *
 * There are as many workers as threads, and more threads for each where there are fewer ranks. A worker begins a rank
 * when the memory that is allowed has room for it, as far as the size of its files tells; how much a byte of them needs
 * is taken from what the ranks before needed at most. One rank is always under way.
 */
#ifndef JOB_RANK_JOB_H
#define JOB_RANK_JOB_H

#include "base/memory.h"
#include "job/rank_link.h"

/* Most ranks that are under way at a time. */
#define RANK_WORKERS_MAX 256

/* How far a job is. */
struct job_progress {
    uint64_t n_ranks, n_done; /* of this run; those that were done before count as done */
    uint64_t bytes, bytes_done;
    uint64_t n_before; /* done before */
};

struct rank_job_options {
    const char *folder, *ending, *words; /* of the outputs: ".json"; the options as a text */
    const char *into;                    /* "", or a folder in that one: RECORD_FOLDER "/" */
    struct sutra_link_options link;
    struct link_output output;
    struct sutra_context_options context; /* threads, device, strict, lenient, force */
    uint64_t memory;                      /* most bytes in flight; 0: any */
    bool again;                           /* also what is done already */
    /* Gives the next pair to a worker, or none; by one thread at a time. NULL: all, in the order of the plan. */
    bool (*next)(void *arg, size_t *pair);
    /* A pair is done; by one thread at a time. `error` is why it cannot be linked, or NULL. May be NULL. */
    void (*done)(void *arg, size_t pair, const struct sutra_error *error, const struct job_progress *progress);
    /* As of a context, by one thread at a time, for each of RANK_WORKERS_MAX places. May be NULL. */
    void (*temporary)(void *arg, unsigned place, const char *path);
    void *arg;
};

/* Works until there is no next pair. Errors are those of the work as a whole, as no threads: what keeps a rank from
 * being linked stands in its record. */
enum sutra_status rank_job_run(const struct job_plan *plan, const struct rank_job_options *options,
                               struct sutra_error *error);

/* The name of a rank's file. */
#define RANK_FILE_MAX 72
void rank_file_name(int64_t rank, const char *ending, char name[RANK_FILE_MAX]);

#endif
