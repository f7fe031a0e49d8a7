/*
 * kernel_names.h - what the names of communication kernels say, as chakra_converter reads them.
 */
#ifndef SIMULATE_KERNEL_NAMES_H
#define SIMULATE_KERNEL_NAMES_H

#include <string.h>

#include "simulate/et_nodes.h"

/* Whether the name contains `part`. */
static inline bool kernel_name_has(struct et_text name, const char *part) {
    size_t length = strlen(part);
    if (name.length < length)
        return false;
    const char *last = name.bytes + name.length - length;
    for (const char *at = name.bytes; at <= last; at++) {
        at = memchr(at, *part, (size_t)(last - at) + 1);
        if (!at || memcmp(at, part, length) == 0)
            return at != NULL;
    }
    return false;
}

/* Whether it is a kernel of NCCL. */
static inline bool kernel_is_collective(struct et_text name) {
    return kernel_name_has(name, "nccl") &&
           (kernel_name_has(name, "ncclKernel") || kernel_name_has(name, "ncclDevKernel"));
}

static inline bool kernel_is_send_receive(struct et_text name) {
    return kernel_name_has(name, "ncclDevKernel_SendRecv");
}

/* Which collective (enum et_collective) a kernel's name says, or -1. With `all`, also those that Chakra's schema has
 * but chakra_converter does not know. */
int kernel_collective(struct et_text name, bool all);

#endif
