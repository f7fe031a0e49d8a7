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
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "write/sink.h"

/*
 * A file that is written from front to end through a fixed buffer.
 *
 * A failed write is remembered and what follows is dropped, so that writers need not check; output_finish() tells.
 */

/* Bytes of the buffer; no single output_reserve() may ask for more. */
#define OUTPUT_CAPACITY ((size_t)1 << 20)

struct output {
    const char *path;
    char *bytes;
    size_t length;
    struct beside beside;
    int failure; /* errno of the first write that failed, or 0 */
};

void output_flush(struct output *output);

/* Room for n bytes; advance `length` by what was written. */
static inline char *output_reserve(struct output *output, size_t n) {
    if (OUTPUT_CAPACITY - output->length < n)
        output_flush(output);
    return output->bytes + output->length;
}

void output_number(struct output *output, int64_t number);

static inline void output_text(struct output *output, const char *text) {
    size_t n = strlen(text);
    memcpy(output_reserve(output, n), text, n);
    output->length += n;
}

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

/*
 * Writes the traces of a made-up job: the same program on a number of ranks, each with a host trace and a
 * device trace, that reduce gradients together and exchange activations with a neighbour.
 *
 * Ranks differ in how long things take, in when they begin, and, by host, in their clocks. Collectives tell their
 * group, number, type and size as PyTorch does for NCCL, and end together. Faults can be asked for, one of each kind.
 */

#define GENERATE_RANK_NONE UINT32_MAX

struct generate_job_options {
    struct generate_options run; /* of each rank; its paths are not used */
    uint32_t n_ranks;            /* 2 at least */
    uint32_t ranks_per_host;
    uint64_t skew_us;         /* ranks begin at most so much apart */
    uint64_t clock_offset_us; /* clocks of hosts differ at most so much from the first one's */
    uint32_t slow_rank;       /* takes 1.5 times as long; or none, as the following: */
    uint32_t missing_rank;    /* writes no traces */
    uint32_t swapped_rank;    /* begins the first two collectives of all ranks in the wrong order */
    uint32_t cut_rank;        /* its device trace ends in the middle */
    uint32_t lossy_rank;      /* its device trace lacks the kernel of a collective of all ranks, but not its call */
    uint32_t resized_rank;    /* one of the collectives of all ranks has another size there */
    const char *host_folder, *device_folder;
};

/* Writes host.N.json and device.N.json of each rank N, a pair after the other, into folders that are there. Memory
 * grows with the number of ranks and of collectives. Errors as of generate_pair(). */
enum sutra_status generate_job(const struct generate_job_options *options, struct sutra_error *error);

#endif
