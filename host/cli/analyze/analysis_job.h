/*
 * analysis_job.h - common parts of the commands that analyze traces into a terminal report and a directory: options,
 * checks, context, closing lines.
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
#include "report/page_links.h"

/* Ranges of ranks at most. */
#define ANALYSIS_RANGES_MAX 256

/* What of a job is analyzed. */
struct part_values {
    struct word_list ranks;
    const char *step, *name, *stream, *category;
    uint64_t from_us, to_us;
};

/* The same as the library takes it. */
struct analysis_part {
    struct sutra_restriction restriction;
    struct sutra_rank_range ranks[ANALYSIS_RANGES_MAX];
};

/* First member, `analysis`, of the values of such a command. */
struct analysis_values {
    struct job_values job; /* output: a folder */
    struct part_values wanted;
    const char *part; /* of those who share the ranks */
    int tables;       /* enum sutra_table_format */
    bool no_report, open, finish;
    bool may_meet; /* a trace may stand twice among the inputs */
};

/* Rows of the options that the commands word alike; AT(field) gives a field's place in the command's values. */
#define ANALYSIS_ROWS_WHERE                                                                                            \
    {"no-report", 0, OPTION_FLAG, AT(analysis.no_report), .help = "write only the tables, no report"},                 \
        {"open", 0, OPTION_FLAG, AT(analysis.open), .help = "print the path and the browser URL of the report"},       \
        WHERE_ROWS(analysis.job.where), {                                                                              \
        "strict", 0, OPTION_FLAG, AT(analysis.job.strict), .help = "fail if one of several traces cannot be read"      \
    }
#define ANALYSIS_ROWS_HOW                                                                                              \
    JOB_ROW_LENIENT(analysis.job), JOB_ROW_INPUT(analysis.job.most_input_bytes), JOB_ROW_FORCE(analysis.job.force),    \
        JOB_ROW_STATS(analysis.job),                                                                                   \
        {"quiet", 'q', OPTION_FLAG, AT(analysis.job.quiet),                                                            \
         .help = "print only warnings and errors, no progress and no summary"},                                        \
        JOB_ROW_VERBOSE(analysis.job)

/* Those of commands whose ranks several processes may share (analysis_share.h). */
#define ANALYSIS_ROWS_SHARE                                                                                            \
    {"shard",                                                                                                          \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "K/N",                                                                                                            \
     AT(analysis.part),                                                                                                \
     .help = "analyze every N-th trace, from the K-th on, and write partial results to DIR for --combine; 'slurm' "    \
             "reads K/N from the variables of a Slurm array task"},                                                    \
    {                                                                                                                  \
        "combine", 0, OPTION_FLAG, AT(analysis.finish),                                                                \
            .help = "combine the partial results in DIR without reading traces; repeat the options of --shard"         \
    }

/* What a trace's analysis writes, of tables. */
#define ANALYSIS_ROW_OUTPUT(PAGE)                                                                                      \
    {                                                                                                                  \
        "output", 'o', OPTION_FILE, "DIR", AT(analysis.job.output),                                                    \
            .help = "write a file for each table and " PAGE ".html with charts into directory DIR"                     \
    }
#define ANALYSIS_ROW_FORMAT                                                                                            \
    {                                                                                                                  \
        "format", 'f', OPTION_CHOICE, "FORMAT", AT(analysis.tables),                                                   \
            .choices = table_formats, .help = "write tables as csv, or as json arrays of rows (default: csv)"          \
    }

/* Those that restrict an analysis to a part of the job. */
#define ANALYSIS_ROWS_PART                                                                                              \
    {"rank",                                                                                                            \
     0,                                                                                                                 \
     OPTION_WORDS,                                                                                                      \
     "LIST",                                                                                                            \
     AT(analysis.wanted.ranks),                                                                                         \
     .help = "analyze only these ranks, such as 0-3,8; may be repeated"},                                               \
        {"step",                                                                                                        \
         0,                                                                                                             \
         OPTION_TEXT,                                                                                                   \
         "N",                                                                                                           \
         AT(analysis.wanted.step),                                                                                      \
         .help = "analyze only GPU activity launched in ProfilerStep#N, or in a range such as 3-5"},                    \
        {"from-us",                                                                                                     \
         0,                                                                                                             \
         OPTION_NUMBER,                                                                                                 \
         "US",                                                                                                          \
         AT(analysis.wanted.from_us),                                                                                   \
         .maximum = UINT32_MAX,                                                                                         \
         .help = "analyze only GPU activity launched at least US microseconds after the first event"},                  \
        {"to-us",                                                                                                       \
         0,                                                                                                             \
         OPTION_NUMBER,                                                                                                 \
         "US",                                                                                                          \
         AT(analysis.wanted.to_us),                                                                                     \
         .minimum = 1,                                                                                                  \
         .maximum = UINT32_MAX,                                                                                         \
         .help = "analyze only GPU activity launched less than US microseconds after the first event"},                 \
        {"name",                                                                                                        \
         0,                                                                                                             \
         OPTION_TEXT,                                                                                                   \
         "TEXT",                                                                                                        \
         AT(analysis.wanted.name),                                                                                      \
         .help = "analyze only GPU activity whose name or whose operator's name contains TEXT"},                        \
        {"stream", 0, OPTION_TEXT, "ID", AT(analysis.wanted.stream), .help = "analyze only GPU activity on stream ID"}, \
    {                                                                                                                   \
        "category", 0, OPTION_TEXT, "NAME", AT(analysis.wanted.category),                                               \
            .help = "analyze only GPU activity of operators in category NAME (GEMM, SDPA_fwd, elementwise, ...)"        \
    }

/* Whether there is a trace and the flags go together: SUTRA_OK, or SUTRA_USAGE after it has said what is wrong. */
int analysis_values_check(const struct analysis_values *values, const struct operands *operands,
                          const struct command *command);

/* The restriction that the values stand for: SUTRA_OK, or SUTRA_USAGE after it has said what is wrong. */
int analysis_part_take(const struct part_values *values, struct analysis_part *part);

/* Of one trace, and of many. */
extern const struct stage_share analysis_stages[];

/* Starts the clock, and shows what is wanted. */
struct job analysis_job_start(const struct analysis_values *values);

/* Places the results, does the work, and keeps them if it is done; returns the exit code after it has said what is
 * wrong. */
int analysis_job_work(const struct analysis_values *values, const struct trace_list *traces,
                      struct result_folder *results, enum sutra_status (*work)(void *arg, struct sutra_error *error),
                      void *arg);

/* Has the pages of the folder lead to each other; then the closing lines, after what the command prints: where the
 * report is (PAGE.html in the folder) if it is to be opened, and the statistics, which `print` writes of `result`.
 * Returns the exit code. */
int analysis_job_close(const struct job *job, const char *page, void (*print)(FILE *file, const void *result),
                       const void *result);

#endif
