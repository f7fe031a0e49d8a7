/*
 * analyze.c - `sutra analyze`: findings and time breakdown of a job; dispatches to the subcommands, such as `sutra
 * analyze hta TRACE...`, each in a file analyze_*.c.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cli/analyze/overview_job.h"
#include "cli/analyze/shared_analyses.h"
#include "cli/analyze/table_files.h"

static const struct command *const analyses[] = {&analyze_collectives_command,
                                                 &analyze_dlrm_command,
                                                 &analyze_hta_command,
                                                 &analyze_kernels_command,
                                                 &analyze_memory_command,
                                                 &analyze_operators_command,
                                                 NULL};

/* In the same order; operators and kernels are one. NULL: the analysis runs in one process. */
static shared_analysis *const runs[] = {
    collectives_run_shared, dlrm_run_shared, hta_run_shared, operators_run_shared, NULL, operators_run_shared};

/* A word that is neither a file nor looks like one was meant for an analysis. */
int analyze_run_team(int argc, char **argv, const struct job_team *processes) {
    const char *word = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    for (size_t i = 0; word && analyses[i]; i++) {
        if (strcmp(word, analyses[i]->name) != 0)
            continue;
        if (runs[i])
            return runs[i](analyses[i], argc - 1, argv + 1, processes);
        if (processes)
            return message_fail(SUTRA_USAGE, "%s runs in one process: call sutra without mpirun", analyses[i]->called);
        return analyses[i]->run(analyses[i], argc - 1, argv + 1);
    }
    if (word && !strpbrk(word, "./") && access(word, F_OK))
        return command_unknown(analyses, analyze_command.called, word);
    return overview_run_shared(&analyze_command, argc, argv, processes);
}

static int run(const struct command *command, int argc, char **argv) {
    (void)command;
    return analyze_run_team(argc, argv, NULL);
}

#define AT(field) .offset = offsetof(struct overview_values, field)

static const char *const formats[] = {"text", "json", NULL}; /* in the order of enum overview_format */

static const char *const synopses[] = {"TRACE... [OPTIONS]", "ANALYSIS TRACE... [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports at most five bottlenecks of the device traces of one or many ranks, sorted by estimated saving. Each "
    "finding names the cause, its time and a fix. A time breakdown follows. The rules prefer a missed finding to a "
    "wrong one.",
    "With ANALYSIS, computes the tables and the page of one analysis; see 'sutra analyze ANALYSIS --help'.",
    NULL,
};
static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(analysis.job.output),
     .help = "write report.html with charts and a file for each table into directory DIR"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help =
         "print text, or json with the numbers of each finding and the time breakdown of each rank (default: text)"},
    {"tables", 0, OPTION_CHOICE, "FORMAT", AT(analysis.tables), .choices = table_formats,
     .help = "write tables as csv or json (default: csv)"},
    {"annotation", 'a', OPTION_TEXT, "NAME", AT(annotation),
     .help = "use the annotations NAME as steps (default: ProfilerStep, or repeating kernel sequences)"},
    {"peaks", 0, OPTION_FILE, "FILE", AT(peaks),
     .help = "read peak rates of the GPU from FILE (default: data sheet of the GPU in the trace)"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};
static const struct example examples[] = {
    {"sutra analyze device.json.gz", "find the bottlenecks of one rank"},
    {"sutra analyze traces/", "find the bottlenecks of a job, and its straggler"},
    {"sutra analyze traces/ -o why --open", "write a report with steps, operators, kernels and all tables"},
    {"sutra analyze device.json.gz --format json", "print the findings with their numbers as JSON"},
    {"sutra analyze hta traces/ -o tables", "write the tables of Holistic Trace Analysis for all ranks of a job"},
    {0},
};

const struct command analyze_command = {
    .name = "analyze",
    .called = "sutra analyze",
    .summary = "find bottlenecks: why is training slow?",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .commands = analyses,
    .run = run,
};
