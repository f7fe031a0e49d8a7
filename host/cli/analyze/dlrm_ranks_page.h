/*
 * dlrm_ranks_page.h - terminal report of `sutra analyze dlrm` for several ranks.
 */
#ifndef CLI_DLRM_RANKS_PAGE_H
#define CLI_DLRM_RANKS_PAGE_H

#include "sutra/sutra.h"

/* `output` is the folder of the results, or NULL. */
void dlrm_ranks_page_print(const struct sutra_dlrm_ranks *ranks, const char *output);

#endif
