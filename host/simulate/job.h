/*
 * job.h - inside of struct sutra_et_ranks: the files of a job as a simulator runs them, and what holds of them
 * whatever is changed.
 *
 *     file of each rank --et_read, slim--> columns --rank_graph--> graph      side by side; the columns are given back
 *     all graphs --> names and meetings of the job, its network, its slow ranks
 *
 * Cost: O(nodes + dependencies), some 100 bytes a node.
 */
#ifndef SIMULATE_JOB_H
#define SIMULATE_JOB_H

#include "columns/strings.h"
#include "context/context.h"
#include "simulate/et.h"
#include "simulate/rank_graph.h"
#include "simulate/what_if.h"

/*
 * What ASTRA-sim needs beside the .et files of a job whose ranks meet in nodes [meet].
 */

/* Ranks that communicate, as a number above 0. */
struct astra_group {
    uint32_t number;
    const int64_t *ranks;
    uint32_t n_ranks;
};

/* Writes comm_group.json, system.json, network.yml and memory.json into the folder: a network on which meeting costs
 * nothing. */
enum sutra_status astra_files_write(struct sutra_context *context, const char *folder, const struct astra_group *groups,
                                    uint32_t n_groups, uint32_t n_ranks, struct sutra_error *error);

struct sutra_et_ranks {
    uint32_t n;
    uint64_t *ranks;
    struct rank_graph *graphs;
    struct strings names; /* of the nodes of all graphs */
    uint32_t n_meetings;
    struct network network;
    struct rank_slowness *slowness;
    bool gpu_streams;     /* all files were made for a resource for each stream */
    struct arena *arenas; /* per rank: its graph */
    struct arena arena;
};

/* The ranks of files that were read. SUTRA_DATA, SUTRA_SYSTEM: as sutra_simulate() has them. */
enum sutra_status et_ranks_of(struct sutra_context *context, const struct sutra_et *const *ets, const uint64_t *numbers,
                              uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error);

#endif
