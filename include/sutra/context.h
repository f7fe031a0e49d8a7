/*
 * context.h - shared state of all operations: threads, engine, strictness, callbacks.
 *
 * A context may be used for any number of operations in sequence, but by one thread at a time. Traces to be linked must
 * be read with the same context, which owns the table for comparing their ids.
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

/* Where to compute. AUTO chooses per operation. sutra_link() and sutra_legacy_link() use the CUDA device from the
 * number of CPU operators from which `sutra devices --calibrate` measured it as faster than the CPU on this machine.
 * Other operations, and all of them without a calibration, use the CPU. The CPU does what the device cannot, with a
 * warning. CUDA: the device, or an error. Results are bit-identical. */
enum sutra_device { SUTRA_DEVICE_AUTO, SUTRA_DEVICE_CPU, SUTRA_DEVICE_CUDA };

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_context_options {
    size_t size;
    unsigned n_threads; /* 0: one per CPU available to the process; at most 256 */
    enum sutra_device device;
    bool strict;  /* anomalies that are otherwise corrected with a warning are errors */
    bool lenient; /* ignore fields of the wrong type instead of failing; repair malformed JSON with a warning
                     (sutra/rewrite.h) */

    /* Called at the start of a stage (done is 0), repeatedly while it runs, and at its end (done == total), on the
     * thread that called the library. Units are bytes for reading and writing, else events. */
    void (*progress)(void *arg, const char *stage, uint64_t done, uint64_t total);
    /* Called with each warning, one line without line break, on the thread that called the library. */
    void (*warning)(void *arg, const char *message);
    /* Called with notes for diagnosis, such as the chosen engine. */
    void (*note)(void *arg, const char *message);
    /* Called with the path of each new temporary file, and with NULL after its removal, so that an interrupted program
     * can remove it. */
    void (*temporary)(void *arg, const char *path);
    void *arg; /* passed to the callbacks */

    uint32_t device_number;    /* index below sutra_device_count(); the device becomes the current device of the calling
                                  thread */
    uint64_t device_memory;    /* maximum bytes on the device; 0: 90 % of its free memory */
    bool force;                /* replace read-only output files instead of failing */
    uint64_t most_input_bytes; /* maximum bytes in memory of a streamed or compressed input; 0: half of the memory, and
                                  1,000 times the compressed size */
};

/* Creates a context and its threads. `options` may be NULL. The caller frees *context with sutra_context_free(). A
 * requested device is opened in the background, while the first operation reads its input; if that fails, the first
 * operation that computes on the device returns SUTRA_UNAVAILABLE. Errors: SUTRA_USAGE: too many threads;
 * SUTRA_UNAVAILABLE: there is no such device; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_context_create(const struct sutra_context_options *options, struct sutra_context **context,
                                       struct sutra_error *error);

/* Stops the threads and frees the context; NULL is allowed. Free all traces of the context first. */
void sutra_context_free(struct sutra_context *context);

/* Cancels the running operation. It ends within about 0.1 s, frees its results, leaves no output, and returns
 * SUTRA_CANCELLED, or its result if it was about to end. All later operations of the context are cancelled too, until a
 * call with `cancel` false. Safe to call from any thread, from callbacks, and from signal handlers. Not interruptible:
 * waiting for input, gzip decompression, and analysis steps on one trace. */
void sutra_context_cancel(struct sutra_context *context, bool cancel);

/* Returns the engine of the running or last operation: "cpu" or "cuda". */
const char *sutra_context_engine(const struct sutra_context *context);

/* Returns the seconds per stage since the context was created, in order of first run. */
struct sutra_stage {
    const char *name;
    double seconds;
};
size_t sutra_context_stages(const struct sutra_context *context, const struct sutra_stage **stages);

/* Returns the seconds of CUDA work since the context was created: copies to ("up") and from ("down") the device, sorts
 * and other phases. They are part of the seconds per stage. Returns 0 if no device was used. */
size_t sutra_context_device_stages(struct sutra_context *context, const struct sutra_stage **stages);

/* Returns the library version, such as "0.1.0". */
const char *sutra_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
