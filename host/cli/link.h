/* link.h - `sutra link`: a pair of traces (link.c), or the ranks of a job (link_job.c). */
#ifndef CLI_LINK_H
#define CLI_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/pair.h"
#include "job/rank_job.h"
#include "sutra/link.h"

struct link_job {
    struct pair_job pair;
    struct sutra_link_options options;
    struct link_output output; /* et: an .et file; faithful: with the measured times */
    struct faithful_values faithful;
    bool plain;
    uint64_t rank; /* accepted, without effect */
    int match;     /* enum sutra_match, or MATCH_DEFAULT */
    struct sutra_linked *linked;
    /* Of a job: */
    bool is_job; /* directories, a table, or shards */
    const char *table, *shard;
    bool combine;
    int format;
    bool dry_run, relink;
    struct option_optional astra; /* of a job: "replay", "network"; of a pair: a directory */
    bool astra_network;
    uint64_t memory;
    size_t shard_index, n_shards;
    struct run hosts; /* of the directory HOSTS, if it is not the one of the device traces */
};

/* Values of --format, and the extensions that they stand for. */
extern const char *const match_names[]; /* by enum sutra_match */
extern const char *const link_formats[];
extern const char *const link_extensions[];

/* Checks the arguments of a job (link_job.c). */
int link_check_job(struct link_job *link);
/* Links a job; returns the exit code. */
int link_ranks(struct link_job *link);

#endif
