/*
 * job.h - common parts of commands that read, compute and write: options, context, progress display, exit code.
 *
 *     arguments --check--> start --open--> the command's own work --measure--> summary, statistics --end--> exit code
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "sutra/context.h"
#include "sutra/error.h"
#include "sutra/link.h"
#include "sutra/sutra.h"

/*
 * Options for device and number of threads, for all commands that use an engine.
 */

struct where {
    struct device_word device; /* choice: enum sutra_device */
    uint64_t memory;
    uint64_t n_threads; /* 0: one per processor */
};

extern const char *const where_devices[];

/* Rows of the options; `where` is the path to a struct where for the file's AT(field), which gives a field's place. */
#define WHERE_ROWS(where)                                                                                              \
    {"device",                                                                                                         \
     'd',                                                                                                              \
     OPTION_DEVICE,                                                                                                    \
     "WHERE",                                                                                                          \
     AT(where.device),                                                                                                 \
     .maximum = UINT32_MAX,                                                                                            \
     .choices = where_devices,                                                                                         \
     .help = "compute on auto (a GPU if calibrated as faster), cpu or cuda[:N] (fail without one) (default: auto)"},   \
        {"device-memory",                                                                                              \
         0,                                                                                                            \
         OPTION_NUMBER,                                                                                                \
         "BYTES",                                                                                                      \
         AT(where.memory),                                                                                             \
         .maximum = UINT64_MAX,                                                                                        \
         .help = "limit GPU memory to BYTES, for example 2G; 0 is 90 % of the free memory (default: 0)"},              \
    {                                                                                                                  \
        "threads", 'T', OPTION_NUMBER, "N", AT(where.n_threads),                                                       \
            .maximum = 256, .help = "use N threads, 0 for one per available CPU (default: 0)"                          \
    }

/* How many threads to take; of the processors those count that this process may use. */
unsigned where_threads(const struct where *where);

void where_set(const struct where *where, struct sutra_context_options *options);

/*
 * Display progress, warnings and notes of the library, and sample the memory use.
 */

struct watch {
    bool warnings, notes; /* whether they are printed */
    struct progress progress;
    struct memory_watch memory;
    double last_sample;
};

/*
 * Write errors ("sutra: ...") and warnings ("sutra: warning: ...") to standard error.
 */

/* Prints one line and returns `status`, so that a command can `return message_fail(...)`. */
__attribute__((format(printf, 2, 3))) int message_fail(enum sutra_status status, const char *format, ...);

/* The line of a library's error; returns its status. */
int message_error(const struct sutra_error *error);

__attribute__((format(printf, 1, 2))) void message_warn(const char *format, ...);
void message_note(const char *text);

/*
 * Time, bytes and memory of a finished command, for closing lines and --stats, in one format for all
 * commands.
 */

struct run_figures {
    const struct sutra_stage *stages;
    size_t n_stages;
    double seconds;        /* from start to end, all stages and what is between them */
    uint64_t input_bytes;  /* of the files as they lie on the disk; 0 if one of them is a pipe */
    bool compressed;       /* one of them is */
    uint64_t output_bytes; /* of JSON, before compression */
    uint64_t peak_memory;  /* see memory.h */
    uint64_t peak_rss;
    unsigned n_threads;
    const char *engine;
    const struct sutra_stage *device_stages; /* of a CUDA device, if one was taken */
    size_t n_device_stages;
    const char *output; /* the output's name */
};

/* The closing lines on standard error: bytes read and written, seconds, memory. */
void run_figures_print(const struct run_figures *figures);

/* A line of a summary: a number and what it counts. */
struct summary_row {
    uint64_t count;
    const char *words;
    bool always; /* it stands there even if the count is 0 */
};

/* Prints lines on standard error, those that count something or always stand there. */
void summary_print(const struct summary_row *rows, size_t n);

struct named_count {
    const char *name;
    uint64_t count;
};

/* What --stats begins with: the version, and "counts" with both lists, of which the second may be none. The latter also
 * alone. */
void run_counts_print_json(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more);
void run_counts_print_list(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more);

/* What --stats writes behind the counts: the rest of a JSON object, from its "seconds" to its end. */
void run_figures_print_json(FILE *file, const struct run_figures *figures);

/* Has `print` write to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
enum sutra_status stats_write(const char *path, void (*print)(FILE *file, const void *result), const void *result);

/* Member `job` of the values of such a command; what it has no option for stays 0. */
struct job_values {
    const char *output, *stats;
    struct where where;
    uint64_t most_input_bytes;
    bool strict, lenient, force, quiet, verbose;
    const struct stage_share *stages; /* and inputs: for progress.h */
    size_t n_inputs;
};

/* Rows of the options that commands word alike; `job` is the path to the struct job_values for the file's AT(field),
 * which gives a field's place. */
#define JOB_ROW_FORCE(field)                                                                                           \
    { "force", 0, OPTION_FLAG, AT(field), .help = "replace read-only outputs" }
#define JOB_ROW_OUTPUT(job)                                                                                            \
    {"output-file",  'o',                                                                                              \
     OPTION_FILE,    "OUT",                                                                                            \
     AT(job.output), .help = "write to OUT, compressed if it ends in .gz or .zst; - is standard output (default: -)"}, \
        JOB_ROW_FORCE(job.force)
#define JOB_ROW_LENIENT(job)                                                                                           \
    {                                                                                                                  \
        "lenient", 0, OPTION_FLAG, AT(job.lenient),                                                                    \
            .help = "repair malformed JSON and ignore fields of the wrong type instead of failing"                     \
    }
#define JOB_ROW_INPUT(field)                                                                                           \
    {                                                                                                                  \
        "max-input", 0, OPTION_NUMBER, "BYTES", AT(field),                                                             \
            .maximum = UINT64_MAX,                                                                                     \
            .help = "limit memory for compressed or piped inputs to BYTES (default: half of the memory, at most "      \
                    "1,000 times the compressed size)"                                                                 \
    }
#define JOB_ROW_STATS(job)                                                                                             \
    {                                                                                                                  \
        "stats", 0, OPTION_FILE, "FILE", AT(job.stats),                                                                \
            .help = "write counts, seconds per stage and memory to FILE as JSON; - is standard output"                 \
    }
#define JOB_ROW_VERBOSE(job)                                                                                           \
    { "verbose", 'v', OPTION_FLAG, AT(job.verbose), .help = "print notes on each decision" }

/* All return SUTRA_OK, or another exit code after they have said what is wrong. */

/* Whether the flags go together. */
int job_check_flags(const struct job_values *values);
/* Whether the statistics, if they are wanted, overwrite neither an input nor the output; NULL: no such file. */
int job_check_stats(const char *stats, const char *output, const char *const *inputs, size_t n_inputs);

/* Sets the output to standard output if no option names one; fails if standard output is a terminal then. */
int job_check_terminal(struct job_values *values);

/* What lives while a command works. */
struct job {
    const struct job_values *values;
    struct watch watch;
    double begin;
    struct sutra_context *context;
    struct run_figures figures;
};

/* Starts the clock, and shows what is wanted. */
struct job job_start(const struct job_values *values, bool progress, bool warnings, bool notes);

/* Makes the context, once it is sure that the files can be written, unless they are to be forced; `output` may be
 * NULL. */
enum sutra_status job_open(struct job *job, const char *output, struct sutra_error *error);

/* Whether a file is a trace of this kind; to explain an error. */
bool job_is_trace(const struct job *job, const char *path, enum sutra_trace_kind wanted);

/* Takes the figures, but for output_bytes: bytes of the inputs, 0 if one of them is a pipe, and the most that were
 * mapped at a time. */
void job_measure(struct job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes);
/* The same where all inputs are mapped; NULL among them are none. */
void job_measure_inputs(struct job *job, const char *const *inputs, size_t n_inputs);

/* Prints the error if there is one, and frees the context; returns the exit code. */
int job_end(struct job *job, enum sutra_status status, const struct sutra_error *error);

#endif
