/*
 * where.c - converts options on device and threads to options of a context.
 */
#include "cli/tool/where.h"

#include <sched.h>

const char *const where_devices[] = {"auto", "cpu", "cuda", NULL}; /* in the order of enum sutra_device */

/* From 1 to 256, the most threads that the library takes. */
static unsigned processors_usable(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > 256 ? 256 : (unsigned)n;
}

unsigned where_threads(const struct where *where) {
    return where->n_threads ? (unsigned)where->n_threads : processors_usable();
}

void where_set(const struct where *where, struct sutra_context_options *options) {
    options->device = (enum sutra_device)where->device.choice;
    options->device_number = where->device.number;
    options->device_memory = where->memory;
    options->n_threads = where_threads(where);
}
