/*
 * analyze.c - `sutra analyze`: the analyses of device traces, each a command of its own below this one, in a file of
 * its own (analyze_*.c): `sutra analyze hta TRACE...`.
 */
#include <stdio.h>
#include <string.h>

#include "cli/tool/arguments.h"
#include "cli/tool/message.h"
#include "sutra/error.h"

static const struct command *const analyses[] = {&analyze_dlrm_command, &analyze_hta_command, &analyze_kernels_command,
                                                 &analyze_operators_command, NULL};

/* Names all analyses, of a trace that stands where one of them should, or of none. */
static int ask_which(const char *trace) {
    char all[400] = "";
    for (size_t i = 0; analyses[i]; i++) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s'%s'", i ? " or " : "", analyses[i]->called);
    }
    if (!trace)
        return message_fail(SUTRA_USAGE, "which analysis? Write %s", all);
    return message_fail(SUTRA_USAGE, "which analysis of '%s'? Write %s before it", trace, all);
}

static int run_below(const struct command *command, int argc, char **argv) {
    const struct command *below = command_find(analyses, argv[0]);
    if (below)
        return below->run(below, argc, argv);
    return strpbrk(argv[0], "./") ? ask_which(argv[0]) : command_unknown(analyses, command->called, argv[0]);
}

static int run(const struct command *command, int argc, char **argv) {
    if (argc > 1 && argv[1][0] != '-')
        return run_below(command, argc - 1, argv + 1);
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, NULL, &operands, &exit_code))
        return exit_code;
    return ask_which(NULL);
}

static const char *const synopses[] = {"ANALYSIS TRACE... [OPTIONS]", NULL};
static const char *const description[] = {
    "Says where the time of one or many device traces went. 'sutra analyze ANALYSIS --help' has the options of each.",
    NULL,
};
static const struct option_row options[] = {{0}};
static const struct example examples[] = {
    {"sutra analyze hta traces/ -o tables", "the tables of Holistic Trace Analysis for all ranks of a job"},
    {0},
};

const struct command analyze_command = {
    .name = "analyze",
    .called = "sutra analyze",
    .summary = "say where the time of device traces went",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .commands = analyses,
    .run = run,
};
