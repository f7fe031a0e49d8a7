/*
 * processors.h - how many processors this process may use.
 */
#ifndef CLI_PROCESSORS_H
#define CLI_PROCESSORS_H

#include <sched.h>

/* From 1 to 256, the most threads that the library takes. */
static inline unsigned processors_usable(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > 256 ? 256 : (unsigned)n;
}

#endif
