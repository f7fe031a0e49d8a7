/*
 * plan.h - pairs the host trace and the device trace of each rank.
 *
 *     files of both folders, or a table --heads--> pairs by rank
 *                                             \--> skipped files, with the reasons
 *
 * The rank of a device trace is the rank that it records, or else the number in its name. Its host trace is the host
 * trace of the same process. If several host traces have this process id, or none records one, the number in the name
 * decides. Contradicting files (process ids, ranks, dates) are never paired, regardless of their names. Nothing is
 * guessed: unmatched files are skipped.
 *
 * Cost: O(n log n), and reading the heads of the files.
 */
#ifndef JOB_PLAN_H
#define JOB_PLAN_H

#include <stdio.h>

#include "base/arena.h"
#include "read/trace_head.h"

/* Ranks are below this number. */
#define RANK_LIMIT INT32_MAX

struct trace_file {
    const char *path;
    struct trace_head head;
    int64_t number; /* in the name */
    bool is_paired;
    uint32_t n_claims; /* device traces that it may belong to */
};

enum pair_by { PAIR_BY_PROCESS, PAIR_BY_PROCESS_AND_NAME, PAIR_BY_NAME, PAIR_BY_TABLE };

/* Names by enum pair_by: "process" and so on. */
extern const char *const pair_by_names[];

struct rank_pair {
    int64_t rank;
    struct trace_file host, device;
    enum pair_by by;
};

struct left_file {
    const char *path;
    const char *why;
};

/* Zero-initialize, and set `lenient`; free with job_plan_free(). */
struct job_plan {
    bool lenient;            /* repair malformed beginnings of traces before their heads are read */
    struct arena arena;      /* owns the lists and texts below */
    struct rank_pair *pairs; /* by rank */
    size_t n_pairs;
    struct left_file *left;
    size_t n_left;
    int64_t world_size; /* as recorded in the traces, or one more than the largest rank */
};

/* Files that should be traces of one side; with `mixed`, of either side. */
struct trace_files {
    char *const *paths;
    size_t n;
    bool mixed; /* traces of the other side are ignored, not listed as skipped */
};

/* Pairs the files, and copies their names. Unreadable files are skipped. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_plan_pair(struct job_plan *plan, const struct trace_files *hosts,
                                const struct trace_files *devices, struct sutra_error *error);

/* Reads the pairs from a table with one line per rank: rank, host and device, separated by tabs; further columns, empty
 * lines and lines that start with # are ignored. SUTRA_DATA: any other line. */
enum sutra_status job_plan_read(struct job_plan *plan, const char *table, struct sutra_error *error);

/* Reads the rest of a file as a text, which the caller frees. SUTRA_DATA: the file is empty or contains a NUL.
 * SUTRA_IO: a read failed. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_text_read(FILE *file, const char *path, char **text, struct sutra_error *error);

void job_plan_free(struct job_plan *plan);

#endif
