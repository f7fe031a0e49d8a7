/*
 * watch.h - display progress, warnings and notes of the library, and sample the memory use.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "cli/tool/progress.h"
#include "sutra/context.h"

struct watch {
    bool warnings, notes; /* whether they are printed */
    struct progress progress;
    struct memory_watch memory;
    double last_sample;
};

/* `stages`, `n_inputs`: see progress.h. */
struct watch watch_start(bool progress, bool warnings, bool notes, const struct stage_share *stages, size_t n_inputs);

/* Sets the callbacks; the watch must outlive the context that is made with the options. */
void watch_attach(struct watch *watch, struct sutra_context_options *options);

#endif
