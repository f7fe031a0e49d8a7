/*
 * context.h - what all steps of one piece of work share: threads, engine, strictness, and where warnings go.
 *
 * A context may be used for any number of traces, one after the other, from one thread at a time. Traces that are
 * linked with each other must come from the same context (their ids are compared through a table that it owns).
 */
#ifndef SUTRA_CONTEXT_H
#define SUTRA_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_context;

/* Where to compute. AUTO decides anew for each piece of work: a CUDA device if there is one and the events are so many
 * that it is expected to be faster, else the CPU; what the device cannot do the CPU does, with a warning. CUDA: the
 * device, or an error. The results are the same bits. */
enum sutra_device { SUTRA_DEVICE_AUTO, SUTRA_DEVICE_CPU, SUTRA_DEVICE_CUDA };

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_context_options {
    size_t size;
    unsigned n_threads; /* 0: one per processor that this process may use; at most 256 */
    enum sutra_device device;
    bool strict; /* anomalies that are otherwise mended with a warning are errors */
    bool
        lenient; /* fields of a wrong type count as absent instead of being errors; text that is no JSON is mended where
                     it can be, with a warning (sutra/rewrite.h) */

    /* Called when a stage starts (done 0), now and then while it runs and when it ends (done == total), from the
     * thread that called the library. Units are bytes for reading and writing, events otherwise. */
    void (*progress)(void *arg, const char *stage, uint64_t done, uint64_t total);
    /* Called with each warning, a line without its end, from the thread that called the library. */
    void (*warning)(void *arg, const char *message);
    /* Called with notes on what is done, for people who look for a reason. */
    void (*note)(void *arg, const char *message);
    /* Called with the path of a temporary file when one is made, and with NULL when it is gone, so that a program that
     * is interrupted can remove it. */
    void (*temporary)(void *arg, const char *path);
    void *arg; /* given to the callbacks */

    uint32_t device_number; /* the CUDA device to be taken, as sutra_device_count() counts them; work with it makes it
                               the calling thread's current one */
    uint64_t device_memory; /* most bytes to take on it; 0: nine tenths of what is free */
    bool force;             /* replace outputs that are read-only, instead of refusing to */
    uint64_t most_input_bytes; /* of an input that comes in a stream or is compressed, held in memory; 0: half of the
                                  memory, and 1,000 times the compressed bytes */
};

/* Makes a context and its threads. *context is the caller's; free it with sutra_context_free(). `options` may be NULL.
 * SUTRA_USAGE: too many threads. SUTRA_UNAVAILABLE: the device that was asked for is not there. */
enum sutra_status sutra_context_create(const struct sutra_context_options *options, struct sutra_context **context,
                                       struct sutra_error *error);

/* Ends the threads and frees the context; NULL is fine. Traces that were read with it must be freed before. */
void sutra_context_free(struct sutra_context *context);

/* Cancels the work that runs in the context: it ends soon, within 0.1 s mostly, frees what it has made, leaves no
 * output, and returns SUTRA_CANCELLED, or what it would have returned if it was about to end. All further work of the
 * context ends so, too, until this is taken back with `cancel` false. May be called from any thread, from the
 * callbacks, and from a handler of signals. What is not interrupted: waiting for an input that gives nothing,
 * decompressing with gzip, and steps of an analysis of one trace. */
void sutra_context_cancel(struct sutra_context *context, bool cancel);

/* The engine that does the work, or did the last piece of it: "cpu" or "cuda". */
const char *sutra_context_engine(const struct sutra_context *context);

/* Seconds per stage since the context was made, in the order in which the stages first ran. */
struct sutra_stage {
    const char *name;
    double seconds;
};
size_t sutra_context_stages(const struct sutra_context *context, const struct sutra_stage **stages);

/* Seconds of the CUDA device's work since the context was made: copies to it ("up") and from it ("down"), sorts and
 * other parts. They are within those of the stages. 0 and nothing where no device was taken. */
size_t sutra_context_device_stages(struct sutra_context *context, const struct sutra_stage **stages);

/* The library's version, such as "0.1.0". */
const char *sutra_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
