/*
 * et_job.c - a context and a file, from the start of a command to its end.
 */
#include "cli/simulate/et_job.h"

#include "cli/tool/message.h"

enum sutra_status et_job_start(struct et_job *job, bool quiet, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .device = SUTRA_DEVICE_CPU};
    *job = (struct et_job){.watch = watch_start(!quiet, !quiet, false)};
    watch_attach(&job->watch, &options);
    return sutra_context_create(&options, &job->context, error);
}

enum sutra_status et_job_read(struct et_job *job, const char *path, const struct sutra_et_read_options *options,
                              struct sutra_error *error) {
    sutra_et_free(job->et);
    job->et = NULL;
    enum sutra_status status = sutra_et_read(job->context, path, options, &job->et, error);
    progress_clear(&job->watch.progress);
    return status;
}

int et_job_end(struct et_job *job, enum sutra_status status, const struct sutra_error *error) {
    progress_clear(&job->watch.progress);
    if (status)
        message_error(error);
    sutra_et_free(job->et);
    sutra_context_free(job->context);
    return (int)status;
}
