/*
 * shared_analyses.c - the word behind `sutra-mpi analyze`.
 */
#include "cli/analyze/shared_analyses.h"

#include <string.h>

#include "cli/analyze/operators_job.h"

int analyze_run_team(int argc, char **argv, const struct job_team *processes) {
    const char *word = argc > 0 ? argv[0] : "";
    if (strcmp(word, analyze_hta_command.name) == 0)
        return hta_run_shared(&analyze_hta_command, argc, argv, processes);
    if (strcmp(word, analyze_operators_command.name) == 0)
        return operators_run(&analyze_operators_command, argc, argv, processes, false);
    if (strcmp(word, analyze_kernels_command.name) == 0)
        return operators_run(&analyze_kernels_command, argc, argv, processes, true);
    return message_fail(SUTRA_USAGE,
                        "processes share 'analyze hta', 'analyze operators' and 'analyze kernels', not '%s'", word);
}
