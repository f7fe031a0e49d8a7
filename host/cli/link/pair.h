/*
 * pair.h - common parts of `sutra link` and `sutra link-legacy`: options, argument checks, and reading both traces.
 */
#ifndef CLI_PAIR_H
#define CLI_PAIR_H

#include <stdbool.h>

#include "cli/tool/arguments.h"
#include "cli/tool/job.h"

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

#endif
