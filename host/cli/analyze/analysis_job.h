/*
 * analysis_job.h - what the commands that analyze traces into a page and a folder have in common: their options, the
 * checks before the work, the context, and the closing lines.
 */
#ifndef CLI_ANALYSIS_JOB_H
#define CLI_ANALYSIS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/analyze/result_folder.h"
#include "cli/tool/arguments.h"
#include "cli/tool/job.h"
#include "cli/tool/trace_list.h"

/* First member, `analysis`, of the values of such a command. */
struct analysis_values {
    struct job_values job; /* output: a folder */
    const char *part;      /* of those who share the ranks */
    bool no_report, open, finish;
    bool may_meet; /* a trace may stand twice among the inputs */
};

/* Rows of the options that the commands word alike; AT(field) gives a field's place in the command's values. */
#define ANALYSIS_ROWS_WHERE                                                                                            \
    {"open", 0, OPTION_FLAG, AT(analysis.open),                                                                        \
     .help = "print the path of the report, and its address for a browser"},                                           \
        WHERE_ROWS(analysis.job.where)
#define ANALYSIS_ROWS_HOW                                                                                              \
    JOB_ROW_LENIENT(analysis.job), JOB_ROW_INPUT(analysis.job.most_input_bytes), JOB_ROW_FORCE(analysis.job.force),    \
        JOB_ROW_STATS(analysis.job),                                                                                   \
        {"quiet", 'q', OPTION_FLAG, AT(analysis.job.quiet),                                                            \
         .help = "no progress and no page, only warnings and errors"},                                                 \
        JOB_ROW_VERBOSE(analysis.job)

/* Those of commands whose ranks several processes may share (analysis_share.h). */
#define ANALYSIS_ROWS_SHARE                                                                                            \
    {"part",                                                                                                           \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "K/N",                                                                                                            \
     AT(analysis.part),                                                                                                \
     .help = "only analyze each Nth trace from the Kth on, and leave what is found in DIR for --finish: for Slurm "    \
             "arrays and the like"},                                                                                   \
    {                                                                                                                  \
        "finish", 0, OPTION_FLAG, AT(analysis.finish),                                                                 \
            .help = "read no trace, but take what the parts have left in DIR; all else as they were called"            \
    }

/* Whether there is a trace and the flags go together: SUTRA_OK, or SUTRA_USAGE after it has said what is wrong. */
int analysis_values_check(const struct analysis_values *values, const struct operands *operands,
                          const struct command *command);

/* The numbers of --rank; false after it has said what is wrong. */
bool analysis_ranks_take(const struct word_list *words, int64_t ranks[WORDS_MAX]);

/* Of one trace, and of many. */
extern const struct stage_share analysis_stages[];

/* Starts the clock, and shows what is wanted. */
struct job analysis_job_start(const struct analysis_values *values);

/* Places the results, does the work, and keeps them if it is done; returns the exit code after it has said what is
 * wrong. */
int analysis_job_work(const struct analysis_values *values, const struct trace_list *traces,
                      struct result_folder *results, enum sutra_status (*work)(void *arg, struct sutra_error *error),
                      void *arg);

/* The closing lines, after the command's page, where the report is if it is to be opened, and the statistics, which
 * `print` writes of `result`. Returns the exit code. */
int analysis_job_close(const struct job *job, bool open, void (*print)(FILE *file, const void *result),
                       const void *result);

#endif
