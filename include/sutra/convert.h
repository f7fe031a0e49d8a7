/*
 * convert.h - convert ET+ to Chakra's protobuf format (.et), the input of simulators.
 *
 *     ET+ file --sutra_convert()--------\
 *                                        struct sutra_converted --sutra_converted_write()--> .et file
 *     linked   --sutra_linked_convert()-/
 *
 * With `compat` the rules and the bytes equal MLCommons Chakra's `chakra_converter PyTorch` wherever that program
 * succeeds.
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

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_convert_options {
    size_t size;
    bool compat; /* exactly the bytes of chakra_converter; the following options are ignored */
    /* Options that disable corrections of chakra_converter's output: */
    bool keep_absent;      /* keep dependencies on missing nodes */
    bool keep_metadata;    /* keep nodes that describe process groups */
    bool drop_rootless;    /* drop nodes without a thread as ancestor */
    bool keep_group_names; /* keep names of process groups instead of numbers */
    bool no_start_times;   /* omit start times */
    bool no_peers;         /* omit ranks and tags of sends and receives */
    bool refuse_types;     /* fail on collective types unknown to chakra_converter */
    bool refuse_nested;    /* fail on communication of nested tensor lists */
    bool keep_times;       /* needed if sutra_converted_run_faithful() is called without linked traces */
    bool no_work;          /* omit operations and bytes of kernels */
};

/* Counts of converted and skipped nodes. */
struct sutra_convert_report {
    size_t size;            /* sizeof the struct, set by the caller */
    uint64_t n_plus_nodes;  /* nodes of ET+ */
    uint64_t n_nodes;       /* nodes of the .et file */
    uint64_t n_gpu_nodes;   /* of these, on the GPU */
    uint64_t n_collectives; /* of these, collectives */
    uint64_t n_sends;       /* of these, sends */
    uint64_t n_receives;
    uint64_t n_data_deps;  /* data dependencies */
    uint64_t n_inter;      /* of these, on other threads */
    uint64_t n_ctrl_deps;  /* control dependencies */
    uint64_t n_unmade;     /* skipped: GPU nodes without a CPU operator as ancestor */
    uint64_t n_dangling;   /* skipped: nodes without any dependency */
    uint64_t n_metadata;   /* skipped: nodes that describe process groups */
    uint64_t n_absent;     /* skipped: dependencies on missing nodes */
    uint64_t n_rings;      /* skipped: dependencies that closed a cycle */
    uint64_t n_rootless;   /* kept: nodes without a thread as ancestor */
    uint64_t n_attributes; /* skipped: attributes that are missing or of the wrong type */
    uint64_t n_groups;     /* process groups whose name was replaced by a number */
    uint64_t n_unknown;    /* collectives of unknown type, treated as compute */
    uint64_t n_types;      /* collectives of types unknown to chakra_converter */
    uint64_t n_nested;     /* communication of nested tensor lists, whose sizes were summed */
    uint64_t n_peers;      /* sends and receives with peer and tag */
    uint64_t n_starts;     /* nodes with a start time */
    uint64_t n_works;      /* kernels with operations and bytes */
};

/* Reads ET+ ("-" is standard input; plain, gzip or zstd) and converts it. The caller frees *converted. Errors:
 * SUTRA_NO_INPUT: missing or unreadable file; SUTRA_DATA: not ET+, a required field is missing or of the wrong type, or
 * cyclic dependencies, with node, byte and line; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_convert(struct sutra_context *context, const char *path,
                                const struct sutra_convert_options *options, struct sutra_converted **converted,
                                struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` stands for the file's name in errors. */
enum sutra_status sutra_convert_parse(struct sutra_context *context, const char *name, const void *bytes,
                                      size_t n_bytes, const struct sutra_convert_options *options,
                                      struct sutra_converted **converted, struct sutra_error *error);

/* Converts linked traces without writing and reading ET+; the result is the same. With keep_times, sends and receives
 * also have the direction and the ranks that only the arguments of their kernels record. The linked traces must outlive
 * *converted, which the caller frees. Errors: SUTRA_DATA and SUTRA_SYSTEM as above. */
enum sutra_status sutra_linked_convert(struct sutra_context *context, const struct sutra_linked *linked,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error);

/* Options for measured times; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_faithful_options {
    size_t size;
    double min_gap_us; /* longer gaps without recorded work become nodes; 0: 5 us, negative: never */
    bool gpu_streams; /* for a simulator with one resource per stream and thread, instead of one CPU and a GPU that runs
                         one kernel at a time */
};

/* Changes that make the simulated time equal the measured time. Times are microseconds. */
struct sutra_faithful_report {
    size_t size;                                   /* sizeof the struct, set by the caller */
    uint64_t n_nodes;                              /* nodes of the file */
    uint64_t n_gaps;                               /* of these, gaps without recorded work */
    uint64_t n_launch_cuts;                        /* operators cut at a launch */
    uint64_t n_parts;                              /* additional nodes for kernels that ran concurrently */
    uint64_t n_waits;                              /* synchronizing calls that end with a kernel, */
    uint64_t n_blocking_copies, n_pageable_copies; /* and memcpys */
    uint64_t n_calls_without_kernel;               /* synchronizing calls without a kernel to wait for */
    uint64_t n_orders;                             /* kernels that wait for an event of another stream */
    uint64_t n_inferred;                           /* kernels with an inferred wait for another stream */
    uint64_t n_clocked;                            /* kernels whose start is fixed by CPU time */
    uint64_t n_late;                               /* kernels with an unexplained delay, */
    double late_us;                                /* and their total delay */
    double measured_us;                            /* first start to last end */
    double simulated_us;                           /* the same in the simulation */
    uint64_t n_never_ran;
    bool departs; /* simulated and measured time differ by more than 0.5 % */
    uint64_t departs_id;
    double departs_us; /* delay of the first deviating node */
    uint64_t n_works;  /* kernels with operations and bytes */
};

/* Adds measured times to nodes converted from linked traces (not with `compat`): CPU nodes as one chain, host waits for
 * the GPU as dependencies, kernels with the dependencies that they waited for. Then simulates the nodes once. `linked`
 * NULL: the nodes come from ET+ with `keep_times`. ET+ contains no runtime calls, so the launch time within an operator
 * is unknown and the CPU waits only where sync_dep or times show a wait; this works once per conversion. `options` and
 * `report` may be NULL. The nodes are unchanged on failure. Errors: SUTRA_USAGE: no times were kept; SUTRA_DATA: ET+
 * has no times; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_converted_run_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                               const struct sutra_linked *linked,
                                               const struct sutra_faithful_options *options,
                                               struct sutra_faithful_report *report, struct sutra_error *error);

void sutra_converted_report(const struct sutra_converted *converted, struct sutra_convert_report *report);

/* Writes the .et file atomically. "-" is standard output; the file is compressed if the name ends in .gz or .zst.
 * *n_bytes (may be NULL): uncompressed bytes. Errors: SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status sutra_converted_write(struct sutra_context *context, const struct sutra_converted *converted,
                                        const char *path, uint64_t *n_bytes, struct sutra_error *error);

/* Writes ASTRA-sim's configuration files to an existing directory: comm_group.json with the ranks of each process group
 * (all ranks if the trace does not record them), and templates of system.json, network.yml and memory.json. n_ranks 0:
 * the number recorded in the trace, at least two. Errors: SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status sutra_converted_write_astra(struct sutra_context *context, const struct sutra_converted *converted,
                                              const char *folder, uint32_t n_ranks, struct sutra_error *error);

void sutra_converted_free(struct sutra_converted *converted);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
