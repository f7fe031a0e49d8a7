/*
 * overview_page.h - terminal report of an overview in 80 columns, and its JSON form.
 */
#ifndef CLI_OVERVIEW_PAGE_H
#define CLI_OVERVIEW_PAGE_H

#include "sutra/overview.h"

/* `trace` is the first trace, as it was named. */
void overview_page_print(const struct sutra_overview *overview, const char *trace);

/* An object: "findings", "ranks" with their shares, "operators" and "kernels" that take most. */
void overview_json_print(const struct sutra_overview *overview);

#endif
