/*
 * terminal.h - width of terminal reports, and names shortened to fit.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/names.h"

/*
 * Escape control characters in all human-readable output, instead of sending them to the terminal.
 */

/* Puts it before standard output and standard error. What is no text for people goes past it: outputs are written by
 * sinks, and the progress bar as it is. */
void streams_start(void);

/*
 * Location of an HTML report, as path and as URL.
 */

/* Prints the path of PAGE.html in this folder, and the address that a browser opens it by. */
void report_path_print(const char *folder, const char *page);

/* Whether an output of this name is a terminal, on which there are pages instead of all that a file would hold. */
bool screen_shows(const char *output);

/* Columns of a page on standard output: 80, or what the terminal has if that is more, up to a limit. */
unsigned screen_columns(void);

/* Columns that a page has beyond 80, for names. */
unsigned screen_columns_more(void);

/* Prints a name, and spaces up to the width, which is that for which it was shortened. */
void shortened_print(const struct shortened *shortened, unsigned width);

/* A path in a command that people may type: it cannot be cut; where it has no room, "TRACE" stands for it. */
const char *typed_path(const char *path, unsigned width);

/* Prints words between the columns `indent` and 80; the cursor stands in column `column`. Ends the line. */
void wrapped_print(const char *text, int column, int indent);

#endif
