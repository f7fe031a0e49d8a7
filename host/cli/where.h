/*
 * where.h - the options that say where to compute, for all commands that have an engine.
 */
#ifndef CLI_WHERE_H
#define CLI_WHERE_H

#include "cli/command.h"
#include "sutra/context.h"

struct where {
    struct device_word device; /* choice: enum sutra_device */
    uint64_t memory;
};

extern const char *const where_devices[];

/* Rows of the options; `where` is the path to a struct where for the file's AT(field), which gives a field's place. */
#define WHERE_ROWS(where)                                                                                              \
    {"device",                                                                                                         \
     'd',                                                                                                              \
     OPTION_DEVICE,                                                                                                    \
     "WHERE",                                                                                                          \
     AT(where.device),                                                                                                 \
     .maximum = UINT32_MAX,                                                                                            \
     .choices = where_devices,                                                                                         \
     .help = "where to compute: auto takes a GPU where that should be faster, cuda fails without one, cuda:1 is the "  \
             "second one (default: auto)"},                                                                            \
    {                                                                                                                  \
        "device-memory", 0, OPTION_NUMBER, "BYTES", AT(where.memory),                                                  \
            .maximum = UINT64_MAX,                                                                                     \
            .help = "most memory to take on the GPU, 2G for instance, 0 for nine tenths of what is free (default: 0)"  \
    }

void where_set(const struct where *where, struct sutra_context_options *options);

#endif
