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

#include "cli/tool/message.h"
#include "cli/tool/run_figures.h"
#include "cli/tool/watch.h"
#include "cli/tool/where.h"
#include "sutra/sutra.h"

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
