/*
 * plus_path.h - the output name that trace_link derives from the name of the host trace.
 */
#ifndef CLI_PLUS_PATH_H
#define CLI_PLUS_PATH_H

#include <stdbool.h>

/* "a/host.json" gives "a/host_plus.json": the last ".json" of the file's name is replaced, or all in the whole path if
 * `everywhere`, as the older program does; a name without one gets "_plus.json" at its end. The caller frees it; NULL:
 * out of memory. */
char *plus_path(const char *host, bool everywhere);

#endif
