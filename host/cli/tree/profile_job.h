/*
 * profile_job.h - common parts of commands on a profile: options, argument checks, reading the trace, closing lines.
 */
#ifndef CLI_PROFILE_JOB_H
#define CLI_PROFILE_JOB_H

#include <stdbool.h>

#include "cli/tool/arguments.h"
#include "cli/tool/job.h"

extern const char *const torch_versions[]; /* in the order of enum sutra_torch_version */

/* First member, `profile`, of the values of such a command. */
struct profile_values {
    const char *trace, *host;
    struct job_values job;
    int torch_version;
    bool rocm;
};

#define PROFILE_ROWS_FILES                                                                                             \
    JOB_ROW_OUTPUT(profile.job), {                                                                                     \
        "host-trace", 0, OPTION_FILE, "ET", AT(profile.host),                                                          \
            .help = "read thread numbers and tensor addresses from the host trace ET of the same run"                  \
    }
#define PROFILE_ROWS_HOW                                                                                               \
    {"torch-version",                                                                                                  \
     0,                                                                                                                \
     OPTION_CHOICE,                                                                                                    \
     "VERSION",                                                                                                        \
     AT(profile.torch_version),                                                                                        \
     .choices = torch_versions,                                                                                        \
     .help = "apply the rules of PyTorch 2 (2), or of PyTorch up to 1.13 (1.13) (default: 2)"},                        \
        {"rocm", 0, OPTION_FLAG, AT(profile.rocm),                                                                     \
         .help = "use the first of several starts of a flow, not the last one before its end"},                        \
        WHERE_ROWS(profile.job.where), JOB_ROW_LENIENT(profile.job), JOB_ROW_INPUT(profile.job.most_input_bytes),      \
        JOB_ROW_STATS(profile.job),                                                                                    \
        {"quiet", 'q', OPTION_FLAG, AT(profile.job.quiet), .help = "print no progress, no summary and no warnings"},   \
        JOB_ROW_VERBOSE(profile.job)

/* What lives while such a command works. */
struct profile_job {
    const struct profile_values *values;
    struct job job;
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_profile *profile;
    enum sutra_status stats_status; /* what writing the statistics came to */
};

/* Takes the input (if there is one), and checks that files differ. SUTRA_USAGE after it has said what is wrong. */
int profile_values_check(struct profile_values *values, const char *input, bool there, const struct command *command);

struct profile_job profile_job_start(const struct profile_values *values);

/* Reads the profile: that of the trace, with inputs if they are wanted, or of the file `events` if it is not NULL. */
enum sutra_status profile_job_read(struct profile_job *job, const char *events, bool inputs, struct sutra_error *error);

/* Takes the figures; whether there is to be a summary. */
bool profile_job_finish(struct profile_job *job);

/* The first lines of the summary, on standard error. */
void profile_job_print(const struct profile_job *job, const char *done);

/* Writes the statistics if they are wanted: counts of the profile, then those of what the command made of it. */
void profile_job_write_stats(struct profile_job *job, const struct named_count *counts, size_t n);

/* Prints the error if there is one, and frees all; returns the exit code. */
int profile_job_end(struct profile_job *job, enum sutra_status status, const struct sutra_error *error);

#endif
