/*
 * link.h - link a host trace and a device trace into ET+.
 *
 *     host trace ---\
 *                    sutra_link() --> struct sutra_linked --> sutra_linked_write() --> ET+ file
 *     device trace -/
 *
 * The rules equal MLCommons Chakra's `chakra_trace_link`; where that program succeeds, the files are byte-identical.
 */
#ifndef SUTRA_LINK_H
#define SUTRA_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_linked;

/* How host operators find their operators of the device trace. */
enum sutra_match {
    SUTRA_MATCH_AUTO,  /* by ids, or by names if less than half of the operators of the smaller trace have an operator
                          of their name with their id, and names match at least half of the operators */
    SUTRA_MATCH_IDS,   /* by record-function ids, as chakra_trace_link */
    SUTRA_MATCH_NAMES, /* by names, numbers and order per thread */
};

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_link_options {
    size_t size;
    bool no_sync;        /* omit synchronization dependencies */
    uint64_t most_bytes; /* fail with SUTRA_DATA if the output would exceed about this size; 0: unlimited */
    bool any_launch;     /* also link GPU operators whose launch is a call that chakra_trace_link does not know, such as
                            cudaGraphLaunch: for .et files with measured times. ET+ then differs from its output */
    enum sutra_match match;
    const char *match_step; /* match by names with the operators of this profiler step only: its name or its number;
                               NULL: with all operators */
};

/* Counts of linked, unlinked and corrected nodes. */
struct sutra_link_report {
    size_t size;                   /* sizeof the struct, set by the caller */
    uint64_t n_host_nodes;         /* nodes of the host trace */
    uint64_t n_host_ops;           /* of these, reachable from the root */
    uint64_t n_host_linked;        /* host operators linked to a device event by a nonzero id, or by name */
    uint64_t n_host_without_rf;    /* host operators without a record-function id */
    uint64_t n_host_rf_unmatched;  /* host operators whose record-function id is missing in the device trace */
    uint64_t n_events;             /* events of the device trace */
    uint64_t n_cpu_ops;            /* of these, CPU operators */
    uint64_t n_gpu_ops;            /* of these, GPU operators */
    uint64_t n_gpu_with_parent;    /* GPU operators linked to a CPU operator */
    uint64_t n_gpu_without_launch; /* unlinked: no launch with their correlation */
    uint64_t n_gpu_without_parent; /* unlinked: no CPU operator starts before their launch on its thread */
    uint64_t n_gpu_host_unmatched; /* linked to a CPU operator without a node in the host trace */
    uint64_t n_gpu_nodes;          /* GPU nodes in the output */
    uint64_t n_nodes;              /* nodes in the output */
    uint64_t n_inter_thread;       /* CPU nodes with a dependency on another thread */
    uint64_t n_sync;               /* nodes with synchronization dependencies */
    uint64_t n_exclusive_rounded;  /* negative exclusive durations within rounding error, set to 0 */
    uint64_t n_exclusive_replaced; /* other negative exclusive durations, replaced by the inclusive duration, at
                                      least 0 */
    uint64_t n_fields_dropped;     /* ignored: fields of the wrong type (lenient) */
    uint64_t n_host_rf_zero;       /* host operators with record-function id 0, which means none */
    uint64_t n_gpu_memory_sets;    /* skipped: memsets, as chakra_trace_link does */
    uint64_t n_host_steps;         /* host operators of n_host_rf_unmatched that are profiler steps, which are not
                                      linked: "ProfilerStep" is in their name */
    uint64_t n_gpu_unknown_launch; /* of n_gpu_without_launch: launched by calls that chakra_trace_link does not know
                                      (sutra_linked_unknown_call()) */
};

/* Unmatched operators of one trace, by reason, and the most frequent names of the most frequent reason. */
struct sutra_unmatched {
    uint64_t n_before, n_after;  /* before and after the part that the other trace covers */
    uint64_t n_of_threads;       /* of threads that the other trace lacks */
    char threads[80];            /* ids of these threads: "5, 6, ..." */
    uint64_t n_between;          /* between matched operators */
    struct sutra_count names[3]; /* names live as long as the linked trace; unused ones have count 0 */
};

/* How the host operators were matched. Operators of the host trace exclude the nodes of processes, threads and profiler
 * steps. Apart from by_names, n_common_ids and times, all is 0 if they were matched by ids. */
struct sutra_link_match {
    size_t size; /* sizeof the struct, set by the caller */
    bool by_names;
    bool limits_host; /* the part that fits is one of the host trace, which has more operators */
    bool has_numbers; /* sequence numbers agree, after number_shift was added to the numbers of the host trace */
    int64_t number_shift;
    double confidence; /* matched operators / operators of the larger trace from the first to the last matched one */
    uint64_t n_host_ops, n_device_ops, n_matched;
    /* Of SUTRA_MATCH_AUTO, else NULL: why ids fail, such as "the device trace has no record-function ids, as before
     * PyTorch 2.4"; a constant. */
    const char *ids_fault;
    uint64_t n_common_ids; /* SUTRA_MATCH_AUTO: host operators whose id a device operator has */
    uint64_t n_positions;  /* parts of one trace that the other one fits equally well: the first one is used; 0: the
                              traces have about the same length */
    char step[64];         /* the profiler step that the first matched operator is in; "": none */
    struct sutra_unmatched host, device;
    double covered_us; /* of the device trace: from the first start to the last end of linked operators and GPU
                          operators */
    double steps_us;   /* from the start of the first profiler step to the end of the last one, or of all CPU operators
                          in a trace without steps */
};

/* Links two traces. Both must outlive *linked, which the caller frees. Errors: SUTRA_DATA: two launches with the same
 * correlation, or names do not match (SUTRA_MATCH_NAMES), or there is no step `match_step`; SUTRA_STRICT: an anomaly in
 * a strict context: negative durations, traces of different processes or times, less than half of the operators linked,
 * ids that fail (SUTRA_MATCH_AUTO), names that fit several positions or match less than 90 % (SUTRA_MATCH_NAMES), more
 * than 5 % of the GPU time launched by unknown calls; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_link(struct sutra_context *context, const struct sutra_host_trace *host,
                             const struct sutra_device_trace *device, const struct sutra_link_options *options,
                             struct sutra_linked **linked, struct sutra_error *error);

void sutra_linked_report(const struct sutra_linked *linked, struct sutra_link_report *report);

/* Fills *match, whose size is set. */
void sutra_linked_match(const struct sutra_linked *linked, struct sutra_link_match *match);

/* The calls of n_gpu_unknown_launch: name and number of launched GPU operators, descending by number. The name lives as
 * long as the device trace. False: `index` is not below the number of names. */
bool sutra_linked_unknown_call(const struct sutra_linked *linked, uint64_t index, struct sutra_count *call);

/* Writes ET+ atomically: to a temporary file in the same directory, then renamed. "-" is standard output; the file is
 * compressed if the name ends in .gz or .zst. *n_bytes (may be NULL): uncompressed bytes. Errors: SUTRA_NO_OUTPUT:
 * cannot be created; SUTRA_IO: writing failed, and no file remains. */
enum sutra_status sutra_linked_write(struct sutra_context *context, const struct sutra_linked *linked, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* Checks whether `path` can be written; leaves no file. Errors: SUTRA_NO_OUTPUT. */
enum sutra_status sutra_output_check(const char *path, struct sutra_error *error);

void sutra_linked_free(struct sutra_linked *linked);

/* The linking method for a pair of traces: none, common record-function ids, or names and numbers. */
enum sutra_linker { SUTRA_LINKER_NONE, SUTRA_LINKER_IDS, SUTRA_LINKER_NAMES };

struct sutra_advice {
    size_t size; /* sizeof the struct, set by the caller */
    enum sutra_linker linker;
    uint64_t n_host_rf;        /* host nodes with a record-function id */
    uint64_t n_device_rf;      /* CPU operators with a record-function id */
    uint64_t n_common_rf;      /* host nodes whose id a CPU operator has too */
    uint64_t n_host_rf_zero;   /* host nodes with record-function id 0, which means none */
    uint64_t n_device_rf_zero; /* CPU operators with record-function id 0 */
    /* Match by names, unless the ids fit: */
    uint64_t n_host_ops;  /* host operators, without process, threads and profiler steps */
    uint64_t n_matched;   /* of these, matched */
    uint64_t n_positions; /* steps that fit equally well; the first one is used. 0: no step had to be chosen */
    double confidence;    /* share of matched operators from the first to the last match */
    bool misfit;          /* traces of different processes or times, such as of two ranks or runs */
    char cause[1024];     /* cause of a misfit or of few common ids, with the remedy; else "" */
};

/* Determines the linking method: ids, if at least half of the ids of the smaller side are of operators with equal
 * names; else names, if the confidence is at least 0.5 and a tenth of the operators of the smaller side match; else
 * ids, if any are in common. Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_advise(struct sutra_context *context, const struct sutra_host_trace *host,
                               const struct sutra_device_trace *device, struct sutra_advice *advice,
                               struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
