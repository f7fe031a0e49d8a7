/*
 * convert.h - from ET+ to the files that simulators read: Chakra's protobuf format, .et.
 *
 *     ET+ file --sutra_convert()--------\
 *                                        struct sutra_converted --sutra_converted_write()--> .et file
 *     linked   --sutra_linked_convert()-/
 *
 * With `compat` the rules are those of MLCommons Chakra's `chakra_converter PyTorch`; where that program succeeds the
 * file is the same, byte for byte.
 */
#ifndef SUTRA_CONVERT_H
#define SUTRA_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/link.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_converted;

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_convert_options {
    size_t size;
    bool compat; /* chakra_converter's very bytes; what follows does not count then */
    /* What is mended otherwise, and may be left as chakra_converter has it: */
    bool keep_absent;      /* dependencies on nodes that are not in the file stay */
    bool keep_metadata;    /* nodes that describe process groups stay */
    bool drop_rootless;    /* nodes below no thread go */
    bool keep_group_names; /* process groups get no numbers */
    bool no_start_times;   /* nodes do not tell when they start */
    bool no_peers;         /* sends and receives do not tell their ranks and tags */
    bool refuse_types;     /* collectives of other types than chakra_converter's are errors */
    bool refuse_nested;    /* communication of lists of lists of tensors is an error */
    bool keep_times;       /* sutra_converted_make_faithful() will be called without what was linked */
    bool no_work;          /* kernels do not tell how many operations they do and bytes they move */
};

/* What was made of ET+, and what was left out. */
struct sutra_convert_report {
    size_t size;            /* sizeof the struct, which the caller sets */
    uint64_t n_plus_nodes;  /* nodes of ET+ */
    uint64_t n_nodes;       /* nodes made of them */
    uint64_t n_gpu_nodes;   /* of these, on the GPU */
    uint64_t n_collectives; /* of these, collectives */
    uint64_t n_sends;       /* and sends and receives */
    uint64_t n_receives;
    uint64_t n_data_deps;  /* data dependencies */
    uint64_t n_inter;      /* of these, on other threads */
    uint64_t n_ctrl_deps;  /* control dependencies */
    uint64_t n_unmade;     /* left out: GPU nodes that stand below no CPU operator */
    uint64_t n_dangling;   /* left out: nodes that depend on none, and none depends on them */
    uint64_t n_metadata;   /* left out: nodes that describe process groups */
    uint64_t n_absent;     /* left out: dependencies on nodes that are not there */
    uint64_t n_rings;      /* left out: dependencies that closed a ring */
    uint64_t n_rootless;   /* kept: nodes that stand below no thread */
    uint64_t n_attributes; /* left out: attributes that are missing or of a wrong type */
    uint64_t n_groups;     /* process groups of other names than numbers, which got one */
    uint64_t n_unknown;    /* collectives of an unknown type, taken as computation */
    uint64_t n_types;      /* collectives of types that chakra_converter does not know */
    uint64_t n_nested;     /* communication of lists of lists of tensors, which were summed */
    uint64_t n_peers;      /* sends and receives that tell their peer and tag */
    uint64_t n_starts;     /* nodes that tell when they start */
    uint64_t n_works;      /* kernels that tell how many operations they do and bytes they move */
};

/* Reads ET+ ("-" is standard input; plain, gzip or zstd) and converts it. *converted is the caller's.
 * SUTRA_NO_INPUT: missing or not readable. SUTRA_DATA: not ET+, a field that is needed is missing or of a wrong type,
 * dependencies in a ring; the error names the node, byte and line. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_convert(struct sutra_context *context, const char *path,
                                const struct sutra_convert_options *options, struct sutra_converted **converted,
                                struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` stands for the file's name in errors. */
enum sutra_status sutra_convert_parse(struct sutra_context *context, const char *name, const void *bytes,
                                      size_t n_bytes, const struct sutra_convert_options *options,
                                      struct sutra_converted **converted, struct sutra_error *error);

/* Converts what was linked, without the text of ET+ in between; the result is that of the two steps. The linked traces
 * must outlive it. SUTRA_DATA and SUTRA_SYSTEM as above. */
enum sutra_status sutra_linked_convert(struct sutra_context *context, const struct sutra_linked *linked,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error);

/* How to keep measured times; zero every field that you do not set. `size` is sizeof the struct as the caller knows
 * it. */
struct sutra_faithful_options {
    size_t size;
    double rest_us; /* times in which nothing that was recorded ran are nodes of their own if they are longer; 0: 5 us,
                         below 0: never */
    bool gpu_streams; /* for a simulator with a resource for each stream and thread, instead of one processor and a GPU
                         that computes one thing at a time */
};

/* What was done so that the simulated time is the measured one. Times are microseconds. */
struct sutra_faithful_report {
    size_t size;            /* sizeof the struct, which the caller sets */
    uint64_t n_nodes;       /* nodes of the file */
    uint64_t n_rests;       /* of these, times in which nothing that was recorded ran */
    uint64_t n_launch_cuts; /* operators cut at a launch */
    uint64_t n_parts;       /* nodes more for kernels that shared the GPU */
    uint64_t n_waits;       /* calls after which the processor goes on when kernels have ended, */
    uint64_t n_blocking_copies, n_pageable_copies; /* and copies */
    uint64_t n_calls_without_kernel;               /* calls that waited for nothing */
    uint64_t n_orders;                             /* kernels that wait for another stream's event */
    uint64_t n_inferred; /* kernels that seem to wait for one of another stream, which nothing says */
    uint64_t n_clocked;  /* kernels held to the processor's clock */
    uint64_t n_late;     /* kernels late for no known reason, */
    double late_us;      /* by so much in all */
    double measured_us;  /* from the first start to the last end */
    double simulated_us; /* the same when the nodes are simulated */
    uint64_t n_never_ran;
    bool departs; /* the simulated time is another one: by more than 0.5 % */
    uint64_t departs_id;
    double departs_us; /* the first node that departs starts so much later than measured */
    uint64_t n_works;  /* kernels that tell how many operations they do and bytes they move */
};

/* Gives the nodes that were made of what was linked (not with `compat`) measured times: the processor's as one chain,
 * waits for the GPU as dependencies, kernels with what they waited for; then simulates them once. `linked` NULL: the
 * nodes were made of ET+ with `keep_times`, which tells no calls, so that launches lie somewhere in their operators,
 * and the processor waits only where sync_dep or times show it; this works once. `options` and `report` may be NULL.
 * The converted nodes stay as they were on failure. SUTRA_USAGE: no times were kept. SUTRA_DATA: ET+ has none.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_converted_make_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                                const struct sutra_linked *linked,
                                                const struct sutra_faithful_options *options,
                                                struct sutra_faithful_report *report, struct sutra_error *error);

void sutra_converted_report(const struct sutra_converted *converted, struct sutra_convert_report *report);

/* Writes the .et file: beside its place first, then renamed. "-" is standard output; a name that ends in .gz or .zst is
 * compressed. *n_bytes (may be NULL): bytes before compression. SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status sutra_converted_write(struct sutra_context *context, const struct sutra_converted *converted,
                                        const char *path, uint64_t *n_bytes, struct sutra_error *error);

/* Writes what ASTRA-sim needs beside .et files into a folder, which must be there: comm_group.json, which ranks are in
 * which process group (all, where the trace does not tell), and system.json, network.yml and memory.json to begin with.
 * n_ranks 0: as many as the trace tells, at least two. SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status sutra_converted_write_astra(struct sutra_context *context, const struct sutra_converted *converted,
                                              const char *folder, uint32_t n_ranks, struct sutra_error *error);

void sutra_converted_free(struct sutra_converted *converted);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
