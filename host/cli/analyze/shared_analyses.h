/*
 * shared_analyses.h - the analyses that MPI processes can share by rank.
 */
#ifndef CLI_SHARED_ANALYSES_H
#define CLI_SHARED_ANALYSES_H

#include "cli/link/link_job.h"
#include "cli/tool/command.h"

/* An analysis with these words; `processes` NULL: in this one alone. Returns the exit code. */
typedef int shared_analysis(const struct command *command, int argc, char **argv, const struct job_team *processes);
shared_analysis collectives_run_shared, dlrm_run_shared, hta_run_shared, operators_run_shared, overview_run_shared;

/* `sutra analyze` with these words, of which argv[0] is "analyze". */
int analyze_run_team(int argc, char **argv, const struct job_team *processes);

#endif
