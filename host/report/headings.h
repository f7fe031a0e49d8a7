/*
 * headings.h - column headings on pages: words and unit.
 */
#ifndef REPORT_HEADINGS_H
#define REPORT_HEADINGS_H

#include <stdbool.h>

struct heading {
    char words[96];
    const char *unit; /* "": it counts, or names */
};

/* The heading of a column: "idle_time(us)" is "idle time" in "µs". O(length). */
struct heading heading_of(const char *table, const char *column);

/* Whether the column holds names of kernels, which can be long. */
bool heading_of_kernels(const char *table, const char *column);

#endif
