/*
 * hang.h - why a job hangs: analysis of dumps of PyTorch's flight recorder, one per rank.
 *
 * Inputs: pickles of protocol 2 to 5, as the watchdog of ProcessGroupNCCL and _dump_nccl_trace() write, and JSON
 * (_dump_fr_trace_json(), _dump_nccl_trace_json()). Pickles are read, never executed.
 */
#ifndef SUTRA_HANG_H
#define SUTRA_HANG_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"
#include "sutra/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_hang;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_hang_options {
    size_t size;
    int operations; /* 1: also make the table of operations, a row per entry */
};

/* Tables. Lists of ranks are text, such as "0-3,8". */
enum sutra_hang_table {
    SUTRA_HANG_CAUSES,     /* cause: ranks, group, number, frames, waiting ranks; the most probable one first */
    SUTRA_HANG_GROUPS,     /* process group: progress, stuck collective, arrived and missing ranks */
    SUTRA_HANG_WAITS,      /* group that waits for another one, the rank and the reason */
    SUTRA_HANG_MISMATCHES, /* group: the first number at which ranks recorded different operations */
    SUTRA_HANG_RANKS,      /* rank: entries, pending operations, the last operation */
    SUTRA_HANG_OPERATIONS, /* rank and entry; NULL without the option */
    SUTRA_HANG_N_TABLES
};

/* Analyzes the dumps in `paths`: files, and directories with all files below them. The rank of a dump is the last
 * number of its file name. Unreadable files, files without a rank, and second files of a rank are skipped with a
 * warning. The caller frees *hang. Errors: SUTRA_NO_INPUT: missing; SUTRA_DATA: no dump is readable; SUTRA_STRICT: a
 * strict context, and a file is skipped; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_hang_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                 const struct sutra_hang_options *options, struct sutra_hang **hang,
                                 struct sutra_error *error);

/* The same for bytes in memory: `names` have the ranks, as file names do. */
struct sutra_hang_dump {
    const char *name;
    const void *bytes;
    size_t size;
};
enum sutra_status sutra_hang_parse(struct sutra_context *context, const struct sutra_hang_dump *dumps, size_t n_dumps,
                                   const struct sutra_hang_options *options, struct sutra_hang **hang,
                                   struct sutra_error *error);
void sutra_hang_free(struct sutra_hang *hang);

/* Set `size` to sizeof the caller's struct. Texts belong to `hang`. */
struct sutra_hang_summary {
    size_t size;
    int stuck;              /* an operation waits */
    const char *cause;      /* "rank_not_arrived"; "none" */
    const char *confidence; /* "high", "medium", "low" */
    const char *why;        /* a sentence: rank, operation, group, waiting ranks */
    uint64_t n_ranks;       /* dumps */
    uint64_t world_size;    /* ranks with a dump, or in a known process group */
    uint64_t n_groups, n_entries, n_pending;
    uint64_t n_skipped; /* files */
};
void sutra_hang_summary(const struct sutra_hang *hang, struct sutra_hang_summary *summary);

struct sutra_hang_finding {
    const char *cause, *confidence;
    const char *title; /* "RANK NOT ARRIVED" */
    const int64_t *ranks;
    size_t n_ranks;
    const char *seen, *where, *remedy, *check; /* sentences; "": none */
};

/* Fills *finding with the i-th cause, the most probable one first; returns 0 after the last one. */
int sutra_hang_finding(const struct sutra_hang *hang, size_t i, struct sutra_hang_finding *finding);

/* Writes all results as JSON (docs/hang.md lists the keys), as sutra_table_write() does. */
enum sutra_status sutra_hang_write_json(struct sutra_context *context, const struct sutra_hang *hang, const char *path,
                                        uint64_t *n_bytes, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
