/*
 * job.h - reads the records of a job, compares its ranks, and writes job.json.
 *
 *     records of ranks --> state of each rank, collectives, clocks --> findings --> job.json
 *
 * Of the traces, a record contains only the collectives. Cost: O(n log n) in collectives.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "analyze/collective_matches.h"
#include "analyze/rank_clocks.h"
#include "job/rank_link.h"
#include "job/record.h"
#include "simulate/measured_et.h"
#include "simulate/simulation.h"
#include "write/json.h"

/*
 * When the ranks of a job start each collective together, and how long its transfer takes.
 *
 *     rank 0   ready |......wait......|=transfer=|     ready: everything that the rank itself must finish before is done
 *     rank 1              ready |.....|=transfer=|
 *     rank 2                    ready |=transfer==|    the collective starts when the last rank is ready
 *
 * All times are on the clock of the job, on which a collective ends simultaneously on all ranks. Each rank starts at
 * its offset from the first rank. On each rank, the transfer lasts from the moment at which the last member is ready to
 * the end on this rank, or to the median end if the rank's own end is far from the median. The run time is the shortest
 * kernel of the members. On ranks with one resource for communication, collectives follow each other on all ranks in
 * the order of their median ends, and are ready when the previous collective is done.
 *
 * Cost: O(n log n) in collectives.
 */

/* A rank of a simulated job, from its record. */
struct match_rank {
    int64_t rank;
    struct rank_start start;
};

/* The input; n ranks in ascending order. */
struct match_job {
    const struct match_rank *ranks;
    size_t n;
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const struct rank_clock *clocks;
    row_t n_clocks;
    int64_t world_size;
    uint32_t ranks_per_host; /* 0: unknown */
    bool per_stream, astra;
};

struct job_matches {
    struct matched_collectives *ranks; /* one per rank of the job */
    uint32_t *group_number;            /* per group of the calls; 0: all ranks */
    struct astra_group *groups; /* groups with a number above 0; also the two ranks of messages in larger groups, and
                                   for ASTRA-sim all ranks */
    uint32_t n_groups;
    uint64_t n_matched_collectives;
    uint64_t n_lacking;   /* matched collectives of groups in which ranks have no file */
    uint64_t n_alone;     /* collectives of one rank, because the other members have no file */
    uint64_t n_different; /* collectives whose members record different kinds; they do not wait for each other */
    uint64_t n_beside;    /* collectives that overlap another collective of their rank, on one resource */
    row_t n_apart;        /* ranks whose clocks no collective connects with the clock of the first rank */
    double measured_us;   /* duration of the job: from the first start of a rank to the last end */
};

/* Allocates the result in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_matches_find(const struct match_job *job, struct arena *arena,
                                   struct job_matches *matched_collectives, struct sutra_error *error);

/* ASTRA-sim's network model of a job (network.c). */
struct job_astra {
    struct astra_job astra;
    uint64_t n_modeled;     /* nodes of collectives whose duration is divided */
    uint64_t n_one_size;    /* of these, nodes of a kind with one size: alpha is not measured, but assumed */
    uint64_t n_unsized;     /* nodes of unknown size, which ASTRA-sim replays */
    uint64_t n_other_kinds; /* nodes of kinds without a model, such as broadcast, which ASTRA-sim replays */
};

/* Sets the dimensions of ASTRA-sim's network: one, or any two if groups are smaller than the job. With one dimension
 * ASTRA-sim frees memory twice for such groups, and may crash at its exit. */
void astra_dimensions_split(struct astra_job *astra);

/* Fits the network, sets the modeled part of each matched collective. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_network_find(const struct job_matches *matched_collectives, size_t n_ranks, int64_t world_size,
                                   struct arena *arena, struct job_astra *network, struct sutra_error *error);

/* ---- Records and findings ---- */

enum rank_state { RANK_DONE, RANK_BROKEN, RANK_MISSING };

struct whole_rank {
    int64_t rank;
    enum rank_state state;
    const char *record;       /* text of the record, or NULL */
    enum sutra_status status; /* of a rank that cannot be linked */
    const char *error;
    const char *warning; /* the first one, or NULL */
    const char *damage;  /* why its record cannot be read, with the file and the line; or NULL */
    uint64_t n_warnings, file_bytes, input_bytes;
    double seconds;
    struct rank_start start;
    struct sutra_link_report report; /* only the counts that the record contains */
    struct sutra_link_match match;   /* likewise, without names of operators */
    struct trace_validity *validity; /* defects of its traces, or NULL */
    int64_t n_devices;               /* GPUs of its host; NOT_RECORDED */
    bool has_changed;                /* a trace has changed since the rank was linked */
    bool is_otherwise;               /* the options of the record differ from the options of the plan */
};

/* Clock offset of a host from the first host; positive: ahead. */
struct host_clock {
    int64_t host, first_rank, last_rank;
    int64_t offset_ns, spread_ns;
    row_t n; /* ranks of the host */
};

/* A finding; texts in the arena. */
struct job_finding {
    enum check_severity severity;
    const char *rule;  /* such as "missing rank" */
    const char *ranks; /* "3", "0-2, 7"; "": no rank */
    const char *text;
};

struct job_whole {
    struct arena arena;
    char *plan;                   /* text of the plan */
    const char *options, *ending; /* inside `plan` */
    int64_t world_size;
    struct whole_rank *ranks; /* ranks of the plan, ascending */
    size_t n_ranks, n_done, n_broken, n_missing;
    size_t n_damaged; /* missing ranks with a malformed record */
    struct left_file *left;
    size_t n_left;
    uint64_t ranks_capacity, left_capacity;
    struct collective_calls calls;
    uint64_t n_inferred; /* groups whose members follow from the ranks in them */
    struct collective_matches matches;
    struct rank_clock *clocks;
    struct host_clock *hosts;
    row_t n_clocks, n_hosts;
    struct job_matches *matched_collectives; /* of a job to be simulated, in the order of `ranks`; or NULL */
    struct job_astra *network;               /* with --astra network; or NULL */
    bool astra, per_stream;
    struct job_finding *findings;
    uint64_t n_findings, findings_capacity, n_errors;
};

/* Reads the records in the folder of a job, and finds problems. Call job_whole_free() in any case. SUTRA_NO_INPUT:
 * there are no records. SUTRA_DATA: the plan is malformed; a rank with a malformed record is reported as missing.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status job_whole_read(struct job_whole *whole, const char *folder, struct sutra_error *error);
void job_whole_free(struct job_whole *whole);

/* Matches the collectives again, for files with a resource per stream. The result is in the arena of `whole`, whose
 * files are for one resource. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_streams_match(struct job_whole *whole, struct job_matches **matched_collectives,
                                    struct sutra_error *error);

/* Writes job.json into the folder, and comm_groups.json if the files of the ranks are for simulators. */
enum sutra_status job_whole_write(const struct job_whole *whole, struct sutra_context *context, const char *folder,
                                  struct sutra_error *error);

struct second_pass_options {
    const char *folder;
    struct sutra_context_options context; /* n_threads: ranks in parallel */
    uint64_t memory;                      /* limit in bytes; 0: none */
    /* As sutra_context_options.temporary, for each of RANK_WORKERS_MAX slots; by one thread at a time. May be NULL. */
    void (*temporary)(void *arg, unsigned slot, const char *path);
    void *arg;
};

/* Writes the files of all linked ranks of a simulated job, with their matched collectives, and removes the files of all
 * other ranks; sets file_bytes of the ranks. Also writes the groups for ASTRA-sim. Stops at the first error. */
enum sutra_status second_pass_run(struct job_whole *whole, const struct second_pass_options *options,
                                  struct sutra_error *error);

/* Makes ranks with a resource per stream of n files for one resource, from the records of their job. SUTRA_DATA,
 * SUTRA_NO_INPUT: the files are not the files of one job, or a file does not match the records;
 * the error is the reason. SUTRA_SYSTEM: out of memory. Free the result with sutra_et_ranks_free(). */
enum sutra_status job_streams_read(struct sutra_context *context, const char *const *paths, const uint64_t *numbers,
                                   uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error);

#endif
