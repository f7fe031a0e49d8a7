/*
 * link.h - the output name that trace_link derives from the name of the host trace.
 */
#ifndef CLI_LINK_H
#define CLI_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/job.h"
#include "sutra/convert.h"
#include "sutra/legacy.h"

/* "a/host.json" gives "a/host_plus.json": the last ".json" of the file's name is replaced, or all in the whole path if
 * `everywhere`, as the older program does; a name without one gets "_plus.json" at its end. The caller frees it; NULL:
 * out of memory. */
char *plus_path(const char *host, bool everywhere);

/*
 * Common parts of `sutra link` and `sutra link-legacy`: options, argument checks, and reading both traces.
 */

/* Places in log_levels; each level shows what is at it and above. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_CRITICAL };

/* The words of --log-level; ended by NULL. */
extern const char *const pair_log_levels[];

/* First member, `pair`, of the values of such a command. */
struct pair_values {
    const char *host, *device;
    struct job_values job;
    int log_level;
    uint64_t most_bytes; /* of the output; 0: any number */
};

/* Rows of the options that the commands word alike; AT(field) gives a field's place in the command's values. */
#define PAIR_ROWS_STATS                                                                                                \
    JOB_ROW_INPUT(pair.job.most_input_bytes), JOB_ROW_FORCE(pair.job.force), JOB_ROW_STATS(pair.job), {                \
        "quiet", 'q', OPTION_FLAG, AT(pair.job.quiet), .help = "print only warnings and errors"                        \
    }
#define PAIR_ROW_MAX_OUTPUT                                                                                            \
    {                                                                                                                  \
        "max-output", 0, OPTION_NUMBER, "BYTES", AT(pair.most_bytes),                                                  \
            .maximum = UINT64_MAX,                                                                                     \
            .help = "fail before writing if ET+ would take about BYTES or more, for example 500M"                      \
    }
#define PAIR_ROW_LOG_LEVEL                                                                                             \
    {                                                                                                                  \
        "log-level", 0, OPTION_CHOICE, "LEVEL", AT(pair.log_level),                                                    \
            .choices = pair_log_levels,                                                                                \
            .help = "print messages of LEVEL and above: DEBUG, INFO, WARNING (as --quiet), ERROR or CRITICAL (no "     \
                    "warnings) (default: INFO)"                                                                        \
    }

/* All return SUTRA_OK, or SUTRA_USAGE after they have said what is wrong. */

/* Joins the words for the files: each is an option, or else the next operand. */
int pair_take_operands(struct pair_values *values, const struct operands *operands);
/* Whether both traces are named. */
int pair_check_named(const struct pair_values *values, const struct command *command);
/* Whether the flags go together; then --quiet lowers the log level. */
int pair_check_flags(struct pair_values *values);
/* Whether the files, the output's among them, are different ones. */
int pair_check_files(const struct pair_values *values);

/* What lives while two traces are linked. */
struct pair {
    const struct pair_values *values;
    struct job job;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
};

/* Starts the job; progress and warnings are shown as the log level says, notes if `notes` is true. */
struct pair pair_start(const struct pair_values *values, bool notes);
/* Checks the outputs, makes the context and reads both traces. */
enum sutra_status pair_read(struct pair *pair, struct sutra_error *error);
/* Takes the figures but for output_bytes. */
void pair_measure(struct pair *pair);
void pair_end(struct pair *pair);

/*
 * Common parts of commands that write .et files with measured times: options and closing lines.
 */

/* Member of the values of such a command. */
struct faithful_values {
    const char *rest;
    int gpu;        /* place in faithful_gpus; GPU_UNSAID may stand in for the first before the words are read */
    double rest_us; /* of `rest`, once it is checked */
};

#define GPU_UNSAID  (-1)
#define GPU_STREAMS 1
extern const char *const faithful_gpus[];

/* Rows of the options; `faithful` is the path to the struct for the file's AT(field), `what` names the output. */
#define FAITHFUL_ROWS(faithful, what)                                                                                  \
    {"gpu",                                                                                                            \
     0,                                                                                                                \
     OPTION_CHOICE,                                                                                                    \
     "HOW",                                                                                                            \
     AT(faithful.gpu),                                                                                                 \
     .choices = faithful_gpus,                                                                                         \
     .help = "run one GPU activity at a time (one), as ASTRA-sim does, or one per stream (streams), in " what          \
             " (default: one; streams for the ranks of a job)"},                                                       \
    {                                                                                                                  \
        "min-idle-us", 0, OPTION_TEXT, "US", AT(faithful.rest),                                                        \
            .help = "write gaps without recorded work that are longer than US microseconds as nodes of " what          \
                    ", -1 for none (default: 5)"                                                                       \
    }

/* Whether one of the options was given. */
bool faithful_is_asked(const struct faithful_values *values);

/* SUTRA_OK, or another exit code after saying what is wrong. */
int faithful_check(struct faithful_values *values);

struct sutra_faithful_options faithful_options(const struct faithful_values *values);

/* Lines of the summary on standard error, to stand before those about the run. */
void faithful_summary_print(const struct sutra_faithful_report *report);

/* Warns where the simulated time is not the measured one. */
void faithful_warn(const struct sutra_faithful_report *report);

/*
 * The command that links two traces, as a user would type it.
 */

/* Writes the command line, quoted for a shell; `output` may be NULL for "OUT". False: no command links them, or there
 * is no room. */
bool advice_command(const struct sutra_advice *advice, const char *host, const char *device, const char *output,
                    char *text, size_t size);

#endif
