/*
 * analysis.h - common parts of the commands that analyze traces into a terminal report and a directory: options,
 * checks, sharing of ranks between processes, result files, closing lines.
 *
 *     arguments --> traces, restriction --check--> work --> results --> report: page, closing lines, statistics
 */
#ifndef CLI_ANALYZE_ANALYSIS_H
#define CLI_ANALYZE_ANALYSIS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/ranks.h"
#include "analyze/table.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "compare/trend.h"
#include "report/page.h"
#include "sutra/table.h"

struct analysis;

/* Functions of an analysis. The struct of each analysis begins with a struct analysis. */
struct analysis_kind {
    const char *page;    /* PAGE.html is the report */
    bool reads_captures; /* of CUDA graphs: --capture, and the ones in a run */
    bool rereads;        /* a single trace may be read twice: a stream is copied first */
    /* Prints what is before the i-th role of a run with several, which are analyzed one after another; i == n: after
     * the last one. NULL: the analysis is of one role and one window; else work() reads all windows if they are
     * selected. */
    void (*between_roles)(const struct analysis *analysis, size_t i, size_t n);
    /* Lists the traces as the inputs of the job; NULL: by job_list_inputs(). This and check() return SUTRA_OK, or
     * another exit code after reporting the error. */
    int (*list)(struct analysis *analysis);
    /* Checks what depends on the traces and the restriction; may be NULL. */
    int (*check)(struct analysis *analysis);
    /* Analyzes the traces in the context of the job, which is open, and writes the results if there is an output. */
    enum sutra_status (*work)(struct analysis *analysis, struct sutra_error *error);
    /* Prints the page and calls analysis_close(), in the process that has the results. Returns the exit code. */
    int (*report)(struct analysis *analysis);
};

/*
 * A directory of results, which is written completely or not at all.
 *
 *     results/                            existing files
 *     results/incomplete.sutra/           new files, moved to results/ when all are complete
 *
 * A run that fails or that a signal ends removes its files. A killed run (SIGKILL) leaves the incomplete directory; the
 * next run removes it if its lock is free. Before moving any file, sutra checks that all files can be moved; a signal
 * waits until all are moved. Cost: one rename per file.
 */
struct result_folder {
    const char *target; /* NULL: no files are written */
    const char *const *inputs;
    size_t n_inputs; /* inputs that must not be overwritten */
    bool force;      /* replace read-only files */
    int lock;
    char path[PATH_MAX]; /* incomplete.sutra */
};

#define ANALYSIS_RANGES_MAX 256

struct analysis {
    struct job job; /* output: a directory */
    const struct analysis_kind *kind;
    /* Options. */
    struct sutra_restriction restriction;
    struct option_list rank_lists, captures;
    struct trace_list capture_files; /* of `captures`: directories are replaced by their files */
    const char *shard;
    int table_format; /* index of table_formats: enum sutra_table_format, or TABLE_ARROW */
    bool no_report, print_path, combine;
    bool repeats_inputs;    /* a trace may be named twice */
    enum trace_names names; /* of the files that replace a directory */

    struct sutra_rank_range ranks[ANALYSIS_RANGES_MAX]; /* of rank_lists */
    struct result_folder results;
    /* Ranks that several processes share. */
    bool is_shared; /* the processes have begun */
    struct shard_plan plan;
    bool has_ended; /* the MPI processes know that this process has no more work */
    char share_folder[PATH_MAX];
    /* Of a run, whose windows are all selected: results are in a directory per window. NULL: one window, or no run. */
    const struct run_role *role;
};

#define ANALYSIS_ROWS_REPORT                                                                                           \
    {"no-report",        0, OPTION_FLAG, AT(analysis, no_report), .help = "write only the tables, no report",          \
     .group = group_more},                                                                                             \
    {                                                                                                                  \
        "print-path", 0, OPTION_FLAG, AT(analysis, print_path),                                                        \
            .help = "print the path and the browser URL of the report", .group = group_more                            \
    }
#define ANALYSIS_ROWS_WHERE                                                                                            \
    ANALYSIS_ROWS_REPORT, JOB_ROWS_DEVICE, {                                                                           \
        "strict", 0, OPTION_FLAG, AT(job, options.strict), .help = "fail if one of several traces cannot be read",     \
                                                           .group = group_more                                         \
    }
#define ANALYSIS_ROWS_HOW JOB_ROW_LENIENT, JOB_ROW_INPUT, JOB_ROW_FORCE, JOB_ROW_STATS, JOB_ROW_QUIET, JOB_ROW_VERBOSE

/* Of commands whose ranks several processes may share. */
#define ANALYSIS_ROWS_SHARE                                                                                            \
    {"shard",                                                                                                          \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "K/N",                                                                                                            \
     AT(analysis, shard),                                                                                              \
     .help = "analyze every N-th trace, from the K-th on, and write partial results to DIR for --combine; 'slurm' "    \
             "reads K/N from the variables of a Slurm array task",                                                     \
     .group = group_more},                                                                                             \
    {                                                                                                                  \
        "combine", 0, OPTION_FLAG, AT(analysis, combine),                                                              \
            .help = "combine the partial results in DIR without reading traces; repeat the options of --shard",        \
            .group = group_more                                                                                        \
    }

#define ANALYSIS_ROW_OUTPUT(PAGE)                                                                                      \
    {                                                                                                                  \
        "output", 'o', OPTION_FILE, "DIR", AT(job, output),                                                            \
            .help = "write a file for each table and " PAGE ".html with charts into directory DIR"                     \
    }
#define ANALYSIS_ROW_TABLE_FORMAT                                                                                      \
    {                                                                                                                  \
        "table-format", 0, OPTION_CHOICE, "FORMAT", AT(analysis, table_format),                                        \
            .choices = table_formats,                                                                                  \
            .help = "write tables as csv, as json arrays of rows, or as arrow files (default: csv)"                    \
    }

/* Of commands that attribute the kernels of graphs. */
#define ANALYSIS_ROW_CAPTURE                                                                                           \
    {                                                                                                                  \
        "capture", 0, OPTION_LIST, "TRACE", AT(analysis, captures),                                                    \
            .help = "attribute kernels of CUDA graphs by TRACE, which recorded the capture of the graphs or an eager " \
                    "run, or by all traces of a directory; may be repeated"                                            \
    }

/* Of commands that analyze a part of a job. */
#define ANALYSIS_ROWS_PART                                                                                             \
    JOB_ROWS_RUN,                                                                                                      \
        {"rank",                                                                                                       \
         0,                                                                                                            \
         OPTION_LIST,                                                                                                  \
         "LIST",                                                                                                       \
         AT(analysis, rank_lists),                                                                                     \
         .help = "analyze only these ranks, such as 0-3,8; may be repeated"},                                          \
        {"step",                                                                                                       \
         0,                                                                                                            \
         OPTION_TEXT,                                                                                                  \
         "N",                                                                                                          \
         AT(analysis, restriction.step),                                                                               \
         .help = "analyze only GPU activity launched in ProfilerStep#N, or in a range such as 3-5"},                   \
        {"from-us",                                                                                                    \
         0,                                                                                                            \
         OPTION_REAL,                                                                                                  \
         "US",                                                                                                         \
         AT(analysis, restriction.from_us),                                                                            \
         .maximum = UINT32_MAX,                                                                                        \
         .help = "analyze only GPU activity launched at least US microseconds after the first event",                  \
         .group = group_selection},                                                                                    \
        {"to-us",                                                                                                      \
         0,                                                                                                            \
         OPTION_REAL,                                                                                                  \
         "US",                                                                                                         \
         AT(analysis, restriction.to_us),                                                                              \
         .minimum = 1,                                                                                                 \
         .maximum = UINT32_MAX,                                                                                        \
         .help = "analyze only GPU activity launched less than US microseconds after the first event",                 \
         .group = group_selection},                                                                                    \
        {"name",                                                                                                       \
         0,                                                                                                            \
         OPTION_TEXT,                                                                                                  \
         "TEXT",                                                                                                       \
         AT(analysis, restriction.name),                                                                               \
         .help = "analyze only GPU activity whose name or whose operator's name contains TEXT",                        \
         .group = group_selection},                                                                                    \
        {"stream",                                                                                                     \
         0,                                                                                                            \
         OPTION_TEXT,                                                                                                  \
         "ID",                                                                                                         \
         AT(analysis, restriction.stream),                                                                             \
         .help = "analyze only GPU activity on stream ID",                                                             \
         .group = group_selection},                                                                                    \
    {                                                                                                                  \
        "category", 0, OPTION_TEXT, "NAME", AT(analysis, restriction.category),                                        \
            .help = "analyze only GPU activity of operators in category NAME (GEMM, SDPA_fwd, elementwise, ...)",      \
            .group = group_selection                                                                                   \
    }

/* Of commands that analyze the ranks of a job. */
#define ANALYSIS_ROWS ANALYSIS_ROWS_PART, ANALYSIS_ROWS_SHARE, ANALYSIS_ROWS_WHERE, ANALYSIS_ROWS_HOW

#define TABLE_ARROW (SUTRA_TABLE_JSON + 1)
extern const char *const table_formats[]; /* in the order of enum sutra_table_format; then TABLE_ARROW */
extern const struct stage_share analysis_stages[];

/* `check` and `work` of the commands. */
int analysis_check(struct job *job);
int analysis_run(struct job *job);

/* Fields of the commands, except for texts and `is_shared`; DEFAULTS are of their own struct. */
#define ANALYSIS_RUN(DEFAULTS)                                                                                         \
    .n_operands_min = 1, .n_operands_max = OPERANDS_ANY, .missing = "missing argument TRACE",                          \
    .size = sizeof(DEFAULTS), .defaults = &(DEFAULTS), .check = analysis_check, .writes = "", .work = analysis_run
#define ANALYSIS_WORK COMMAND_TEXTS, ANALYSIS_RUN(defaults)

/* Whether several processes share the ranks. */
bool analysis_is_shared(const struct analysis *analysis);

/* Links the pages of the directory, prints the closing lines and writes the statistics. Returns the exit code. */
int analysis_close(struct analysis *analysis, const struct named_count *counts, size_t n,
                   const struct named_count *more, size_t n_more);

/* Print the attributed kernels of graphs of a rank by confidence; and a line about those without an operator. */
void print_graphs(const struct sutra_table *table, int64_t rank);
void print_unmatched_graphs(const struct sutra_table *table, int64_t rank);

/* Prints the verdict of an overview: the screen of `sutra analyze`. `has_output`: a report was written, so that no
 * command suggests it. SUTRA_SYSTEM: out of memory. */
struct sutra_overview;
enum sutra_status verdict_screen_print(const struct sutra_overview *overview, bool has_output,
                                       struct sutra_error *error);

/*
 * The trend of a role over the profiling windows of a run (analyze_trend.c).
 */

struct sutra_overview;
struct sutra_overview_options;

struct role_trend {
    /* Set before. */
    const struct sutra_overview_options *options; /* tables and companion: for the default window only */
    const char *baseline;                         /* option: NULL is the first window */
    bool has_gate, fail_on_unclear;
    double fail_above; /* percent; NaN: no limit */

    struct sutra_overview **overview; /* becomes the one of the default window; NULL: of another process */

    struct trend trend;    /* the caller frees its arena */
    struct diff_gate gate; /* from the baseline to the default window */
};

/* Analyzes the windows of the job. SUTRA_DATA: no such baseline. */
enum sutra_status role_trend_run(struct analysis *analysis, struct role_trend *role, struct sutra_error *error);

void role_trend_print(const struct analysis *analysis, const struct role_trend *role);
enum sutra_status role_trend_print_json(const struct role_trend *role, struct sutra_error *error);
/* Without the verdict of the default window. */
void role_trend_print_markdown(const struct analysis *analysis, const struct role_trend *role);

/* Writes the table `windows` and the page. */
enum sutra_status role_trend_write(struct analysis *analysis, const struct role_trend *role, struct sutra_error *error);

/* Reports the decision of the gate. Returns the exit code. */
int role_trend_report_gate(const struct analysis *analysis, const struct role_trend *role);

/* Parses --fail-above: "5%" or "5". Returns SUTRA_OK, or SUTRA_USAGE after reporting the error. */
int fail_above_parse(const char *text, double *percent);

/*
 * Result files.
 */

#define RANK_ALL (-1) /* rank of a table of all ranks */

struct result_path {
    char text[4096];
};

/* The path of NAME.EXTENSION, or NAME.rank3.EXTENSION, in the directory of the results. */
enum sutra_status result_file_path(const struct analysis *analysis, const char *name, int64_t rank,
                                   const char *extension, struct result_path *path, struct sutra_error *error);

/* Write a table (may be NULL), or all tables of a result, to NAME.csv, or NAME.rank3.csv, in the directory of the
 * results. */
enum sutra_status analysis_write_table(struct analysis *analysis, const struct sutra_table *table, int64_t rank,
                                       struct sutra_error *error);
enum sutra_status analysis_write_tables(struct analysis *analysis, const struct sutra_result *result, int64_t rank,
                                        struct sutra_error *error);

/*
 * Ranks shared between processes.
 *
 *     --shard 1/2: rank 0, 2, ...  --\
 *                                    --> DIR/.parts/NUMBER --> --combine: pages, tables of all ranks, report
 *     --shard 2/2: rank 1, 3, ...  --/
 *
 * MPI processes do the same: each one requests the next trace when it is free, and the first process combines.
 * Processes exchange tables, never events. All processes need the same arguments, so that they compute the same list of
 * traces.
 */

/* The file of the results of the trace with this number, or the directory of the results of a window. */
#define SHARE_PATH_MAX (PATH_MAX + 32)
void analysis_share_path(const struct analysis *analysis, size_t number, char path[SHARE_PATH_MAX]);
/* The directory for files about the trace with this number. */
void analysis_share_files(const struct analysis *analysis, size_t number, char path[SHARE_PATH_MAX]);
/* Copies these files to `folder`. */
enum sutra_status analysis_share_copy(const struct analysis *analysis, size_t number, const char *folder,
                                      struct sutra_error *error);
/* Removes a directory with its contents; SUTRA_OK, or another exit code after reporting the error. */
int result_folder_remove(const char *path);

#endif
