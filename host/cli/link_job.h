/*
 * link_job.h - `sutra link` of a job, from input directories to an output directory; and the options of all forms of
 * `sutra link`.
 */
#ifndef CLI_LINK_JOB_H
#define CLI_LINK_JOB_H

#include "cli/link.h"
#include "job/rank_job.h"

struct link_values {
    struct pair_values pair;
    uint64_t rank;
    bool no_sync, hta_pandas3, plain, compat, no_work;
    struct faithful_values how;
    bool et;       /* the output is to be an .et file */
    bool faithful; /* whose nodes are to take the measured times */
    /* of a job: */
    const char *table, *part, *finish;
    int format;
    bool dry_run, again, astra;
    uint64_t memory;
};

/* The words of --format, ended by NULL, and what names of files end in then. */
extern const char *const link_formats[];
extern const char *const link_endings[];

struct sutra_link_options link_options_of(const struct link_values *values);
struct link_output link_output_of(const struct link_values *values);

/* Whether it is a job that is to be linked: folders, a table, or the end of parts. */
bool link_is_job(const struct link_values *values);

/* Processes that share the work on a job. They see the same files, and each makes the same plan. All is called in each
 * of them. */
struct job_team {
    bool is_first;      /* the one that tells, at the end, what was done */
    unsigned n_threads; /* of this process */
    /* Tells how many pairs the plan has, SIZE_MAX where there is none. False: not all have the same. */
    bool (*begin)(void *arg, size_t n_pairs);
    /* As of struct rank_job_options. */
    bool (*next)(void *arg, size_t *pair);
    /* The work of this process is done. In the first one it returns when that of all others is, or they are gone. */
    void (*end)(void *arg);
    void *arg;
};

/* Does it; returns the exit code. `team` may be NULL. */
int link_whole_job(struct link_values *values, const struct command *command, const struct job_team *team);

/* `sutra link` with these words, as one of a team (link.c). */
int link_run_team(int argc, char **argv, const struct job_team *team);

#endif
