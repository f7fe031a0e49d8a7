/*
 * generate.h - writes a pair of traces that belong together: a host trace and a device trace of the same made-up run.
 *
 * The files look like those of PyTorch and Kineto: the same layout, keys, names and proportions, with operators that
 * both know by record-function id, launches, GPU operators and arrows. Effects follow their causes: a call that waits
 * for the GPU returns when what it waits for has ended, and a copy from pageable memory holds its operator up. Equal
 * options give equal bytes. Memory does not grow with the number of events, only with threads, streams and depth.
 */
#ifndef GENERATE_GENERATE_H
#define GENERATE_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "write/beside.h"

/* What the run looks like. All but the first two are built to be hard on a linker. */
enum generate_shape {
    GENERATE_REALISTIC,   /* training steps: forward, backward on a thread of its own, optimizer */
    GENERATE_UNMATCHED,   /* the same, with GPU operators whose external id no operator has, a quarter without launch */
    GENERATE_NESTED,      /* one thread, each operator inside the one before */
    GENERATE_OVERLAPPING, /* one thread, operators that partly overlap */
    GENERATE_GAPS,        /* 1,000 threads at least, with a gap before every operator */
    GENERATE_TIES,        /* operators that start at the same time, 64 at once */
    GENERATE_DEEP,        /* parents in the host trace chained to `depth`, all in one chain where that is 0 */
};

/* How the run waits for the GPU, now and then. All but the first also make streams wait for each other's events. */
enum generate_sync {
    GENERATE_SYNC_PLAIN, /* for a stream */
    GENERATE_SYNC_STREAM,
    GENERATE_SYNC_EVENT,
    GENERATE_SYNC_DEVICE,
};

/* Options; zero every field that you do not set: a field that is 0 or NULL means what is said after it. */
struct generate_options {
    uint64_t events;           /* device events to write, exactly */
    uint64_t seed;             /* another seed, another trace */
    const char *host_path;     /* must be given, as the next */
    const char *device_path;   /* not the same as host_path */
    uint32_t n_threads;        /* CPU threads; 2 */
    uint32_t n_streams;        /* GPU streams; 4 */
    uint32_t gpu_density;      /* GPU operators per 1,000 events, at most 150; 120 */
    uint32_t depth;            /* operators nested so deep at least; as the operators need it */
    const char *schema;        /* of the host trace; "1.1.1-chakra.0.0.4" */
    bool integer_times;        /* whole microseconds, as Kineto once wrote; else nanoseconds as decimals */
    bool no_gpu;               /* no GPU operators at all */
    bool no_annotations;       /* no ProfilerStep and other spans of the user's */
    bool collectives;          /* all-reduces of gradients in the backward pass */
    bool python_functions;     /* an event for the Python function around each top-level operator */
    enum generate_shape shape; /* GENERATE_REALISTIC */
    enum generate_sync sync;
    double gpu_scale;                             /* GPU operators take so many times as long in the same run; 1 */
    struct beside_options host_file, device_file; /* how the files are made */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* called now and then with how far it is; NULL */
    void *arg;
};

/* Names of the shapes, in the order of the enum, ended by NULL. */
extern const char *const generate_shape_names[];

/* Writes both files; they appear together, in place of what was there, once both are whole.
 * SUTRA_USAGE: an option is out of range. SUTRA_NO_OUTPUT: a file cannot be created. SUTRA_IO: writing failed, a full
 * disk for instance. SUTRA_SYSTEM: out of memory. */
enum sutra_status generate_pair(const struct generate_options *options, struct sutra_error *error);

#endif
