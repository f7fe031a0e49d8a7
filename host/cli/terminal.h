/*
 * terminal.h - standard streams, width of terminal reports, and names shortened to fit.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/names.h"

/* Replaces standard output and standard error by streams that escape control characters. Outputs of sinks and the
 * progress bar bypass these streams. */
void streams_start(void);

/* Prints the path of PAGE.html in this directory, and its file URL. */
void report_path_print(const char *folder, const char *page);

/* Whether an output of this name is a terminal, which shows a page instead of the contents of a file. */
bool screen_shows(const char *output);

/* Columns of a page on standard output: 80, or the width of the terminal if it is larger, up to a limit. */
unsigned screen_columns(void);

/* Columns beyond 80, for names. */
unsigned screen_columns_more(void);

/* Whether standard output is a terminal that shows colors, and the user has not set NO_COLOR (no-color.org). */
bool screen_has_colours(void);

/* Writes an escape sequence to the terminal, after everything that was printed before. */
void screen_style(const char *sequence);

/* Prints a shortened name, padded with spaces to `width` columns. */
void shortened_print(const struct shortened *shortened, unsigned width);

/* A path in a recommended command: the complete path, or "TRACE" if it is wider than `width`. */
const char *typed_path(const char *path, unsigned width);

/* Prints a text of a trace, or a path, as Markdown: see report/markup.h. */
enum markdown_print_form { MARKDOWN_TEXT, MARKDOWN_PATH, MARKDOWN_CELL, MARKDOWN_CELL_CODE };
void markdown_print(enum markdown_print_form form, const char *text);

/* Prints words between the columns `indent` and 80, from column `column` on. Ends the line. */
void wrapped_print(const char *text, int column, int indent);

#endif
