/*
 * dlrm_page.h - terminal report of `sutra analyze dlrm`: ten results, at most 100 columns.
 */
#ifndef CLI_DLRM_PAGE_H
#define CLI_DLRM_PAGE_H

#include "sutra/sutra.h"

/* `output` is the folder of the results, or NULL. */
void dlrm_page_print(const struct sutra_dlrm *dlrm, const char *trace, const char *output);

#endif
