/*
 * short_name.h - names, paths and texts in a given number of columns, for pages.
 *
 * All are shown as visible.h has it, line ends and tabs too, and what is left out leaves "..". Use in the expression
 * that prints: short_name(name, 40).text; pad with spaces up to the width by `n_columns`, for bytes are no columns.
 */
#ifndef TEXT_SHORT_NAME_H
#define TEXT_SHORT_NAME_H

#include <stddef.h>

/* The widest; more is taken as this, and less than 8 as 8. */
#define SHORT_COLUMNS 240

struct shortened {
    unsigned n_columns;
    char text[4 * SHORT_COLUMNS + 1];
};

/* The beginning of a text. */
struct shortened short_text(const char *text, unsigned width);

/* The end of a path, which tells files apart. */
struct shortened short_path(const char *path, unsigned width);

/* A name of a kernel or of anything else: whole where it fits, else as kernel_name.h reduces it, else its beginning. */
struct shortened short_name(const char *name, unsigned width);

/* Names of one page, each as short_name() has it, but names that differ stay different: where they are alike in their
 * short form, each has the beginning of that and, behind "..", the place in the name by which it differs, or a number.
 * Equal names are equal. O(n log n) comparisons and a
 * kilobyte a name; without memory for them each name is shortened alone. */
void short_names(const char *const *names, size_t n, unsigned width, struct shortened *shorts);

#endif
