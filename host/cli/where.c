/*
 * where.c - from the options that say where to compute to those of a context.
 */
#include "cli/where.h"

const char *const where_devices[] = {"auto", "cpu", "cuda", NULL}; /* in the order of enum sutra_device */

void where_set(const struct where *where, struct sutra_context_options *options) {
    options->device = (enum sutra_device)where->device.choice;
    options->device_number = where->device.number;
    options->device_memory = where->memory;
}
