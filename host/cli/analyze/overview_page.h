/*
 * overview_page.h - an overview on a screen of 80 columns, and as JSON.
 */
#ifndef CLI_OVERVIEW_PAGE_H
#define CLI_OVERVIEW_PAGE_H

#include "sutra/overview.h"

/* `trace` is the first trace, as it was named. */
void overview_page_print(const struct sutra_overview *overview, const char *trace);

/* An object: "findings", "ranks" with their shares, "operators" and "kernels" that take most. */
void overview_json_print(const struct sutra_overview *overview);

#endif
