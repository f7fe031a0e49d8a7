/*
 * pair.h - common parts of commands that link two traces: reading the pair, the result in one line, and the options and
 * the report of .et files with measured times.
 */
#ifndef CLI_PAIR_H
#define CLI_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/job.h"
#include "facts/validity.h"
#include "sutra/convert.h"
#include "sutra/legacy.h"
#include "text/quantities.h"

/*
 * Two traces: options, checks, reading.
 */

enum pair_trace { HOST_TRACE, DEVICE_TRACE };

/* First member of the struct of a command that links two traces. */
struct pair_job {
    struct job job;
    const char *traces[2]; /* paths, by enum pair_trace */
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
    struct trace_validity validity; /* of both */
};

extern const char *const log_level_names[];

#define PAIR_ROWS_STATS JOB_ROW_INPUT, JOB_ROW_FORCE, JOB_ROW_STATS, JOB_ROW_QUIET
/* Of the programs that sutra replaces; --quiet and --verbose are our own. */
#define PAIR_ROW_LOG_LEVEL                                                                                             \
    {                                                                                                                  \
        "log-level", 0, OPTION_CHOICE, "LEVEL", AT(job, log_level),                                                    \
            .choices = log_level_names,                                                                                \
            .help = "print messages of LEVEL and above, as chakra_trace_link does: DEBUG (as --verbose), INFO, "       \
                    "WARNING (as --quiet), ERROR or CRITICAL (no warnings) (default: INFO)",                           \
            .group = group_more                                                                                        \
    }

/* The checks return SUTRA_OK, or SUTRA_USAGE after reporting the error. */

/* Takes each trace that no option names from the operands. */
int pair_check_operands(struct pair_job *pair);
/* Both traces must be named. */
int pair_check_named(const struct pair_job *pair);
/* At most one trace is standard input. Makes the traces the inputs of the job. */
int pair_check_files(struct pair_job *pair);

/* For an error of reading the host trace: if the two traces are swapped, appends this and the right command to it.
 * Returns its status. */
enum sutra_status explain_swapped_pair(const struct job *job, const char *host, const char *device,
                                       struct sutra_error *error);

/* Checks the outputs, creates the context and reads both traces. */
enum sutra_status pair_read(struct pair_job *pair, struct sutra_error *error);
void pair_release(struct pair_job *pair);

/* Writes the command that links two traces, quoted for a shell; `output` NULL: "OUT". False: no command links them, or
 * `text` is too small. */
bool advice_command(const struct sutra_advice *advice, const char *host, const char *device, const char *output,
                    char *text, size_t size);

/*
 * The result in one line: how many CPU operators and GPU activities are linked, and why the others are not.
 */

/* At least this share of the CPU operators and of the GPU activities of a complete result is linked. */
#define COMPLETE_PERCENT 95

enum link_result { LINK_NOTHING, LINK_PARTLY, LINK_COMPLETE };

/* Why CPU operators or GPU activities are not linked. */
struct link_cause {
    bool is_gpu;
    uint64_t n;
    const char *text; /* follows "3 CPU operators are": the cause, and its fix */
};

struct link_coverage {
    uint64_t n_cpu, n_cpu_linked; /* CPU operators of the host trace */
    uint64_t n_gpu, n_gpu_linked; /* GPU activities of the device trace */
    double share;                 /* the smaller share of both, 0 to 1 */
    enum link_result result;
    struct link_cause cause; /* the most frequent one of the smaller share */
};

/* Sets the share, the result and the cause from the counts. */
void coverage_classify(struct link_coverage *coverage, const struct link_cause *causes, size_t n);
/* `validity`: of the traces, or NULL. */
struct link_coverage coverage_of_link(const struct sutra_link_report *report, const struct sutra_link_match *match,
                                      const struct trace_validity *validity);
/* Prints the result on standard error; `output` is the name of the output. */
void coverage_print(const struct link_coverage *coverage, const char *output);
/* "3 of 4 CPU operators and 5 of 6 GPU activities" */
struct figure coverage_text(const struct link_coverage *coverage);

/*
 * .et files with measured times.
 */

struct faithful_values {
    const char *min_idle_us;
    int gpu;                               /* index into faithful_gpus, or GPU_DEFAULT */
    struct sutra_faithful_options options; /* set by faithful_check() */
};

#define GPU_DEFAULT (-1)
#define GPU_STREAMS 1
extern const char *const faithful_gpus[];

/* `type` has a member `faithful`; `what` names the output. */
#define FAITHFUL_ROWS(type, what, heading)                                                                             \
    {"gpu",                                                                                                            \
     0,                                                                                                                \
     OPTION_CHOICE,                                                                                                    \
     "HOW",                                                                                                            \
     AT(type, faithful.gpu),                                                                                           \
     .choices = faithful_gpus,                                                                                         \
     .help = "run one GPU activity at a time (one), as ASTRA-sim does, or one per stream (streams), in " what          \
             " (default: one; streams for the ranks of a job)",                                                        \
     .group = heading},                                                                                                \
    {                                                                                                                  \
        "min-idle-us", 0, OPTION_TEXT, "US", AT(type, faithful.min_idle_us),                                           \
            .help = "write gaps without recorded work that are longer than US microseconds as nodes of " what          \
                    ", -1 for none (default: 5)",                                                                      \
            .group = heading                                                                                           \
    }

/* Whether one of the options is given. */
bool faithful_is_requested(const struct faithful_values *values);
/* SUTRA_OK, or SUTRA_USAGE after reporting the error. */
int faithful_check(struct faithful_values *values);
/* Prints the changes on standard error, before the lines about the run. */
void faithful_summary_print(const struct sutra_faithful_report *report);
/* Warns if the simulated time differs from the measured time. */
void faithful_warn(const struct sutra_faithful_report *report);

#endif
