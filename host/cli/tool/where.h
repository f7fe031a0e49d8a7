/*
 * where.h - options for device and number of threads, for all commands that use an engine.
 */
#ifndef CLI_WHERE_H
#define CLI_WHERE_H

#include "cli/tool/command.h"
#include "sutra/context.h"

struct where {
    struct device_word device; /* choice: enum sutra_device */
    uint64_t memory;
    uint64_t n_threads; /* 0: one per processor */
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
     .help = "compute on auto (a GPU if calibrated as faster), cpu or cuda[:N] (fail without one) (default: auto)"},   \
        {"device-memory",                                                                                              \
         0,                                                                                                            \
         OPTION_NUMBER,                                                                                                \
         "BYTES",                                                                                                      \
         AT(where.memory),                                                                                             \
         .maximum = UINT64_MAX,                                                                                        \
         .help = "limit GPU memory to BYTES, for example 2G; 0 is 90 % of the free memory (default: 0)"},              \
    {                                                                                                                  \
        "threads", 'T', OPTION_NUMBER, "N", AT(where.n_threads),                                                       \
            .maximum = 256, .help = "use N threads, 0 for one per available CPU (default: 0)"                          \
    }

/* How many threads to take; of the processors those count that this process may use. */
unsigned where_threads(const struct where *where);

void where_set(const struct where *where, struct sutra_context_options *options);

#endif
