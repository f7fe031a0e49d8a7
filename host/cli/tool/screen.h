/*
 * screen.h - width of terminal reports, and names shortened to fit.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>

#include "text/short_name.h"

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
