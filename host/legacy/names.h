/*
 * names.h - the names of both traces in one table, so that operators are compared by number.
 *
 *     0 ... n - 1     the strings of the device trace, with the numbers that they have there
 *     n ...           names of the host trace and of the operators that are put in for process and threads
 *
 * What the rules ask about a name is worked out once for each.
 */
#ifndef LEGACY_NAMES_H
#define LEGACY_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/strings.h"

#define PROCESS_NAME    "[pytorch|profiler|execution_trace|process]"
#define THREAD_NAME     "[pytorch|profiler|execution_trace|thread]"
#define OLD_THREAD_NAME "[pytorch|profiler|execution_graph|thread]"

struct legacy_names {
    struct strings table;
    uint32_t process, thread, old_thread; /* numbers of the three names above */

    /* Per name, made by names_finish(), in its arena. */
    uint8_t *annotated; /* contains the annotation */
    uint8_t *iteration; /* contains "iteration#" */
    uint32_t *renamed;  /* the name with each "execution_graph" replaced by "execution_trace" */
};

/* Begins the table with the strings of a device trace; false: out of memory. The table is the caller's to free. */
bool names_begin(struct legacy_names *names, const struct strings *device);

/* Works out what is asked about names; no name may be added after it. False: out of memory. */
bool names_finish(struct legacy_names *names, const char *annotation, struct arena *arena);

/* Whether a host and a device operator of these names, which stand at the same place, are the same. */
static inline bool names_agree(const struct legacy_names *names, uint32_t host, uint32_t device) {
    return host == device || names->renamed[host] == device || (names->iteration[host] && names->iteration[device]);
}

#endif
