/*
 * fuzz_trace.h - what the targets that go through the public interface share.
 */
#ifndef FUZZ_TRACE_H
#define FUZZ_TRACE_H

#include "fuzz.h"
#include "sutra/sutra.h"

static inline struct sutra_context *new_context(unsigned n_threads) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = n_threads, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    struct sutra_error error;
    check(sutra_context_create(&options, &context, &error) == SUTRA_OK, "a context can be made");
    return context;
}

/* A step gives a result or a reason, never both and never neither. */
static inline void check_outcome(enum sutra_status status, const struct sutra_error *error, const void *result) {
    check((status == SUTRA_OK) == (result != NULL), "a result exactly on success");
    if (status == SUTRA_OK)
        return;
    check(error->status == status, "the error has the status that was returned");
    check(error->message[0], "an error has a message");
    check(error->offset != SUTRA_NO_OFFSET || error->line == 0, "a line has an offset");
    check(status != SUTRA_INTERNAL, "no mistake of ours");
}

#endif
