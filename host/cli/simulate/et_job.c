/*
 * et_job.c - opens and closes the context and the .et file of a command.
 */
#include "cli/simulate/et_job.h"

enum sutra_status et_job_start(struct et_job *job, const struct job_values *values, struct sutra_error *error) {
    *job = (struct et_job){.job = job_start(values, !values->quiet, !values->quiet, false)};
    return job_open(&job->job, values->output, error);
}

enum sutra_status et_job_read(struct et_job *job, const char *path, const struct sutra_et_read_options *options,
                              struct sutra_error *error) {
    sutra_et_free(job->et);
    job->et = NULL;
    enum sutra_status status = sutra_et_read(job->job.context, path, options, &job->et, error);
    progress_clear(&job->job.watch.progress);
    return status;
}

int et_job_end(struct et_job *job, enum sutra_status status, const struct sutra_error *error) {
    sutra_et_free(job->et);
    return job_end(&job->job, status, error);
}
