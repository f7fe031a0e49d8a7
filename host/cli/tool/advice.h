/*
 * advice.h - the command that links two traces, as a user would type it.
 */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "sutra/legacy.h"

/* Writes the command line, quoted for a shell; `output` may be NULL for "OUT". False: no command links them, or there
 * is no room. */
bool advice_command(const struct sutra_advice *advice, const char *host, const char *device, const char *output,
                    char *text, size_t size);

#endif
