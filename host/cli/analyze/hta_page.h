/*
 * hta_page.h - terminal report of HTA's tables.
 */
#ifndef CLI_HTA_PAGE_H
#define CLI_HTA_PAGE_H

#include "sutra/analyze.h"

/* Prints at most 100 columns to standard output: ten things to know, what could not be computed, what to run next.
 * `folder` is where the tables are, or NULL. */
void hta_page_print(const struct sutra_hta_ranks *ranks, const char *folder);

#endif
