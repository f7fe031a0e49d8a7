/*
 * help.h - help texts, generated from the tables of commands and options.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* Both print to standard output. */
void help_program_print(void);
void help_command_print(const struct command *command);

#endif
