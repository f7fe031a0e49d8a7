/*
 * analysis_job.h - what the commands that analyze traces into a page and a folder have in common: their options, the
 * checks before the work, the context, and the closing lines.
 */
#ifndef CLI_ANALYSIS_JOB_H
#define CLI_ANALYSIS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/tool/arguments.h"
#include "cli/tool/message.h"
#include "cli/tool/run_figures.h"
#include "cli/tool/watch.h"
#include "cli/tool/where.h"
#include "sutra/sutra.h"

/* First member, `analysis`, of the values of such a command. */
struct analysis_values {
    const char *output, *stats;
    struct where where;
    bool no_report, open, strict, lenient, quiet, verbose;
};

/* Rows of the options that the commands word alike; AT(field) gives a field's place in the command's values. */
#define ANALYSIS_ROWS_WHERE                                                                                            \
    {"open", 0, OPTION_FLAG, AT(analysis.open),                                                                        \
     .help = "print the path of the report, and its address for a browser"},                                           \
        WHERE_ROWS(analysis.where)
#define ANALYSIS_ROWS_HOW                                                                                              \
    {"lenient", 0, OPTION_FLAG, AT(analysis.lenient),                                                                  \
     .help = "take fields of a wrong type as absent instead of failing"},                                              \
        {"stats",                                                                                                      \
         0,                                                                                                            \
         OPTION_FILE,                                                                                                  \
         "FILE",                                                                                                       \
         AT(analysis.stats),                                                                                           \
         .help = "write counts, seconds of each stage and memory to FILE as JSON; - is standard output"},              \
        {"quiet", 'q', OPTION_FLAG, AT(analysis.quiet), .help = "no progress and no page, only warnings and errors"},  \
    {                                                                                                                  \
        "verbose", 'v', OPTION_FLAG, AT(analysis.verbose), .help = "also say what is done and why"                     \
    }

/* Whether there is a trace and the flags go together: SUTRA_OK, or SUTRA_USAGE after it has said what is wrong. */
int analysis_values_check(const struct analysis_values *values, const struct operands *operands,
                          const struct command *command);

/* Checks that the statistics can be written and overwrite no input, and makes the folder for the results if there is to
 * be one. Returns SUTRA_OK, or another exit code after it has said what is wrong. */
int analysis_values_place(const struct analysis_values *values, const char *const *inputs, size_t n_inputs);

/* What lives while such a command works. */
struct analysis_job {
    const struct analysis_values *values;
    struct watch watch;
    double begin;
    struct sutra_context *context;
    struct run_figures figures;
};

struct analysis_job analysis_job_start(const struct analysis_values *values);

/* Makes the context. */
enum sutra_status analysis_job_open(struct analysis_job *job, struct sutra_error *error);

/* Takes the figures at the end of the work: bytes of the inputs, 0 if one of them is a pipe, and the most that were
 * mapped at a time. */
void analysis_job_measure(struct analysis_job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes);

/* The closing lines, after the command's page, and the statistics, which `print` writes of `result`. Returns the exit
 * code. */
int analysis_job_close(const struct analysis_job *job, void (*print)(FILE *file, const void *result),
                       const void *result);

#endif
