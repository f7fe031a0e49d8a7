/*
 * main.c - main program: finds and runs the command.
 *
 *     sutra COMMAND ...            a command of the table in commands.c
 *     chakra_trace_link ...        `sutra link` with the command line and rules of that program
 *     trace_link ...               `sutra link-legacy`, likewise
 *     chakra_converter ...         `sutra convert --compat`, likewise
 *     chakra_jsonizer ...          `sutra jsonize`, likewise
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "sutra/context.h"
#include "text/strings.h"

static int dispatch(int argc, char **argv) {
    const struct command *named = argc > 0 ? command_find(other_names, path_file_name(argv[0])) : NULL;
    if (named)
        return command_run(named, argc, argv, NULL);
    if (argc < 2)
        return message_fail(SUTRA_USAGE, "a command is missing; see 'sutra --help'");
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help_program_print();
        return SUTRA_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "-v") == 0) {
        printf("sutra %s\n", sutra_version());
        return SUTRA_OK;
    }
    if (strncmp(word, "--", 2) == 0)
        return option_unknown(program_options, "sutra", word + 2, strlen(word + 2));
    if (*word == '-')
        return message_fail(SUTRA_USAGE, "unknown option '%s'; see 'sutra --help'", word);
    const struct command *command = command_find(commands, word);
    if (command)
        return command_run(command, argc - 1, argv + 1, NULL);
    if (access(word, F_OK) == 0)
        return message_fail(SUTRA_USAGE,
                            "a command is missing before '%s', as in 'sutra analyze TRACE'; see 'sutra --help'", word);
    return command_unknown(commands, "sutra", "command", word);
}

int main(int argc, char **argv) {
    interrupt_guard_start();
    streams_start();
    int status = dispatch(argc, argv);
    interrupt_wait_if_ending();
    /* Printed text may still be buffered: a full disk is reported only now. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == SUTRA_OK)
        return message_fail(SUTRA_IO, "standard output: %s", strerror(errno));
    return status;
}
