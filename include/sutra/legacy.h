/*
 * legacy.h - linking as the older trace_link.py of MLCommons Chakra did it: by names and order, for traces that have no
 * record-function ids in common.
 *
 *     host trace ---\
 *                    sutra_legacy_link() --> struct sutra_legacy --> sutra_legacy_write() --> ET+ file
 *     device trace -/
 *
 * Exact match gives the file of that program, byte for byte, where it gives one. Approximate match aligns the two call
 * trees, so that operators may be missing on either side.
 */
#ifndef SUTRA_LEGACY_H
#define SUTRA_LEGACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_legacy;

/* What a line of the log is: a message of a level, or a GPU operator that is left out because no CPU operator runs when
 * it is launched. */
enum sutra_legacy_line { SUTRA_LEGACY_INFO, SUTRA_LEGACY_WARNING, SUTRA_LEGACY_DISCARDED };

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_legacy_options {
    size_t size;
    const char *annotation; /* operators whose names contain it end an iteration; NULL: "DataLoader" */
    bool exact;             /* exact match; else approximate match */
    bool all_launches;      /* take every call that launches GPU operators, not two of them only */
    uint32_t max_depth;     /* approximate match: levels of the trees that count, 0 for all */
    bool positional;  /* approximate match as the older program had it: the k-th operators of both trees, in pre-order
                         and down to ten levels, where there are equally many; for sutra_legacy_write_durations() */
    double min_match; /* approximate match: smallest share of host operators that must be matched */
    /* Called with each line of the log, `length` bytes without an end, from the thread that called the library. */
    void (*line)(void *arg, enum sutra_legacy_line kind, const char *text, size_t length);
    void *arg;           /* given to the callback */
    uint64_t most_bytes; /* refuse an output that would be about as long or longer, SUTRA_DATA; 0: any length */
};

/* Operators of which the first unmatched ones are told. */
#define SUTRA_LEGACY_UNMATCHED 5

/* What was made of the two traces. Filled as far as it came also where linking fails. Names live as long as the traces
 * and the result. */
struct sutra_legacy_report {
    size_t size;                   /* sizeof the struct, set by the caller */
    uint64_t n_host_nodes;         /* nodes of the host trace */
    uint64_t n_host_ops;           /* operators of the chosen iteration */
    uint64_t n_device_ops;         /* CPU operators of the chosen iteration, with those for process and threads */
    uint64_t n_matched;            /* host operators that found a device operator */
    uint64_t n_matched_twice;      /* of these, with a device operator that an earlier one has too */
    uint64_t n_segments;           /* iterations of the device trace; 0: the annotation does not occur */
    uint64_t shift;                /* exact match: positions by which the device trace is behind */
    uint64_t n_gpu_ops;            /* GPU operators of the device trace */
    uint64_t n_gpu_without_launch; /* left out: no launch or arrow has their external id (lenient) */
    uint64_t n_gpu_without_parent; /* left out: no CPU operator runs at their launch */
    uint64_t n_gpu_unmatched;      /* left out: no host operator stands for their CPU operator */
    uint64_t n_gpu_nodes;          /* GPU nodes in the output */
    uint64_t n_nodes;              /* nodes in the output */
    uint64_t edit_cost;            /* approximate match: operators of either side that are unmatched */
    bool mismatch;                 /* exact match found operators that do not agree */
    bool count_mismatch;           /* exact match: fewer device than host operators, so that nothing was matched */
    uint64_t n_gpu_memory_sets;    /* left out: they set memory, which the older program does not take */
    bool aligned;                  /* approximate match aligned the trees, since exact match does not fit */
};

/* Links the two traces, which must outlive the result. *legacy is the caller's; *report may be NULL.
 * SUTRA_DATA: the traces do not fit each other (report->mismatch where operators differ), or a field is missing that
 * linking needs. SUTRA_STRICT: nothing or too little matches in a strict context, or they are of two processes or
 * times. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                                    const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                                    struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                                    struct sutra_error *error);

/* Writes ET+; see sutra_linked_write(). */
enum sutra_status sutra_legacy_write(struct sutra_context *context, const struct sutra_legacy *legacy, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* Writes only what was matched, as one JSON object: the duration of each host operator's device operator by its id. */
enum sutra_status sutra_legacy_write_durations(struct sutra_context *context, const struct sutra_legacy *legacy,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error);

void sutra_legacy_free(struct sutra_legacy *legacy);

/* Which way of linking fits a pair of traces. */
enum sutra_linker { SUTRA_LINKER_NONE, SUTRA_LINKER_IDS, SUTRA_LINKER_EXACT, SUTRA_LINKER_APPROXIMATE };

struct sutra_advice {
    size_t size;               /* sizeof the struct, set by the caller */
    enum sutra_linker linker;  /* IDS: sutra_link(); EXACT and APPROXIMATE: sutra_legacy_link() */
    char annotation[128];      /* for the latter */
    uint64_t n_host_rf;        /* host nodes with a record-function id */
    uint64_t n_device_rf;      /* CPU operators with one */
    uint64_t n_common_rf;      /* host nodes whose id a CPU operator has */
    uint64_t n_host_ops;       /* operators that the best match by names had before it */
    uint64_t n_matched;        /* and those of them that it matched */
    uint64_t n_gpu_nodes;      /* GPU operators that it linked */
    uint64_t n_host_rf_zero;   /* host nodes with the record-function id 0, which stands for none */
    uint64_t n_device_rf_zero; /* and CPU operators */
    bool misfit;               /* they are of two processes or times: traces of two ranks or runs */
    char cause[1024];          /* of a misfit, or of few ids in common, with the remedy; else empty */
};

/* Tries what may fit: ids in common first, then matches by names with the likely annotations, without logging.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_advise(struct sutra_context *context, const struct sutra_host_trace *host,
                               const struct sutra_device_trace *device, struct sutra_advice *advice,
                               struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
