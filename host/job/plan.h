/*
 * plan.h - which host trace and which device trace are of one rank.
 *
 *     files of both folders, or a table --heads--> pairs by rank
 *                                             \--> what is left out, and why
 *
 * A device trace's rank is what it says itself, or else the number in its name. Its host trace is that of the same
 * process; where several have that process id, or none tells it, that with the rank in its name. What the files say
 * against each other keeps a pair apart, whatever their names are. Nothing is guessed: what does not fit is left out.
 *
 * Cost: O(n log n) beside the heads.
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
    uint32_t n_claims; /* devices that it seems to belong to */
};

enum pair_by { PAIR_BY_PROCESS, PAIR_BY_PROCESS_AND_NAME, PAIR_BY_NAME, PAIR_BY_TABLE };

/* "process" and so on. */
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

/* Zero-initialise but for `lenient`; free with job_plan_free(). */
struct job_plan {
    bool lenient;            /* traces that are broken at their beginnings are mended to tell what they are */
    struct arena arena;      /* of all that follows */
    struct rank_pair *pairs; /* by rank */
    size_t n_pairs;
    struct left_file *left;
    size_t n_left;
    int64_t world_size; /* as the traces say, or one more than the largest rank */
};

/* Files of one kind, or, where `mixed`, of either. */
struct trace_files {
    char *const *paths;
    size_t n;
    bool mixed; /* those of the other kind are passed over, not told */
};

/* Pairs the files, whose names are copied. What cannot be read is left out. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_plan_pair(struct job_plan *plan, const struct trace_files *hosts,
                                const struct trace_files *devices, struct sutra_error *error);

/* Takes the pairs from a table: a line for each, "rank, host, device" with tabs between, and what stands behind another
 * one is passed over; lines that are empty or begin with # do not count. SUTRA_DATA: another line. */
enum sutra_status job_plan_read(struct job_plan *plan, const char *table, struct sutra_error *error);

/* Reads the rest of a file as a text, which the caller frees. SUTRA_DATA: the file is empty or contains a NUL.
 * SUTRA_IO: a read failed. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_text_read(FILE *file, const char *path, char **text, struct sutra_error *error);

void job_plan_free(struct job_plan *plan);

#endif
