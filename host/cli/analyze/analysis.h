/*
 * analysis.h - common parts of the commands that analyze traces into a terminal report and a directory: options,
 * checks, context, closing lines.
 */
#ifndef CLI_ANALYZE_ANALYSIS_H
#define CLI_ANALYZE_ANALYSIS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/ranks.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/link_job.h"
#include "cli/paths.h"
#include "report/page.h"
#include "sutra/table.h"

/*
 * Write a directory of results completely, or report what is missing.
 *
 *     results/                            existing files
 *     results/incomplete.sutra/           new files, moved to results/ when all are complete
 *
 * A run that fails or that a signal ends removes its files. A killed run (SIGKILL) leaves the unfinished directory; the
 * next run removes it if its lock is free. Before moving any file, sutra checks that all files can be moved; a signal
 * waits until all are moved. Cost: one rename per file.
 */

struct result_folder {
    const char *target; /* NULL: no files are wanted */
    const char *const *inputs;
    size_t n_inputs; /* which must not be overwritten */
    bool force;      /* replace files that are read-only */
    bool made;       /* the target was not there before */
    int lock;
    char path[PATH_MAX]; /* where files are to be written until the end */
};

/* Removes such a folder with all that is in it. Returns as above. */
int result_folder_remove(const char *path);

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

/*
 * Share the ranks of an analysis between several processes.
 *
 *     --shard 1/2: rank 0, 2, ...  --\
 *                                    --> DIR/.parts/NUMBER --> --combine: pages, tables of all ranks, report
 *     --shard 2/2: rank 1, 3, ...  --/
 *
 * MPI processes do the same: each one takes the next trace when it is free, and the first process finishes. Processes
 * exchange tables, never events. All processes need the same arguments, so that they compute the same list of traces.
 */

struct analysis_share {
    bool is_on; /* else the work is this process's alone */
    struct rank_team team;
    const struct job_team *processes; /* of MPI, or NULL */
    bool has_ended;                   /* they know that this one's work is done */
    char folder[PATH_MAX];
};

/* Where a process leaves files about a trace, by its number; who takes the results copies them to a folder. */
#define SHARE_PATH_MAX (PATH_MAX + 32)
void analysis_share_files(const struct analysis_share *share, size_t number, char path[SHARE_PATH_MAX]);
enum sutra_status analysis_share_copy(const struct analysis_share *share, struct sutra_context *context, size_t number,
                                      const char *folder, struct sutra_error *error);

/*
 * Table files of an analysis: one file per table in the results directory.
 */

/* Choices of an option --format, in the order of enum sutra_table_format. */
extern const char *const table_formats[];

/* What the file of a table of all ranks is told by. */
#define RANK_ALL (-1)

/* Room for the path of a file of results. */
struct result_path {
    char text[4096];
};

/* The path of NAME.ENDING, or NAME.rank3.ENDING, in the folder. */
enum sutra_status result_place(const char *folder, const char *name, int64_t rank, const char *ending,
                               struct result_path *path, struct sutra_error *error);

/* Writes a table to NAME.csv, or NAME.rank3.csv, in the folder, and counts its bytes among the figures of the job. */
enum sutra_status table_file_write(struct job *job, const char *folder, const struct sutra_table *table, int64_t rank,
                                   enum sutra_table_format format, struct sutra_error *error);

/*
 * Run an analysis of many ranks, from the command line to the exit code.
 *
 *     arguments --> values, traces, restriction --> work() --> print(), and print_counts() for statistics
 *
 * A struct analysis_kind has the functions and data specific to an analysis. A struct analysis_run has the state of a
 * running analysis. It is the first member of the analysis' own struct, which is passed to every function of the kind.
 */

struct analysis_run {
    struct analysis_values *values; /* of the command, whose first member they are */
    struct job job;
    struct trace_list traces;
    struct result_folder results;
    struct analysis_share share;
    struct analysis_part part;
};

struct analysis_kind {
    const char *page; /* PAGE.html is the report */
    /* May be NULL. Whether the words go together, once traces and part are known: SUTRA_OK, or another exit code after
     * it has said what is wrong. */
    int (*check)(struct analysis_run *run, bool is_shared);
    /* Analyzes the traces in the context of the job, which is open, and writes what is wanted to the results. Where
     * these are another process's, there is no output. */
    enum sutra_status (*work)(struct analysis_run *run, struct sutra_error *error);
    /* What people see on the terminal, if they want to. This and the next only where the results are. */
    void (*print)(const struct analysis_run *run);
    void (*print_counts)(FILE *file, const struct analysis_run *run);
};

/* Runs it with these words, of which it fills `values`; `processes` as in shared_analyses.h. Returns the exit code.
 * analysis_run_free() is due in any case, once the results are freed. */
int analysis_run(const struct analysis_kind *kind, struct analysis_run *run, struct analysis_values *values,
                 const struct command *command, int argc, char **argv, const struct job_team *processes);
void analysis_run_free(struct analysis_run *run);

/* Writes a table to its file among the results; `rank` may be RANK_ALL. */
enum sutra_status analysis_write_table(struct analysis_run *run, const struct sutra_table *table, int64_t rank,
                                       struct sutra_error *error);

/*
 * The analyses that MPI processes can share by rank.
 */

/* An analysis with these words; `processes` NULL: in this one alone. Returns the exit code. */
typedef int shared_analysis(const struct command *command, int argc, char **argv, const struct job_team *processes);
shared_analysis collectives_run_shared, dlrm_run_shared, hta_run_shared, operators_run_shared, overview_run_shared;

/* `sutra analyze` with these words, of which argv[0] is "analyze". */
int analyze_run_team(int argc, char **argv, const struct job_team *processes);

#endif
