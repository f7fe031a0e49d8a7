/*
 * job.h - one call of a command: its options, inputs, context, progress display and figures.
 *
 *     arguments --check--> job_start --work: job_open, compute, write, job_measure, summary, statistics--> exit code
 *
 * command_run() does all but the work. The struct of each command begins with a struct job.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/runs.h"
#include "context/context.h"
#include "sutra/error.h"
#include "sutra/link.h"
#include "sutra/sutra.h"

struct trace_validity;

/* Displays progress, warnings and notes of the library, and samples the memory use. */
struct watch {
    bool warnings, notes; /* printed */
    struct progress progress;
    struct memory_watch memory;
    double last_sample;
};

/* Time, bytes and memory of a finished command, for the closing lines and --stats. */
struct run_figures {
    const struct sutra_stage *stages;
    size_t n_stages;
    double seconds;        /* from start to end, including the time between stages */
    uint64_t input_bytes;  /* file sizes; 0 if an input is a pipe */
    bool compressed;       /* an input is compressed */
    uint64_t output_bytes; /* of JSON, before compression */
    uint64_t peak_memory;  /* see memory.h */
    uint64_t peak_rss;
    const char *engine;
    const struct sutra_stage *device_stages; /* of a CUDA device, if one was used */
    size_t n_device_stages;
    struct cuda_engine_counts device;
};

/* Messages of at least this level are printed; progress and summaries at LOG_INFO, notes at LOG_DEBUG. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_CRITICAL };

struct job {
    const struct command *command;
    const struct process_plan *plan; /* MPI processes that share the work, or NULL */
    /* Set by options, if the command has them. */
    const char *output, *stats;
    struct sutra_context_options options;
    struct device_choice device; /* choice: enum sutra_device */
    int log_level;               /* enum log_level */
    bool quiet, verbose;

    struct operands operands;
    struct run_selection selection;     /* options, of commands that read a run */
    struct run_inputs run;              /* see job_list_inputs() */
    const struct chosen_window *window; /* of the run, whose traces are the inputs; or NULL */
    size_t n_windows;                   /* several: an array at `window`, of one role */
    struct trace_list traces;           /* see job_list_inputs() */
    const char *const *inputs; /* files that no output may overwrite; elements may be NULL. Default: operands */
    size_t n_inputs;
    const struct stage_share *stages; /* for progress.h */
    struct watch watch;
    double begin; /* time of the start */
    struct sutra_context *context;
    struct run_figures figures;
    /* For --stats: */
    const struct trace_validity *validity; /* of the inputs, or NULL */
    const struct sutra_count *calls;       /* calls that chakra_trace_link does not know, or NULL */
    uint64_t n_calls;
    const struct sutra_link_match *match; /* of the operators of two traces, or NULL */
};

/* MPI processes that share the work. They read the same files and compute the same plan. Each process calls all
 * functions. */
struct process_plan {
    bool is_first;      /* reports the results at the end */
    unsigned n_threads; /* of this process */
    /* Compares the number of pairs or traces of all processes; SIZE_MAX: this process failed. False: they differ. */
    bool (*begin)(void *arg, size_t n_pairs);
    /* Assigns the next pair to this process; false: none is left. */
    bool (*next)(void *arg, size_t *pair);
    /* This process has no more work. In the first process, returns when all other processes are done or failed. */
    void (*end)(void *arg);
    void *arg;
};

/*
 * Options that commands have in common.
 */

extern const char *const device_names[];

#define JOB_ROW_THREADS                                                                                                \
    {                                                                                                                  \
        "threads", 'T', OPTION_NUMBER, "N", AT(job, options.n_threads),                                                \
            .maximum = 256, .help = "use N threads, 0 for one per available CPU (default: 0)", .group = group_common   \
    }
#define JOB_ROWS_DEVICE                                                                                                \
    {"device",                                                                                                         \
     'd',                                                                                                              \
     OPTION_DEVICE,                                                                                                    \
     "WHERE",                                                                                                          \
     AT(job, device),                                                                                                  \
     .maximum = UINT32_MAX,                                                                                            \
     .choices = device_names,                                                                                          \
     .help = "compute on auto (a GPU if calibrated as faster), cpu or cuda[:N] (fail without one) (default: auto)",    \
     .group = group_common},                                                                                           \
        {"device-memory",                                                                                              \
         0,                                                                                                            \
         OPTION_NUMBER,                                                                                                \
         "BYTES",                                                                                                      \
         AT(job, options.device_memory),                                                                               \
         .maximum = UINT64_MAX,                                                                                        \
         .help = "limit GPU memory to BYTES, for example 2G; 0 is 90 % of the free memory (default: 0)",               \
         .group = group_common},                                                                                       \
        JOB_ROW_THREADS
#define JOB_ROW_FORCE                                                                                                  \
    { "force", 0, OPTION_FLAG, AT(job, options.force), .help = "replace read-only outputs", .group = group_common }
#define JOB_ROW_OUTPUT                                                                                                 \
    {                                                                                                                  \
        "output-file",                                                                                                 \
        'o',                                                                                                           \
        OPTION_FILE,                                                                                                   \
        "OUT",                                                                                                         \
        AT(job, output),                                                                                               \
        .help = "write to OUT, compressed if it ends in .gz or .zst; - is standard output (default: -)"},              \
        JOB_ROW_FORCE
/* `field`: most_bytes of the options; `what`: the name of the output. */
#define JOB_ROW_MAX_OUTPUT(type, field, what)                                                                          \
    {                                                                                                                  \
        "max-output", 0, OPTION_NUMBER, "BYTES", AT(type, field),                                                      \
            .maximum = UINT64_MAX,                                                                                     \
            .help = "fail before writing if " what " would take about BYTES or more, for example 500M",                \
            .group = group_more                                                                                        \
    }
#define JOB_ROW_LENIENT                                                                                                \
    {                                                                                                                  \
        "lenient", 0, OPTION_FLAG, AT(job, options.lenient),                                                           \
            .help = "repair malformed JSON and ignore fields of the wrong type instead of failing",                    \
            .group = group_common                                                                                      \
    }
#define JOB_ROW_INPUT                                                                                                  \
    {                                                                                                                  \
        "max-input", 0, OPTION_NUMBER, "BYTES", AT(job, options.most_input_bytes),                                     \
            .maximum = UINT64_MAX,                                                                                     \
            .help = "limit memory for compressed or piped inputs to BYTES (default: half of the memory, at most "      \
                    "1,000 times the compressed size)",                                                                \
            .group = group_common                                                                                      \
    }
#define JOB_ROW_STATS                                                                                                  \
    {                                                                                                                  \
        "stats", 0, OPTION_FILE, "FILE", AT(job, stats),                                                               \
            .help = "write counts, seconds per stage and memory to FILE as JSON; - is standard output",                \
            .group = group_common                                                                                      \
    }
#define JOB_ROW_QUIET                                                                                                  \
    {                                                                                                                  \
        "quiet", 'q', OPTION_FLAG, AT(job, quiet),                                                                     \
            .help = "print only warnings and errors, no progress and no summary", .group = group_common                \
    }
#define JOB_ROW_VERBOSE                                                                                                \
    { "verbose", 'v', OPTION_FLAG, AT(job, verbose), .help = "print notes on each decision", .group = group_common }

/*
 * Errors ("sutra: ...") and warnings ("sutra: warning: ...") on standard error.
 */

/* Returns the exit code of a call that failed and has reported its error; TRY() is for a status. */
#define TRY_CODE(call)                                                                                                 \
    do {                                                                                                               \
        const int try_code = (call);                                                                                   \
        if (try_code != SUTRA_OK)                                                                                      \
            return try_code;                                                                                           \
    } while (0)

/* Prints one line and returns `status`, so that a command can `return message_fail(...)`. */
__attribute__((format(printf, 2, 3))) int message_fail(enum sutra_status status, const char *format, ...);
/* Prints an error of the library; returns its status. */
int message_error(const struct sutra_error *error);
__attribute__((format(printf, 1, 2))) void message_warn(const char *format, ...);
void message_note(const char *text);

/*
 * Checks. Each returns SUTRA_OK, or another exit code after reporting the error.
 */

/* Lists the operands, with directories replaced by their files, as the inputs of the job. With NAMES_JSON, directories
 * are a run: the inputs are the traces of its first selected window. */
int job_list_inputs(struct job *job, enum trace_names names);
/* Makes the traces of windows of a run the inputs. */
int job_use_windows(struct job *job, const struct chosen_window *windows, size_t n);
/* The statistics (may be NULL) must overwrite neither an input nor the output; elements may be NULL. */
int job_check_stats(const char *stats, const char *output, const char *const *inputs, size_t n_inputs);
/* For commands that inspect the first operand before they read it: copies a stream (standard input, a pipe, a device)
 * to a file in memory, which becomes standard input and the operand. */
int job_spool_operand(struct job *job);
/* Sets the output to standard output if no option names one, unless standard output is a terminal. */
int job_check_terminal(struct job *job);

/*
 * Work.
 */

/* Sets the number of threads; starts the clock and the display. */
void job_start(struct job *job);

/* Creates a context with the options of the job. */
enum sutra_status job_create_context(struct job *job, struct sutra_context **context, struct sutra_error *error);

/* Checks that the output (may be NULL) and the statistics can be written, and creates the context. */
enum sutra_status job_open(struct job *job, const char *output, struct sutra_error *error);

/* Clears the progress bar and prints the error; returns its status. */
int job_fail(struct job *job, const struct sutra_error *error);

/* Whether a file is a trace of this kind; to explain an error. */
bool job_is_trace(const struct job *job, const char *path, enum sutra_trace_kind wanted);

/* Measures the figures, except output_bytes. The first form takes the bytes of all inputs (0 if one is a pipe), and the
 * maximum that was mapped at a time; the second one is for inputs that are all mapped at the same time. */
void job_measure(struct job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes);
void job_measure_inputs(struct job *job);

/* A line of a summary: a number and a description. */
struct summary_row {
    uint64_t count;
    const char *words;
    bool always; /* print a count of 0 */
};

/* Print lines on standard error: counts; and bytes read and written, seconds, memory. */
void summary_print(const struct summary_row *rows, size_t n);
void run_figures_print(const struct run_figures *figures);
/* "standard output", or the path. */
const char *output_name(const char *path);

struct named_count {
    const char *name;
    uint64_t count;
};

/*
 * Writes --stats, if requested, as one JSON object: version, "match" (may be NULL), the counts of both lists (the
 * second one may be empty), and the figures:
 *
 *     {"version": "0.1.0", "counts": {"n_host_nodes": 1, ...}, "seconds": {"read host": 0.1, ..., "total": 0.2},
 *      "validity": [...], "input_bytes": 1, "output_bytes": 1, "peak_memory_bytes": 1, "peak_rss_bytes": 1,
 *      "threads": 2, "engine": "cuda", "device_seconds": {"up": 0.1, ...}, "device_steps": 6, "device_bytes_up": 1,
 *      "device_bytes_down": 1}
 *
 * "device_seconds" and the counts after it require a CUDA device; "validity" are the defects of job->validity
 * (json_add_defects()), and "unknown_calls": {"cudaGraphLaunch": 6, ...} the calls of job->calls. job->match adds "match": "ids" or "names",
 * "confidence", and further members about names. Returns the exit code.
 */
int job_write_stats(const struct job *job, const char *match, const struct named_count *counts, size_t n,
                    const struct named_count *more, size_t n_more);

/* Ends a document, see json_end(). Returns the exit code. */
struct json_out;
int json_finish(struct json_out *json);

#define COUNT_OF(rows) (sizeof(rows) / sizeof *(rows))

#endif
