/*
 * check.h - common parts of commands on .et files: the input file, in addition to job.h.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "cli/job.h"

struct et_job {
    struct job job;
    struct sutra_et *et;
};

/* Makes the context. The job must stay where it is until et_job_end(). */
enum sutra_status et_job_start(struct et_job *job, const struct job_values *values, struct sutra_error *error);

/* Reads a file in place of the one before. */
enum sutra_status et_job_read(struct et_job *job, const char *path, const struct sutra_et_read_options *options,
                              struct sutra_error *error);

/* Ends the job, and prints the error if `status` tells of one; returns the program's exit code. */
int et_job_end(struct et_job *job, enum sutra_status status, const struct sutra_error *error);

#endif
