/*
 * names.h - names, paths and texts in a given number of columns, for pages.
 *
 * Control characters are escaped (strings.h), line ends and tabs too; ".." replaces omitted text. Use in the expression
 * that prints: short_name(name, 40).text; pad with spaces to the width by `n_columns`, since bytes are not columns.
 */
#ifndef TEXT_NAMES_H
#define TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * ---- The short name of a kernel or an operator ----
 *
 *     void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >
 *         (at::TensorIteratorBase&, ...)::{lambda(int)#1}>(int, ...)            elementwise CUDAFunctor_add<float>
 *
 * Removed are the return type, namespaces and parameters. Of the template's arguments, only the innermost functor is
 * kept, or all if there is none: numbers, number types and data structures are no functors. Mangled names (_Z...) are
 * demangled as far as they need no substitutions. Of other names only namespaces are removed.
 */

/* Longer reduced names are truncated. */
#define KERNEL_NAME_MAX 1024

/* False: nothing is removed, and `reduced` is the name, truncated if necessary. O(length). */
bool kernel_name_reduce(const char *name, char reduced[KERNEL_NAME_MAX]);

/*
 * ---- The nearest word, for "did you mean" ----
 *
 * Start with nearest_to(), try the candidates, then read `word`: the candidate with the fewest letters to insert, drop,
 * change or swap, if these are at most a third of the letters plus one, else NULL. A candidate that begins with the
 * typed letters, at least three, has distance two.
 */

struct nearest {
    const char *typed;
    const char *word;
    size_t distance; /* a candidate must be nearer than this */
};

struct nearest nearest_to(const char *typed);
void nearest_try(struct nearest *nearest, const char *candidate);

/* ---- Shortened names ---- */

/* Largest width; the smallest is 8. */
#define SHORT_COLUMNS 240

struct shortened {
    unsigned n_columns;
    char text[4 * SHORT_COLUMNS + 1];
};

/* The beginning of a text. */
struct shortened short_text(const char *text, unsigned width);

/* The end of a path, which distinguishes files. */
struct shortened short_path(const char *path, unsigned width);

/* Any name: complete if it fits, else reduced by kernel_name_reduce(), else its beginning. */
struct shortened short_name(const char *name, unsigned width);

/* A code location: the end of the path of a Python function, any other name as short_name(). */
struct shortened short_location(const char *name, unsigned width);

/* Names of one page, each as by short_name(), but different names remain different: names with equal short forms show
 * the beginning and, after "..", the part in which they differ, or a number. Equal names remain equal. O(n log n)
 * comparisons and a kilobyte per name; without memory, each name is shortened alone. */
void short_names(const char *const *names, size_t n, unsigned width, struct shortened *shorts);

#endif
