/*
 * job.h - writes the traces of a made-up job: the same program on a number of ranks, each with a host trace and a
 * device trace, that reduce gradients together and exchange activations with a neighbour.
 *
 * Ranks differ in how long things take, in when they begin, and, by host, in their clocks. Collectives tell their
 * group, number, type and size as PyTorch does for NCCL, and end together. Faults can be asked for, one of each kind.
 */
#ifndef GENERATE_JOB_H
#define GENERATE_JOB_H

#include "generate/generate.h"

#define GENERATE_RANK_NONE UINT32_MAX

struct generate_job_options {
    struct generate_options run; /* of each rank; its paths are not used */
    uint32_t n_ranks;            /* 2 at least */
    uint32_t ranks_per_host;
    uint64_t skew_us;         /* ranks begin at most so much apart */
    uint64_t clock_offset_us; /* clocks of hosts differ at most so much from the first one's */
    uint32_t slow_rank;       /* takes 1.5 times as long; or none, as the following: */
    uint32_t missing_rank;    /* writes no traces */
    uint32_t swapped_rank;    /* begins the first two collectives of all ranks in the wrong order */
    uint32_t cut_rank;        /* its device trace ends in the middle */
    uint32_t lossy_rank;      /* its device trace lacks the kernel of a collective of all ranks, but not its call */
    uint32_t resized_rank;    /* one of the collectives of all ranks has another size there */
    const char *host_folder, *device_folder;
};

/* Writes host.N.json and device.N.json of each rank N, a pair after the other, into folders that are there. Memory
 * grows with the number of ranks and of collectives. Errors as of generate_pair(). */
enum sutra_status generate_job(const struct generate_job_options *options, struct sutra_error *error);

#endif
