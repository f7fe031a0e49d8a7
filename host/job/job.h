/*
 * job.h - a job as its records tell it, and what is wrong with it when all ranks are seen together.
 *
 *     records of ranks --> what became of each, their collectives, their clocks --> findings --> job.json
 *
 * Cost: O(n log n) in collectives, which are all that is kept of the traces.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "analyze/collective_checks.h"
#include "analyze/rank_clocks.h"
#include "job/meetings.h"
#include "job/record.h"
#include "write/json.h"

enum rank_state { RANK_DONE, RANK_BROKEN, RANK_MISSING };

struct whole_rank {
    int64_t rank;
    enum rank_state state;
    const char *record;       /* its text, or NULL */
    enum sutra_status status; /* of a rank that cannot be linked */
    const char *error;
    const char *damage; /* why its record cannot be read, with the file and the line; or NULL */
    uint64_t n_warnings, file_bytes, input_bytes;
    double seconds;
    struct rank_start start;
    int64_t n_devices; /* GPUs of its host; NOT_TOLD */
    bool has_changed;  /* a trace is another one than it was when the rank was linked */
    bool is_otherwise; /* it was linked with other options than those of the plan */
};

/* A host's clock, as ahead of the first one's. */
struct host_clock {
    int64_t host, first_rank, last_rank;
    int64_t offset_ns, spread_ns;
    row_t n; /* ranks that tell it */
};

/* What was found; texts in the arena. */
struct job_finding {
    enum check_severity severity;
    const char *rule;  /* such as "missing rank" */
    const char *ranks; /* "3", "0-2, 7"; "" where it is about none */
    const char *text;
};

struct job_whole {
    struct arena arena;
    char *plan;                   /* its text */
    const char *options, *ending; /* in that */
    int64_t world_size;
    struct whole_rank *ranks; /* of the plan, by rank */
    size_t n_ranks, n_done, n_broken, n_missing;
    size_t n_damaged; /* of the missing ones: those with a damaged record */
    struct left_file *left;
    size_t n_left;
    uint64_t ranks_capacity, left_capacity;
    struct collective_calls calls;
    struct collective_matches matches;
    struct rank_clock *clocks;
    struct host_clock *hosts;
    row_t n_clocks, n_hosts;
    struct job_meetings *meetings; /* of a job whose ranks meet when they are simulated, by rank as above; or NULL */
    bool astra;
    struct job_finding *findings;
    uint64_t n_findings, findings_capacity, n_errors;
};

/* Reads the records of a job's folder, and finds what is wrong. Needs job_whole_free() in any case. SUTRA_NO_INPUT:
 * there are no records. SUTRA_DATA: the plan is malformed; a rank with a malformed record is reported as missing.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status job_whole_read(struct job_whole *whole, const char *folder, struct sutra_error *error);
void job_whole_free(struct job_whole *whole);

/* Writes job.json into the folder, and, if the ranks' files are for simulators, comm_groups.json. */
enum sutra_status job_whole_write(const struct job_whole *whole, struct sutra_context *context, const char *folder,
                                  struct sutra_error *error);

/*
 * The files of a simulated job's ranks, once it is known of all when they meet.
 *
 *     DIR/.job/rank.3.et, made by the rank alone --meetings of the job--> DIR/rank.3.et
 *     DIR/.job/rank.3.met     what that was made of, so that it is not made again
 *
 * Several ranks are under way at a time, each by one thread. Cost: O(bytes) of the files.
 */

struct second_pass_options {
    const char *folder;
    struct sutra_context_options context; /* n_threads ranks at a time */
    uint64_t memory;                      /* most bytes; 0: any */
    /* As of a context, for each of RANK_WORKERS_MAX places, by one thread at a time. May be NULL. */
    void (*temporary)(void *arg, unsigned place, const char *path);
    void *arg;
};

/* Makes the files of all ranks that are done, and removes those of all others; the sizes of the ranks' files are those
 * of these then. For ASTRA-sim, also writes what it needs beside them. The first error ends it. */
enum sutra_status second_pass_run(struct job_whole *whole, const struct second_pass_options *options,
                                  struct sutra_error *error);

#endif
