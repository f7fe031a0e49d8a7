/*
 * info_et.h - `sutra info` of an .et file.
 */
#ifndef CLI_SIMULATE_INFO_ET_H
#define CLI_SIMULATE_INFO_ET_H

#include "cli/tool/job.h"

enum sutra_status info_et_show(struct job *job, const char *path, bool json, struct sutra_error *error);

#endif
