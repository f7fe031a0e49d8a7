/*
 * names.h - names, paths and texts in a given number of columns, for pages.
 *
 * All are shown as visible.h has it, line ends and tabs too, and what is left out leaves "..". Use in the expression
 * that prints: short_name(name, 40).text; pad with spaces up to the width by `n_columns`, for bytes are no columns.
 */
#ifndef TEXT_NAMES_H
#define TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What people call a kernel or an operator, of the name that the compiler or the framework gave it.
 *
 *     void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >
 *         (at::TensorIteratorBase&, ...)::{lambda(int)#1}>(int, ...)            elementwise CUDAFunctor_add<float>
 *
 * Return type, namespaces and parameters go; of the template's arguments the innermost one that computes stays, or all
 * where none does: numbers, numbers' types and what only holds data do not compute. Mangled names (_Z...) are read as
 * far as they need no table of substitutions. Of other names only namespaces go.
 */

/* More of a reduced name is left out. */
#define KERNEL_NAME_MAX 1024

/* False: there is nothing to leave out, and `reduced` is the name, if that has room. O(length). */
bool kernel_name_reduce(const char *name, char reduced[KERNEL_NAME_MAX]);

/*
 * The word that a person probably meant.
 *
 * Start with nearest_to(), offer the candidates, and take `word`: the candidate with the fewest letters to insert,
 * drop, change or swap, if these are at most a third of the letters and one, else NULL. A candidate that begins with at
 * least three typed letters is as near as two such slips.
 */

struct nearest {
    const char *typed;
    const char *word;
    size_t distance; /* a candidate must be nearer than this */
};

struct nearest nearest_to(const char *typed);
void nearest_try(struct nearest *nearest, const char *candidate);

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
