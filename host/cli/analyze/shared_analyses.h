/*
 * shared_analyses.h - the analyses whose ranks processes of MPI may share.
 */
#ifndef CLI_SHARED_ANALYSES_H
#define CLI_SHARED_ANALYSES_H

#include "cli/link/link_job.h"
#include "cli/tool/command.h"

/* `sutra analyze hta` with these words; `processes` NULL: in this one alone. Returns the exit code. */
int hta_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes);

/* `sutra analyze hta`, operators or kernels, as one of a team: argv[0] is the word. */
int analyze_run_team(int argc, char **argv, const struct job_team *processes);

#endif
