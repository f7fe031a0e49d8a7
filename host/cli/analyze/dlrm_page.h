/*
 * dlrm_page.h - the page of `sutra analyze dlrm` on the terminal: at most 100 columns, the ten things to know.
 */
#ifndef CLI_DLRM_PAGE_H
#define CLI_DLRM_PAGE_H

#include "sutra/sutra.h"

/* `output` is the folder of the results, or NULL. */
void dlrm_page_print(const struct sutra_dlrm *dlrm, const char *trace, const char *output);

#endif
