/*
 * generate.h - writes a host trace and a device trace of one synthetic run, or of the ranks of a job.
 *
 * The files resemble PyTorch's and Kineto's: layout, keys, names and proportions, operators with record-function ids in
 * both, launches, GPU operators and flows. Effects follow their causes: a synchronizing call returns after the end of
 * the GPU activity, and a memcpy from pageable memory blocks its operator. Equal options give equal bytes. Memory is
 * independent of the number of events, but grows with threads, streams and depth.
 */
#ifndef GENERATE_GENERATE_H
#define GENERATE_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "write/sink.h"

/* ---- A file that is written through a fixed buffer; after a failed write, output is discarded ---- */

/* Size of the buffer, the maximum of output_reserve(). */
#define OUTPUT_CAPACITY ((size_t)1 << 20)

struct output {
    const char *path;
    char *bytes;
    size_t length;
    struct temp_file temp;
    int failure; /* errno of the first failed write, or 0 */
};

void output_flush(struct output *output);

/* Reserves n bytes; the caller adds the written bytes to `length`. */
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

/* The shape of the run. All but the first two are adversarial for a linker. */
enum generate_shape {
    GENERATE_REALISTIC,   /* training steps: forward, backward on a thread of its own, optimizer */
    GENERATE_UNMATCHED,   /* the same, with GPU operators whose external id no operator has, a quarter without launch */
    GENERATE_NESTED,      /* one thread, each operator nested in the previous one */
    GENERATE_OVERLAPPING, /* one thread, operators that partly overlap */
    GENERATE_GAPS,        /* 1,000 threads at least, with a gap before every operator */
    GENERATE_TIES,        /* 64 operators each that start at the same time */
    GENERATE_DEEP,        /* parents in the host trace chained to `depth`, all in one chain where that is 0 */
};

/* How the run synchronizes with the GPU. All but the first also make streams wait for each other's events. */
enum generate_sync {
    GENERATE_SYNC_PLAIN, /* for a stream */
    GENERATE_SYNC_STREAM,
    GENERATE_SYNC_EVENT,
    GENERATE_SYNC_DEVICE,
};

/* Options; zero-initialize. The defaults for 0 or NULL are last in each comment. */
struct generate_options {
    uint64_t events;           /* device events to write, exactly */
    uint64_t seed;             /* of the random numbers */
    const char *host_path;     /* must be given, as the next */
    const char *device_path;   /* not the same as host_path */
    uint32_t n_threads;        /* CPU threads; 2 */
    uint32_t n_streams;        /* GPU streams; 4 */
    uint32_t gpu_density;      /* GPU operators per 1,000 events, at most 150; 120 */
    uint32_t depth;            /* minimum nesting of operators; 0 */
    const char *schema;        /* of the host trace; "1.1.1-chakra.0.0.4" */
    bool integer_times;        /* whole microseconds, as Kineto once wrote; else nanoseconds as decimals */
    bool no_gpu;               /* no GPU operators at all */
    bool no_annotations;       /* no ProfilerStep and other spans of the user's */
    bool collectives;          /* all-reduces of gradients in the backward pass */
    bool python_functions;     /* an event for the Python function around each top-level operator */
    enum generate_shape shape; /* GENERATE_REALISTIC */
    enum generate_sync sync;
    double gpu_scale;                                           /* factor of GPU durations; 1 */
    struct temp_file_options host_file, device_file;            /* how the files are created */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* called sometimes with the progress; NULL */
    void *arg;
};

/* Names of the shapes, in the order of the enum, ended by NULL. */
extern const char *const generate_shape_names[];

/* Writes both files; they replace existing files together, once both are complete.
 * SUTRA_USAGE: an option is out of range. SUTRA_NO_OUTPUT: a file cannot be created. SUTRA_IO: writing failed, for
 * instance on a full disk. SUTRA_SYSTEM: out of memory. */
enum sutra_status generate_pair(const struct generate_options *options, struct sutra_error *error);

/*
 * Jobs: the same program on several ranks, each with a host trace and a device trace, that reduce gradients together
 * and exchange activations with a neighbour.
 *
 * Ranks differ in durations and start times, hosts in their clocks. Collectives record group, number, type and size as
 * PyTorch does for NCCL, and end together. Optional faults, one of each kind.
 */

#define GENERATE_RANK_NONE UINT32_MAX

struct generate_job_options {
    struct generate_options run; /* of each rank; its paths are not used */
    uint32_t n_ranks;            /* 2 at least */
    uint32_t ranks_per_host;
    uint64_t skew_us;         /* maximum difference of the starts of ranks */
    uint64_t clock_offset_us; /* maximum difference of hosts' clocks to the first host */
    uint32_t slow_rank;       /* needs 1.5 times as long; this and the following may be GENERATE_RANK_NONE */
    uint32_t missing_rank;    /* writes no traces */
    uint32_t swapped_rank;    /* starts the first two world collectives in the wrong order */
    uint32_t cut_rank;        /* its device trace ends in the middle */
    uint32_t lossy_rank;      /* its device trace lacks the kernel of a world collective, but not its call */
    uint32_t resized_rank;    /* one world collective has another size on this rank */
    const char *host_folder, *device_folder;
};

/* Writes host.N.json and device.N.json of each rank N into existing directories. Memory grows with the number of ranks
 * and collectives. Errors as of generate_pair(). */
enum sutra_status generate_job(const struct generate_job_options *options, struct sutra_error *error);

#endif
