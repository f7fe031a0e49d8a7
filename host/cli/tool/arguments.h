/*
 * arguments.h - parse a command line by the command's table of options.
 *
 * Accepted forms: --name VALUE, --name=VALUE, a unique prefix of a long name, -x VALUE, -xVALUE, -xyz for flags,
 * options and operands in any order, -- before operands that begin with a dash.
 */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <stdbool.h>

#include "cli/tool/command.h"

struct operands {
    unsigned n;
    char **words; /* at the beginning of argv, which is rearranged */
};

/* Fills the command's struct of `values` (set to the defaults by the caller) and the operands. False: there is nothing
 * more to do, because help was asked for and printed, or a line on standard error says what is wrong; *exit_code is
 * then the program's. */
bool arguments_parse(const struct command *command, int argc, char **argv, void *values, struct operands *operands,
                     int *exit_code);

/* Reports that a table has no option with this long name, and suggests the nearest one; returns the exit code. `called`
 * is the command as a person calls it: "sutra link". */
int option_unknown(const struct option_row *table, const char *called, const char *name, size_t length);

#endif
