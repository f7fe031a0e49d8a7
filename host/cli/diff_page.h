/*
 * diff_page.h - what `sutra diff` prints: which side is faster and by how much, where, and by which operators and
 * kernels.
 */
#ifndef CLI_DIFF_PAGE_H
#define CLI_DIFF_PAGE_H

#include "sutra/diff.h"

/* The sides as people named them, and the folder of the tables or NULL. */
struct diff_page_names {
    const char *sides[2], *folder;
};

void diff_page_print(const struct sutra_diff *diff, const struct diff_page_names *names);

/* By how much a step of B takes longer than one of A, in percent. */
double diff_growth(const struct sutra_diff_summary *summary);

#endif
