/*
 * collectives_page.h - terminal report of `sutra analyze collectives`.
 */
#ifndef CLI_COLLECTIVES_PAGE_H
#define CLI_COLLECTIVES_PAGE_H

#include "sutra/collectives.h"

/* `folder` is where the tables are, or NULL. */
void collectives_page_print(const struct sutra_collectives *collectives, const char *folder);

#endif
