/*
 * help.h - help texts, generated from the tables of commands and options.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/tool/command.h"

/* Both print to standard output. */
void help_program_print(void);
void help_command_print(const struct command *command);

/* "FILE", "auto|cpu|cuda": an option's argument as people read it; "" for flags. `text` has room for `size` bytes. */
void option_argument_text(const struct option_row *option, char *text, size_t size);

#endif
