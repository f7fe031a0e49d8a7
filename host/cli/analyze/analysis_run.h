/*
 * analysis_run.h - run an analysis of many ranks, from the command line to the exit code.
 *
 *     arguments --> values, traces, restriction --> work() --> print(), and print_counts() for statistics
 *
 * A struct analysis_kind has the functions and data specific to an analysis. A struct analysis_run has the state of a
 * running analysis. It is the first member of the analysis' own struct, which is passed to every function of the kind.
 */
#ifndef CLI_ANALYSIS_RUN_H
#define CLI_ANALYSIS_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/analyze/analysis_share.h"
#include "cli/analyze/table_files.h"

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

#endif
