/*
 * runs.h - directories of runs as inputs of commands: the windows that --role and --window select.
 *
 *     operands, --role, --window --run_inputs_open()--> windows --job_use_windows()--> inputs of the job
 */
#ifndef CLI_RUNS_H
#define CLI_RUNS_H

#include "cli/command.h"
#include "cli/paths.h"
#include "context/context.h"
#include "run/run.h"

struct job;
struct json_out;

/* Options of commands that read the directory of a run, in the struct job of the command. */
#define JOB_ROWS_RUN                                                                                                   \
    {"window",                                                                                                         \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "WINDOW",                                                                                                         \
     AT(job, selection.window),                                                                                        \
     .help = "of a run, read this profiling window: a number, a label such as iteration_30, first, last, or "          \
             "all (default: the last of the windows with most ranks); 'sutra info RUN' lists them"},                   \
    {                                                                                                                  \
        "role", 0, OPTION_TEXT, "ROLE", AT(job, selection.role),                                                       \
            .help = "of a run, read only the traces of engine ROLE, such as trainer or decode[0]"                      \
    }

/* The selected windows, in the order of their roles. */
struct run_inputs {
    struct run run;
    struct chosen_window *windows; /* in the arena of the run */
    size_t n;
};

/* Whether an operand is a directory: then the operands are a run. */
bool operands_are_run(const struct operands *operands);

/* Lists a run with the options of the job; with a selection (may be NULL), chooses its windows: none, if the run has
 * only logs that the command reads. Returns SUTRA_OK, or another exit code after reporting the error. Call run_free()
 * in any case. */
int run_list(struct job *job, const char *const *folders, size_t n, const struct run_selection *selection,
             struct run *run);

/* Opens the run in the operands, and selects windows. Returns as run_list(); call run_free() in any case. */
int run_inputs_open(struct job *job, const struct operands *operands, const struct run_selection *selection,
                    struct run_inputs *inputs);

/* Adds the skipped files of a kind to a list. Returns as run_list(). */
int run_add_skipped(const struct run *run, enum run_kind kind, struct trace_list *list, enum trace_names names);

/* Lists the memory snapshots of a run, if all of its files are in subdirectories; else all files of the directory that
 * may be snapshots, as trace_list_add(). Returns as run_list(). */
int run_list_snapshots(struct job *job, struct trace_list *list);

/* Lists the operands, and all files below the directories in them. Returns as run_list(). */
int run_list_all_files(struct job *job, struct trace_list *list);

/* Refuses an output (may be NULL) that is an existing file below a directory in the operands: it may be a trace that is
 * not selected. Returns SUTRA_OK, or SUTRA_USAGE after reporting the error. */
int run_check_output(const struct operands *operands, const char *output);

/* `sutra info RUN` (info_run.c): prints the run in the operands, as text, or as the members of a JSON object that the
 * caller closes. `full`: scans all traces, also of a large run. Errors as of run_open(); SUTRA_NO_INPUT also without a
 * trace. */
enum sutra_status info_run_show(struct job *job, bool full, struct json_out *json, struct sutra_error *error);

/* Whether the files of the operands are read as they always were: a flat run, or no traces. */
static inline bool run_inputs_are_plain(const struct run_inputs *inputs) {
    return inputs->run.is_flat || inputs->n == 0;
}

#endif
