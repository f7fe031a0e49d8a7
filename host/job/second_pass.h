/*
 * second_pass.h - the files of a simulated job's ranks, once it is known of all when they meet.
 *
 *     DIR/.job/rank.3.et, made by the rank alone --meetings of the job--> DIR/rank.3.et
 *     DIR/.job/rank.3.met     what that was made of, so that it is not made again
 *
 * Several ranks are under way at a time, each by one thread. Cost: O(bytes) of the files.
 */
#ifndef JOB_SECOND_PASS_H
#define JOB_SECOND_PASS_H

#include "job/whole.h"

struct second_pass_options {
    const char *folder;
    struct sutra_context_options context; /* n_threads ranks at a time */
    uint64_t memory;                      /* most bytes; 0: any */
    /* As of a context, for each of RANK_WORKERS_MAX places, by one thread at a time. May be NULL. */
    void (*temporary)(void *arg, unsigned place, const char *path);
    void *arg;
};

/* Makes the files of all ranks that are done, and removes those of all others; the sizes of the ranks' files are those
 * of these then. For ASTRA-sim, also writes what it needs beside them. The first error ends it. */
enum sutra_status second_pass_run(struct job_whole *whole, const struct second_pass_options *options,
                                  struct sutra_error *error);

#endif
