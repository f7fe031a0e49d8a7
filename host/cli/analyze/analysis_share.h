/*
 * analysis_share.h - share the ranks of an analysis between several processes.
 *
 *     --shard 1/2: rank 0, 2, ...  --\
 *                                    --> DIR/.parts/NUMBER --> --combine: pages, tables of all ranks, report
 *     --shard 2/2: rank 1, 3, ...  --/
 *
 * MPI processes do the same: each one takes the next trace when it is free, and the first process finishes. Processes
 * exchange tables, never events. All processes need the same arguments, so that they compute the same list of traces.
 */
#ifndef CLI_ANALYSIS_SHARE_H
#define CLI_ANALYSIS_SHARE_H

#include "analyze/rank_tasks.h"
#include "cli/analyze/analysis_job.h"
#include "cli/link/link_job.h"

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

/* Whether the words ask for it. */
bool analysis_is_shared(const struct analysis_values *values, const struct job_team *processes);

/* Begins, where the words ask for it, once the list of traces is there (`exit_code`: or is not); makes the output's
 * folder. Processes that leave the results to another one get values without an output. Returns SUTRA_OK, or another
 * exit code after it has said what is wrong; then there is nothing to end. */
int analysis_share_begin(struct analysis_share *share, struct analysis_values *values, const struct job_team *processes,
                         const struct trace_list *traces, int exit_code);

/* Has the context share its ranks. */
void analysis_share_with(const struct analysis_share *share, struct sutra_context *context);

/* Whether the results of the work are this process's. */
bool analysis_share_has_results(const struct analysis_share *share);

/* Ends it; `exit_code` is that of the work. Removes what was left for each other if all was there, else returns
 * SUTRA_DATA, so that what is missing can be done. */
int analysis_share_end(struct analysis_share *share, const struct trace_list *traces, int exit_code);

#endif
