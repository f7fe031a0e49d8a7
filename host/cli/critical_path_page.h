/*
 * critical_path_page.h - terminal report of `sutra critical-path`.
 */
#ifndef CLI_CRITICAL_PATH_PAGE_H
#define CLI_CRITICAL_PATH_PAGE_H

#include "sutra/critical_path.h"

void critical_path_page_print(const struct sutra_critical_path *path, const char *trace);

#endif
