/*
 * info_run.h - `sutra info RUN`.
 */
#ifndef CLI_INFO_RUN_H
#define CLI_INFO_RUN_H

#include <stdbool.h>

#include "sutra/error.h"

struct job;
struct json_out;

/* Prints the run in the operands, as text, or as the members of a JSON object that the caller closes. `full`: scans all
 * traces, also of a large run. Errors as of run_open(); SUTRA_NO_INPUT also without a trace. */
enum sutra_status info_run_show(struct job *job, bool full, struct json_out *json, struct sutra_error *error);

#endif
