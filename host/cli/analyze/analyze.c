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

static const struct command *const analyses[] = {&analyze_collectives_command, &analyze_dlrm_command,
                                                 &analyze_hta_command,         &analyze_kernels_command,
                                                 &analyze_operators_command,   NULL};

/* In the same order; operators and kernels are one. */
static shared_analysis *const runs[] = {collectives_run_shared, dlrm_run_shared, hta_run_shared, operators_run_shared,
                                        operators_run_shared};

/* A word that is neither a file nor looks like one was meant for an analysis. */
int analyze_run_team(int argc, char **argv, const struct job_team *processes) {
    const char *word = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    for (size_t i = 0; word && analyses[i]; i++)
        if (strcmp(word, analyses[i]->name) == 0)
            return runs[i](analyses[i], argc - 1, argv + 1, processes);
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
    "Says why the steps of one or many device traces are not faster: at most five findings, each with its number, its "
    "cause and what to do, the one with most to win first; then where the time went. Findings are made by rules that "
    "keep silent where they are not sure.",
    "With an ANALYSIS, tables and pages of one kind; 'sutra analyze ANALYSIS --help' has the options of each.",
    NULL,
};
static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(analysis.job.output),
     .help = "write report.html with its charts, and a file for each table behind it, into the folder DIR"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "print text, or json with the numbers of each finding and the shares of each rank (default: text)"},
    {"tables", 0, OPTION_CHOICE, "FORMAT", AT(analysis.tables), .choices = table_formats,
     .help = "of the files of tables: csv or json (default: csv)"},
    {"annotation", 'a', OPTION_TEXT, "NAME", AT(annotation),
     .help = "steps are the annotations NAME (default: those of the profiler, else what repeats)"},
    {"peaks", 0, OPTION_FILE, "FILE", AT(peaks),
     .help = "what the device can do at most (default: the data sheet of the device in the trace)"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};
static const struct example examples[] = {
    {"sutra analyze device.json.gz", "why its steps are not faster"},
    {"sutra analyze traces/", "the same for all ranks of a job, and which of them holds the others up"},
    {"sutra analyze traces/ -o why --open",
     "the same as a page, with steps, operators, kernels and the tables behind it"},
    {"sutra analyze device.json.gz --format json", "the findings with their numbers"},
    {"sutra analyze hta traces/ -o tables", "the tables of Holistic Trace Analysis for all ranks of a job"},
    {0},
};

const struct command analyze_command = {
    .name = "analyze",
    .called = "sutra analyze",
    .summary = "say why training is slow, and where the time went",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .commands = analyses,
    .run = run,
};
